r"""Attention masks: who may attend to whom (Flax NNX).

    mask[i, j] = True where query i may attend to key j                  (eq. 1)

Causal and padding: Vaswani et al. 2017, section 3.2.3, arXiv:1706.03762. Window:
Beltagy et al. 2020, section 3.1, arXiv:2004.05150. Prefix: Raffel et al. 2020, section
3.2.1, arXiv:1910.10683. Document (for packed texts): Grattafiori et al. 2024, section
3.2, arXiv:2407.21783.

Masks combine with `&` (both rules hold) and `|` (one is enough). Where there are fewer
queries than keys, the last query stands at the last key, so the masks are right for the
newest tokens of a longer sequence.
"""

from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Bool, Int

from course_lib.arrays import owned
from course_lib.checks import check_ids, check_size, check_span

__all__ = [
    "causal_mask",
    "document_mask",
    "padding_mask",
    "padding_mask_from_ids",
    "window_mask",
]


def _positions(n_queries: int, n_keys: int | None, offset: int | Array | None = None):
    """Where queries (a column) and keys (a row) stand: NumPy's, unless traced."""
    n_keys = n_queries if n_keys is None else n_keys
    check_span(n_queries, n_keys, offset)
    first = n_keys - n_queries if offset is None else offset
    return first + np.arange(n_queries)[:, None], np.arange(n_keys)


def causal_mask(
    n_queries: int,
    n_keys: int | None = None,
    *,
    offset: int | Int[Array, ""] | None = None,
) -> Bool[Array, "T S"]:
    """Causal mask: a query may attend to its own position and to earlier ones."""
    i, j = _positions(n_queries, n_keys, offset)
    return jnp.asarray(j <= i)


def padding_mask(
    lengths: Int[Array, "B"] | Sequence[int], n_keys: int
) -> Bool[Array, "B 1 1 S"]:
    """Padding mask: True at the real tokens that each sequence starts with."""
    check_size("n_keys", n_keys)
    given = lengths if isinstance(lengths, Array) else owned(lengths)
    real = jnp.arange(n_keys) < given[:, None]  # B S
    return real[:, None, None, :]


def padding_mask_from_ids(
    ids: Int[Array, "B S"], pad_id: int
) -> Bool[Array, "B 1 1 S"]:
    """Padding mask of a batch of token ids, wherever the padding stands."""
    check_ids("ids", ids)
    return (ids != pad_id)[:, None, None, :]


def document_mask(documents: Int[Array, "B T"]) -> Bool[Array, "B 1 T T"]:
    """Document mask: in a row of packed texts, a query may attend to its own text."""
    check_ids("documents", documents)
    return (documents[:, :, None] == documents[:, None, :])[:, None]


def window_mask(
    n_queries: int,
    n_keys: int | None = None,
    *,
    size: int,
    offset: int | Int[Array, ""] | None = None,
) -> Bool[Array, "T S"]:
    """Sliding-window mask: True where |i - j| < size; 1 is the position itself."""
    check_size("size", size)
    i, j = _positions(n_queries, n_keys, offset)
    return jnp.asarray(abs(i - j) < size)
