"""Learned positions: one vector for each place, added to the tokens (Flax NNX)."""

import jax
import jax.numpy as jnp
from flax import nnx
from jax import Array
from jaxtyping import Bool, Float, Int

from course_lib.checks import check_even, check_positions, check_size, check_sizes
from course_lib.nnx.embedding import Embedding
from course_lib.nnx.position.base import Positions, rows_of

__all__ = ["Learned", "Learned2D"]


class Learned(Positions, nnx.Module):
    """Learned positions: one vector for each of `max_len` places in a sequence."""

    def __init__(self, max_len: int, d_model: int, *, rngs: nnx.Rngs):
        check_size("max_len", max_len)
        self.max_len = max_len
        self.table = Embedding(max_len, d_model, std=0.02, rngs=rngs)

    def __call__(
        self,
        n_positions: int,
        offset: int | Int[Array, ""] = 0,
        *,
        like: Float[Array, "..."] | None = None,
    ) -> Float[Array, "T D"]:
        """Rows of `n_positions` positions from `offset` on, in `like`'s dtype."""
        check_positions(n_positions, offset, self.table.num_embeddings)
        table = self.table.embedding[...]
        rows = jax.lax.dynamic_slice_in_dim(table, offset, n_positions)
        return rows if like is None else rows.astype(like.dtype)

    def add(
        self,
        x: Float[Array, "*B T D"],
        offset: int | Int[Array, ""] = 0,
        mask: Bool[Array, "..."] | None = None,
    ) -> Array:
        """Eq. 1."""
        return x + rows_of(self, x, offset, mask)


class Learned2D(Positions, nnx.Module):
    """Learned positions in a grid: a row's vector and a column's, side by side."""

    def __init__(self, height: int, width: int, d_model: int, *, rngs: nnx.Rngs):
        check_sizes(height=height, width=width)
        check_even("d_model", d_model)
        self.rows = Embedding(height, d_model // 2, std=0.02, rngs=rngs)
        self.columns = Embedding(width, d_model // 2, std=0.02, rngs=rngs)

    def __call__(self) -> Float[Array, "P D"]:
        """One vector for each cell of the grid, row by row."""
        rows, columns = self.rows.embedding[...], self.columns.embedding[...]
        shape = len(rows), len(columns), rows.shape[-1]
        cells = (
            jnp.broadcast_to(rows[:, None], shape),
            jnp.broadcast_to(columns[None], shape),
        )
        return jnp.concatenate(cells, axis=-1).reshape(-1, 2 * shape[-1])  # P D

    def add(
        self,
        x: Float[Array, "*B T D"],
        offset: int | Int[Array, ""] = 0,
        mask: Bool[Array, "..."] | None = None,
    ) -> Array:
        """Eq. 2. Tokens in front of the cells, such as [CLS], stand nowhere."""
        cells = self()
        front, grid = jnp.split(x, [x.shape[-2] - len(cells)], axis=-2)
        return jnp.concatenate([front, grid + cells], axis=-2)
