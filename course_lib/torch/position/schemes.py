"""Position schemes: a configuration's word and what it builds (PyTorch).

A new scheme is a file beside this one, a line here, and its name in
`course_lib.config.transformer.POSITIONS`.
"""

from collections.abc import Callable
from typing import Any

from course_lib.torch.position.alibi import ALiBi
from course_lib.torch.position.base import NoPositions, Positions
from course_lib.torch.position.learned import Learned, Learned2D
from course_lib.torch.position.relative import RelativeBias
from course_lib.torch.position.rotary import Rotary
from course_lib.torch.position.sinusoidal import Sinusoidal

__all__ = ["SCHEMES", "make_positions"]

# Each is given the model's configuration and the length of its longest sequence.
SCHEMES: dict[str, Callable[[Any, int], Positions]] = {
    "none": lambda c, n: NoPositions(),
    "learned": lambda c, n: Learned(n, c.d_model),
    "learned_2d": lambda c, n: Learned2D(c.grid[0], c.grid[1], c.d_model),
    "sinusoidal": lambda c, n: Sinusoidal(
        n, c.d_model, interleaved=getattr(c, "interleaved", True)
    ),
    "rotary": lambda c, n: Rotary(**c.rotary),
    "alibi": lambda c, n: ALiBi(c.n_heads),
    "relative": lambda c, n: RelativeBias(c.n_heads),
}


def make_positions(config: Any, max_len: int) -> Positions:
    """The position scheme that a model's configuration names in `position`."""
    return SCHEMES[config.position](config, max_len)
