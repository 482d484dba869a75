"""Position schemes: a configuration's word and what it builds (Flax NNX)."""

from collections.abc import Callable
from typing import Any

from flax import nnx

from course_lib.nnx.position.alibi import ALiBi
from course_lib.nnx.position.base import NoPositions, Positions
from course_lib.nnx.position.learned import Learned, Learned2D
from course_lib.nnx.position.relative import RelativeBias
from course_lib.nnx.position.rotary import Rotary
from course_lib.nnx.position.sinusoidal import Sinusoidal

__all__ = ["SCHEMES", "make_positions"]

# Each is given the model's configuration the length of its longest sequence, and rngs.
SCHEMES: dict[str, Callable[[Any, int, nnx.Rngs], Positions]] = {
    "none": lambda c, n, rngs: NoPositions(),
    "learned": lambda c, n, rngs: Learned(n, c.d_model, rngs=rngs),
    "learned_2d": lambda c, n, rngs: Learned2D(
        c.grid[0], c.grid[1], c.d_model, rngs=rngs
    ),
    "sinusoidal": lambda c, n, rngs: Sinusoidal(
        n, c.d_model, interleaved=getattr(c, "interleaved", True)
    ),
    "rotary": lambda c, n, rngs: Rotary(**c.rotary),
    "alibi": lambda c, n, rngs: ALiBi(c.n_heads),
    "relative": lambda c, n, rngs: RelativeBias(c.n_heads, rngs=rngs),
}


def make_positions(config: Any, max_len: int, *, rngs: nnx.Rngs) -> Positions:
    """The position scheme that a model's configuration names in `position`."""
    return SCHEMES[config.position](config, max_len, rngs)
