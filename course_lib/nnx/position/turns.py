"""How rotary positions find what they turn by (Flax NNX).

Eq. 1 stands in PyTorch's rotary.py; here are its cosines and sines. Speeds are plain
numbers that a `Rotary` finds when it is made: compiled programs have them as constants.
"""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array

from course_lib.config.rotary import speeds

__all__: list[str] = []  # `Rotary` is what a reader calls


def keep_speeds(rotary: Any) -> None:
    """Give a frozen `Rotary` its speeds, which are no argument of it."""
    found = speeds(rotary.d_head, rotary.base, rotary.scaling, rotary.pace)
    object.__setattr__(rotary, "speeds", found)


def turns(rotary: Any, x: Array, offset: int | Array) -> tuple[Array, ...]:
    """Cosines and sines of eq. 1's angles, `T Dh/2`; x stands at `offset`."""
    # Angles of large positions need at least 32 bits, whatever the queries have.
    wide = jnp.promote_types(x.dtype, jnp.float32)
    places = (offset + jnp.arange(x.shape[-2])).astype(wide)
    angles = places[:, None] * np.array(rotary.speeds, wide)
    size = 1.0 if rotary.scaling is None else rotary.scaling.amplitude
    return tuple((size * f(angles)).astype(x.dtype) for f in (jnp.cos, jnp.sin))
