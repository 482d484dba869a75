"""Masks, one pair of a query and a key at a time; True = may attend."""

from collections.abc import Callable

import numpy as np

__all__ = ["causal_mask", "mask", "padding_mask"]


def mask(
    n_queries: int, n_keys: int, may_attend: Callable[[int, int], bool]
) -> np.ndarray:
    """A mask by a rule for each pair, `T S`; the last query stands at the last key.

    The rule takes the query's and the key's position among the keys.
    """
    first = n_keys - n_queries
    allowed = np.zeros((n_queries, n_keys), dtype=bool)
    for i, j in np.ndindex(allowed.shape):
        allowed[i, j] = may_attend(first + i, j)
    return allowed


def causal_mask(n_queries: int, n_keys: int) -> np.ndarray:
    """Each query attends to its own position and earlier ones, `T S`."""
    return mask(n_queries, n_keys, lambda i, j: j <= i)


def padding_mask(lengths: np.ndarray, n_keys: int) -> np.ndarray:
    """Queries of sequence b attend to its first `lengths[b]` keys, `B 1 1 S`."""
    allowed = np.zeros((len(lengths), 1, 1, n_keys), dtype=bool)
    for b, length in enumerate(lengths):
        allowed[b, :, :, :length] = True
    return allowed
