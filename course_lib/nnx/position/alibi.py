"""ALiBi: attention with linear biases, distance subtracted from scores (Flax NNX)."""

from dataclasses import dataclass

import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, Int

from course_lib.checks import check_size, check_span
from course_lib.nnx.position.base import Positions

__all__ = ["ALiBi", "alibi_bias"]


def _slopes(n_heads: int) -> list[float]:
    """ALiBi's slopes m_h: how fast each head's scores fall with distance."""
    check_size("n_heads", n_heads)
    power = 2 ** (int(n_heads).bit_length() - 1)
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

    The first query stands at key `offset`; None puts the last query at the last key.
    The dtype is that of `like`; None means 32 bits.
    """
    n_keys = n_queries if n_keys is None else n_keys
    check_span(n_queries, n_keys, offset)
    dtype = jnp.float32 if like is None else like.dtype
    first = n_keys - n_queries if offset is None else offset
    queries = first + jnp.arange(n_queries)
    distance = abs(queries[:, None] - jnp.arange(n_keys))  # T S
    wide = jnp.promote_types(dtype, jnp.float32)
    slopes = jnp.asarray(_slopes(n_heads), wide)
    return (-slopes[:, None, None] * distance.astype(wide)).astype(dtype)


@dataclass(frozen=True)
class ALiBi(Positions):
    """ALiBi as a position scheme."""

    n_heads: int

    def __post_init__(self):
        check_size("n_heads", self.n_heads)

    def bias(
        self,
        n_queries: int,
        n_keys: int,
        offset: int | Int[Array, ""],
        like: Float[Array, "..."],
    ) -> Float[Array, "H T S"]:
        """Eq. 1."""
        return alibi_bias(self.n_heads, n_queries, n_keys, offset=offset, like=like)
