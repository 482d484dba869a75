"""Sinusoidal positions: waves of many lengths, added to the tokens (Flax NNX)."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jax import Array
from jaxtyping import Bool, Float, Int

from course_lib.checks import (
    check_even,
    check_positions,
    check_size,
    stated,
)
from course_lib.nnx.position.base import Positions, rows_of

__all__ = ["Sinusoidal", "sinusoidal"]

BASE = 10000.0  # the b of the equation


def sinusoidal(
    n_positions: int,
    d_model: int,
    *,
    dtype: Any = None,
) -> Float[Array, "T D"]:
    """Sinusoidal position encoding: sines and cosines of many wavelengths."""
    check_size("n_positions", n_positions)
    check_even("d_model", d_model)
    table = _waves(np.arange(n_positions), d_model, interleaved=True)
    return jnp.asarray(table, dtype=jnp.float32 if dtype is None else dtype)


class Sinusoidal(Positions, nnx.Module):
    """Sinusoidal positions as a module, called like `Learned`."""

    def __init__(
        self,
        max_len: int,
        d_model: int,
        *,
        interleaved: bool = True,
        rngs: nnx.Rngs | None = None,
    ):
        check_size("max_len", max_len)
        check_even("d_model", d_model)
        self.max_len = self.n_rows = max_len
        self.form = d_model, interleaved

    def __call__(
        self,
        n_positions: int,
        offset: int | Int[Array, ""] = 0,
        *,
        like: Float[Array, "..."] | None = None,
    ) -> Float[Array, "T D"]:
        """Rows of `n_positions` positions from `offset` on, in `like`'s dtype."""
        dtype = jnp.dtype(jnp.float32 if like is None else like.dtype)
        check_positions(n_positions, offset, self.n_rows)
        if (first := stated(offset)) is not None:
            places = np.arange(first, first + n_positions)
            return jnp.asarray(_waves(places, *self.form), dtype)
        table = jnp.asarray(_waves(np.arange(self.n_rows), *self.form), dtype)
        return jax.lax.dynamic_slice_in_dim(table, offset, n_positions)

    def add(
        self,
        x: Float[Array, "*B T D"],
        offset: int | Int[Array, ""] = 0,
        mask: Bool[Array, "..."] | None = None,
    ) -> Array:
        """Eq. 1, added to the tokens."""
        return x + rows_of(self, x, offset, mask)


def _waves(places: np.ndarray, d_model: int, interleaved: bool) -> np.ndarray:
    """Eq. 1 at these places, by NumPy: JAX has 64 bits only where it is told to."""
    exponents = np.arange(0, d_model, 2, dtype=np.float64) / d_model
    angles = places[:, None] / BASE**exponents  # T D/2
    waves = np.sin(angles), np.cos(angles)
    return np.stack(waves, -1 if interleaved else -2).reshape(len(places), d_model)
