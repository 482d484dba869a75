"""Firms and their suppliers: a graph on which a firm's own features say nothing.

Every firm makes one of six products and buys four others, each from one firm. One of
the four it needs: it can't soon be replaced. Whoever makes it for this firm is its
decisive supplier, and the firm is at risk if a shock has hit that supplier. So the best
accuracy is 1, and that of a model that sees only the average of the suppliers is known.
"""

from dataclasses import dataclass
from math import comb

import numpy as np

from course_lib.checks import check_size, check_whole

__all__ = ["SupplyNetworks", "average_bound", "draw_suppliers"]

PRODUCTS = ("steel", "chips", "paint", "glass", "valves", "paper")
NEEDS = tuple(f"needs {product}" for product in PRODUCTS)
FEATURES = (*PRODUCTS, *NEEDS, "hit", "leverage", "cash")
N_SUPPLIERS = 4


@dataclass(frozen=True, kw_only=True)
class SupplyNetworks:
    """Networks of firms, each with its own suppliers and shocks."""

    #: One column for each name in `FEATURES`, `n N 15`: which product the firm makes
    #: and which it needs (one-hot), whether a shock has hit it (1 or -1), and two
    #: numbers from its balance sheet, which matter for nothing.
    features: np.ndarray
    #: The graph, `n N N`: `edges[:, i, j]` is True where j supplies i.
    edges: np.ndarray
    #: The number of each firm's supplier of what it needs, `n N`.
    decisive: np.ndarray
    at_risk: np.ndarray  #: The label, 0 or 1, `n N`


def draw_suppliers(n: int, *, makers: int = 3, seed: int) -> SupplyNetworks:
    """Draw `n` networks of 6 * `makers` firms, numbered at random.

    Shocks hit each firm with probability 1/2, independently.
    """
    check_size("n", n)
    check_whole("makers", makers, least=2, why="for another maker of a firm's product")
    rng = np.random.default_rng(seed)
    kinds = np.arange(len(PRODUCTS))
    n_firms = len(kinds) * makers
    product = rng.permuted(np.tile(np.arange(n_firms) % len(kinds), (n, 1)), axis=1)
    # Whom each firm would ask first: at random, never itself.
    order = rng.random((n, n_firms, n_firms))
    order[:, np.arange(n_firms), np.arange(n_firms)] = np.inf
    of_kind = [np.where(product[:, None] == kind, order, np.inf) for kind in kinds]
    maker = np.stack([asked.argmin(axis=-1) for asked in of_kind], axis=-1)
    bought = rng.random(maker.shape).argsort(axis=-1)[..., :N_SUPPLIERS]
    suppliers = np.take_along_axis(maker, bought, axis=-1)
    edges = np.zeros((n, n_firms, n_firms), dtype=bool)
    np.put_along_axis(edges, suppliers, True, axis=-1)

    decisive, need = suppliers[..., 0], bought[..., 0]
    hit = rng.choice([-1.0, 1.0], (n, n_firms))
    one_hot = np.eye(len(kinds))
    balance = rng.standard_normal((n, n_firms, 2))
    columns = [one_hot[product], one_hot[need], hit[..., None], balance]
    at_risk = np.take_along_axis(hit, decisive, axis=1) > 0
    return SupplyNetworks(
        features=np.concatenate(columns, axis=-1).astype(np.float32),
        edges=edges,
        decisive=decisive,
        at_risk=at_risk.astype(np.int64),
    )


def average_bound(n_suppliers: int = N_SUPPLIERS) -> float:
    """Best accuracy from the average of the suppliers' features, one of them decisive.

    The average says how many of them were hit, m of n, and not which. Each is the
    decisive one with probability 1/n, so the firm is at risk with probability m/n. No
    function of the average, and of the firm's own features, does better than to guess
    the likelier label.
    """
    check_size("n_suppliers", n_suppliers)
    right = sum(
        comb(n_suppliers, m) * max(m, n_suppliers - m) / n_suppliers
        for m in range(n_suppliers + 1)
    )
    return right / 2**n_suppliers
