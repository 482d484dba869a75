"""Rotary positions (RoPE): queries and keys turned by their place (Flax NNX)."""

from dataclasses import dataclass

import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, Int

from course_lib.checks import check_even, check_positive, check_rotary
from course_lib.config.rotary import RotaryScaling
from course_lib.nnx.position.base import Positions
from course_lib.nnx.position.turns import keep_speeds, turns

__all__ = ["Rotary"]


@dataclass(frozen=True)
class Rotary(Positions):
    """Rotary position embedding (RoPE): turn queries and keys by their positions."""

    d_head: int
    base: float = 10000.0
    scaling: RotaryScaling | None = None
    pace: float = 1.0

    def __post_init__(self):
        check_positive("pace", self.pace)
        check_even("d_head", self.d_head)
        check_positive("base", self.base)
        keep_speeds(self)

    def __call__(
        self, x: Float[Array, "*B T Dh"], offset: int | Int[Array, ""] = 0
    ) -> Float[Array, "*B T Dh"]:
        """Turn queries or keys, the first of which stands at `offset`."""
        check_rotary(x.shape, self.d_head)
        cos, sin = turns(self, x, offset)  # T Dh/2
        first, second = jnp.split(x, 2, axis=-1)
        turned = first * cos - second * sin, second * cos + first * sin
        return jnp.concatenate(turned, axis=-1)

    @property
    def rotary(self) -> "Rotary":
        """This: attention calls it in every layer."""
        return self
