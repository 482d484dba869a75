r"""Attention masks: who may attend to whom (Flax NNX).

    mask[i, j] = True where query i may attend to key j                  (eq. 1)

Causal and padding: Vaswani et al. 2017, section 3.2.3, arXiv:1706.03762. Strided: Child
et al. 2019, section 4.2, arXiv:1904.10509. Window, dilated window and global tokens:
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

from course_lib.checks import check_ids, check_size, check_span


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
    """Causal mask: a query may attend to its own position and to earlier ones.

    Args:
        n_queries: T.
        n_keys: S; None means T.
        offset: Where the first query stands among the keys; None puts the last query at
            the last key.

    Returns:
        True where j <= i: with T = S, the lower triangle.

    Raises:
        ValueError: A query stands outside the keys.
    """
    i, j = _positions(n_queries, n_keys, offset)
    return jnp.asarray(j <= i)


def padding_mask(
    lengths: Int[Array, "B"] | Sequence[int], n_keys: int
) -> Bool[Array, "B 1 1 S"]:
    """Padding mask: every query may attend to the real tokens of its own sequence.

    Args:
        lengths: How many real tokens each sequence starts with.
        n_keys: S, the length that all were padded to.

    Returns:
        True at real tokens, with axes for heads and queries.

    Raises:
        ValueError: `n_keys` is not a whole number of at least 1.
    """
    check_size("n_keys", n_keys)
    real = jnp.arange(n_keys) < jnp.asarray(lengths)[:, None]  # B S
    return real[:, None, None, :]


def padding_mask_from_ids(
    ids: Int[Array, "B S"], pad_id: int
) -> Bool[Array, "B 1 1 S"]:
    """Padding mask of a batch of token ids, wherever the padding stands.

    Args:
        ids: Token ids.
        pad_id: The id of padding.

    Returns:
        True where `ids` is not `pad_id`, with axes for heads and queries.

    Raises:
        ValueError: `ids` is not a batch of whole numbers.
    """
    check_ids("ids", ids)
    return (ids != pad_id)[:, None, None, :]


def document_mask(documents: Int[Array, "B T"]) -> Bool[Array, "B 1 T T"]:
    """Document mask: in a row of packed texts, a query may attend to its own text.

    Args:
        documents: The number of the text that each token belongs to.

    Returns:
        True where query and key have the same number, with an axis for heads.

    Raises:
        ValueError: `documents` is not a batch of whole numbers.
    """
    check_ids("documents", documents)
    return (documents[:, :, None] == documents[:, None, :])[:, None]


def window_mask(
    n_queries: int, n_keys: int | None = None, *, size: int
) -> Bool[Array, "T S"]:
    """Sliding-window mask: a query may attend to positions nearer than `size`.

    Args:
        n_queries: T.
        n_keys: S; None means T.
        size: 1 is the position itself, 2 adds its two neighbors. With `causal_mask`
            joined by `&` it is the last `size` tokens.

    Returns:
        True where |i - j| < size.
    """
    check_size("size", size)
    i, j = _positions(n_queries, n_keys)
    return jnp.asarray(abs(i - j) < size)


def strided_mask(
    n_queries: int, n_keys: int | None = None, *, stride: int
) -> Bool[Array, "T S"]:
    """Strided mask: a query may attend to every `stride`-th position from its own.

    Args:
        n_queries: T.
        n_keys: S; None means T.
        stride: Steps between two such positions.

    Returns:
        True where i - j is a multiple of `stride`.
    """
    check_size("stride", stride)
    i, j = _positions(n_queries, n_keys)
    return jnp.asarray((i - j) % stride == 0)


def dilated_mask(
    n_queries: int, n_keys: int | None = None, *, size: int, dilation: int
) -> Bool[Array, "T S"]:
    """Dilated-window mask: a window with gaps, as many keys from farther away.

    Args:
        n_queries: T.
        n_keys: S; None means T.
        size: As in `window_mask`, counted in steps of `dilation`.
        dilation: Distance between neighbors in the window; 1 is `window_mask`.

    Returns:
        True where |i - j| / dilation is a whole number below `size`.
    """
    check_size("size", size)
    check_size("dilation", dilation)
    i, j = _positions(n_queries, n_keys)
    return jnp.asarray((abs(i - j) < size * dilation) & ((i - j) % dilation == 0))


def global_mask(
    n_queries: int, n_keys: int | None = None, *, n_global: int
) -> Bool[Array, "T S"]:
    """Global-token mask: the first tokens attend to all, and all attend to them.

    Joined to another pattern: `window_mask(...) | global_mask(...)`.

    Args:
        n_queries: T.
        n_keys: S; None means T.
        n_global: How many tokens at the start are global.

    Returns:
        True where query or key is global.
    """
    check_size("n_global", n_global)
    i, j = _positions(n_queries, n_keys)
    return jnp.asarray((i < n_global) | (j < n_global))


def prefix_mask(
    n_queries: int, n_keys: int | None = None, *, n_prefix: int
) -> Bool[Array, "T S"]:
    """Prefix mask: all may attend to the first tokens, and causally to the others.

    Args:
        n_queries: T.
        n_keys: S; None means T.
        n_prefix: How many tokens at the start all may attend to.

    Returns:
        True where the key is in the prefix or not after the query.
    """
    check_size("n_prefix", n_prefix)
    i, j = _positions(n_queries, n_keys)
    return jnp.asarray((j <= i) | (j < n_prefix))
