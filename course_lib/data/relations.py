"""Warehouses on a ring: a task with two relations, which one attention head can't do.

Each firm buys from one other firm, its supplier, and sells to another, its buyer. On a
day when the supplier is open, a crate arrives at the firm's warehouse; on a day when
the buyer is open, a crate leaves. The target is the change of the stock:

    change_i = open[supplier of i] - open[buyer of i]

One head averages with positive weights, and an average can't subtract: it explains half
of the variance at best. Two heads and an output projection can take the difference.
"""

from dataclasses import dataclass
from itertools import product

import numpy as np

from course_lib.checks import check_size, check_whole

__all__ = ["Warehouses", "draw_warehouses", "every_day"]

_THREE = "a supplier and a buyer beside the firm"


@dataclass(frozen=True, kw_only=True)
class Warehouses:
    """Days at warehouses. Nothing is noise."""

    is_open: np.ndarray  #: 1 where a firm is open that day, else 0, `n T`
    #: The two relations, `n 2 T T`: `ties[:, 0, i, j]` is True where j supplies i,
    #: `ties[:, 1, i, j]` where j buys from i.
    ties: np.ndarray
    #: Crates that came in minus crates that went out, -1, 0 or 1, `n T`.
    change: np.ndarray


def draw_warehouses(n: int, *, n_firms: int = 5, seed: int | list[int]) -> Warehouses:
    """Draw `n` days with a ring each; a firm is open with probability 1/2."""
    check_size("n", n)
    check_whole("n_firms", n_firms, least=3, why=_THREE)
    rng = np.random.default_rng(seed)
    is_open = (rng.random((n, n_firms)) < 0.5).astype(np.int64)
    along = np.argsort(rng.random((n, n_firms)), axis=1)  # each supplies the next
    supplier = np.empty_like(along)
    np.put_along_axis(supplier, along, np.roll(along, 1, axis=1), axis=1)
    return _warehouses(is_open, supplier)


def every_day(n_firms: int = 5) -> Warehouses:
    """Every day there can be on one ring, once: `2 ** n_firms`, equally likely.

    A model that ignores the firms' order, as attention does, has its exact expected
    score here. Firm 0 supplies firm 1, and so on round.
    """
    check_whole("n_firms", n_firms, least=3, why=_THREE)
    is_open = np.array(list(product((0, 1), repeat=n_firms)), dtype=np.int64)
    supplier = np.roll(np.arange(n_firms), 1)
    return _warehouses(is_open, np.broadcast_to(supplier, is_open.shape))


def _warehouses(is_open: np.ndarray, supplier: np.ndarray) -> Warehouses:
    supplies = np.arange(is_open.shape[1]) == supplier[..., None]  # n T T
    ties = np.stack([supplies, supplies.swapaxes(1, 2)], axis=1)
    incoming, outgoing = np.einsum("nrts,ns->rnt", ties, is_open)
    return Warehouses(
        is_open=is_open, ties=ties, change=(incoming - outgoing).astype(np.float64)
    )
