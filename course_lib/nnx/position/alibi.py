r"""ALiBi: attention with linear biases, distance subtracted from scores (Flax NNX).

    bias[h, i, j] = -m_h |i - j|                                         (eq. 1)

Press et al. 2022, section 3, arXiv:2108.12409.
"""

from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, Int

from course_lib.checks import check_size, check_span


def alibi_slopes(n_heads: int) -> list[float]:
    """ALiBi's slopes m_h: how fast each head's scores fall with distance.

    Args:
        n_heads: H. For a power of two, slopes go from 2^(-8/H) to 2^-8 in equal ratios;
            other numbers are filled up as in the authors' code, with every other slope
            of twice the next lower power of two.

    Returns:
        One positive number a head.
    """
    check_size("n_heads", n_heads)
    power = 2 ** (n_heads.bit_length() - 1)
    slopes = [2.0 ** (-8 * (h + 1) / power) for h in range(power)]
    between = [2.0 ** (-4 * (2 * h + 1) / power) for h in range(n_heads - power)]
    return slopes + between


def alibi_bias(
    n_heads: int,
    n_queries: int,
    n_keys: int | None = None,
    *,
    offset: int | Int[Array, ""] | None = None,
    like: Float[Array, "..."] | None = None,
) -> Float[Array, "H T S"]:
    """ALiBi: a penalty on far keys, linear in the distance, at each head's own rate.

    Args:
        n_heads: H.
        n_queries: T.
        n_keys: S; None means T.
        offset: Where the first query stands among the keys; None puts the last query at
            the last key.
        like: An array whose dtype the result takes; None means 32 bits.

    Returns:
        Numbers to add to the scores: 0 at a query's own position, negative elsewhere.
    """
    n_keys = n_queries if n_keys is None else n_keys
    check_span(n_queries, n_keys, offset)
    dtype = jnp.float32 if like is None else like.dtype
    first = n_keys - n_queries if offset is None else offset
    queries = first + jnp.arange(n_queries)
    distance = abs(queries[:, None] - jnp.arange(n_keys))  # T S
    slopes = _slopes(n_heads, jnp.promote_types(dtype, jnp.float32))
    return (-slopes[:, None, None] * distance).astype(dtype)


@lru_cache(maxsize=8)
def _slopes(n_heads: int, dtype: Any) -> Array:
    with jax.ensure_compile_time_eval():  # a constant also of compiled programs
        return jnp.asarray(alibi_slopes(n_heads), dtype=dtype)
