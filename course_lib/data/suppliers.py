"""Firms and their suppliers: a graph on which a firm's own features say nothing.

Every firm makes one of six products and buys from four others. Two of the products are
specific: a buyer can't soon replace them. Each firm has exactly one supplier of
such a product, its decisive one, and is at risk if a shock has hit that supplier. A
share of the labels is flipped, so that the best attainable accuracy is known, as are
those of a model that sees only the firm itself, and of one that sees the average of its
suppliers.
"""

from dataclasses import dataclass
from math import comb

import numpy as np

from course_lib.checks import check_range, check_size, check_whole

__all__ = ["SupplyNetworks", "average_bound", "draw_suppliers"]

PRODUCTS = ("steel", "chips", "paint", "glass", "valves", "paper")
SPECIFIC = ("chips", "valves")
FEATURES = (*PRODUCTS, "hit", "leverage", "cash")


@dataclass(frozen=True, kw_only=True)
class SupplyNetworks:
    """Networks of firms, each with its own suppliers and shocks."""

    #: One column for each name in `FEATURES`, `n N 9`: which product the firm makes
    #: (one-hot), whether a shock has hit it (1 or -1), and two numbers from its balance
    #: sheet, which matter for nothing.
    features: np.ndarray
    #: The graph, `n N N`: `edges[:, i, j]` is True where j supplies i.
    edges: np.ndarray
    #: The number of each firm's supplier of a specific product, `n N`.
    decisive: np.ndarray
    at_risk: np.ndarray  #: The label, 0 or 1, `n N`


def draw_suppliers(
    n: int, *, makers: int = 3, noise: float = 0.1, seed: int
) -> SupplyNetworks:
    """Draw `n` networks of 6 * `makers` firms, numbered at random.

    Shocks hit each firm with probability 1/2, independently. `noise` is the share of
    the labels that is flipped.
    """
    check_size("n", n)
    check_whole("makers", makers, least=2, why="for 3 suppliers of ordinary products")
    check_range("noise", noise, 0, 0.5)
    rng = np.random.default_rng(seed)
    n_firms = len(PRODUCTS) * makers
    product = rng.permuted(np.tile(np.arange(n_firms) % len(PRODUCTS), (n, 1)), axis=1)
    is_specific = np.isin(product, [PRODUCTS.index(name) for name in SPECIFIC])
    # Whom each firm would ask first: at random, never itself.
    order = rng.random((n, n_firms, n_firms))
    order[:, np.arange(n_firms), np.arange(n_firms)] = np.inf
    specific_first = np.where(is_specific[:, None], order, np.inf)
    decisive = specific_first.argmin(axis=-1)
    ordinary = np.where(is_specific[:, None], np.inf, order).argsort(axis=-1)[..., :3]
    edges = np.zeros((n, n_firms, n_firms), dtype=bool)
    np.put_along_axis(edges, decisive[..., None], True, axis=-1)
    np.put_along_axis(edges, ordinary, True, axis=-1)

    hit = rng.choice([-1.0, 1.0], (n, n_firms))
    one_hot = product[..., None] == np.arange(len(PRODUCTS))
    balance = rng.standard_normal((n, n_firms, 2))
    features = np.concatenate([one_hot, hit[..., None], balance], axis=-1)
    at_risk = np.take_along_axis(hit, decisive, axis=1) > 0
    at_risk ^= rng.random((n, n_firms)) < noise
    return SupplyNetworks(
        features=features.astype(np.float32),
        edges=edges,
        decisive=decisive,
        at_risk=at_risk.astype(np.int64),
    )


def average_bound(n_suppliers: int = 4, noise: float = 0.1) -> float:
    """Best accuracy from the average of the suppliers' features, one of them decisive.

    The average says how many of them were hit, m of n, and not which. Each is the
    decisive one with probability 1/n, so the firm is at risk with probability m/n
    before the noise. No function of the average, and of the firm's own features, does
    better than to guess the likelier label.
    """
    check_size("n_suppliers", n_suppliers)
    check_range("noise", noise, 0, 0.5)
    right = sum(
        comb(n_suppliers, m) * max(m, n_suppliers - m) / n_suppliers
        for m in range(n_suppliers + 1)
    )
    return (1 - 2 * noise) * right / 2**n_suppliers + noise
