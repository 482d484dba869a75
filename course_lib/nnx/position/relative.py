"""Relative positions: a learned number for each step from query to key (Flax NNX)."""

import jax.numpy as jnp
from flax import nnx
from jax import Array
from jaxtyping import Float, Int

from course_lib.checks import check_sizes, check_span
from course_lib.nnx.embedding import Embedding
from course_lib.nnx.position.base import Positions

__all__ = ["RelativeBias"]


class RelativeBias(Positions, nnx.Module):
    """Relative position bias: a learned number for each head and each step."""

    def __init__(
        self, n_heads: int, max_distance: int = 16, *, rngs: nnx.Rngs | None = None
    ):
        check_sizes(n_heads=n_heads, max_distance=max_distance)
        self.max_distance = max_distance
        rngs = nnx.Rngs(0) if rngs is None else rngs  # nothing is drawn
        self.table = Embedding(2 * max_distance + 1, n_heads, std=0.0, rngs=rngs)

    def __call__(
        self,
        n_queries: int,
        n_keys: int | None = None,
        *,
        offset: int | Int[Array, ""] | None = None,
    ) -> Float[Array, "H T S"]:
        """Numbers to add to the scores; arguments as in `alibi_bias`."""
        n_keys = n_queries if n_keys is None else n_keys
        check_span(n_queries, n_keys, offset)
        first = n_keys - n_queries if offset is None else offset
        queries = first + jnp.arange(n_queries)
        step = jnp.arange(n_keys) - queries[:, None]  # T S
        step = step.clip(-self.max_distance, self.max_distance)
        return self.table(step + self.max_distance).transpose(2, 0, 1)  # H T S

    def bias(
        self,
        n_queries: int,
        n_keys: int,
        offset: int | Int[Array, ""],
        like: Float[Array, "..."],
    ) -> Float[Array, "H T S"]:
        """Eq. 1."""
        return self(n_queries, n_keys, offset=offset).astype(like.dtype)
