r"""Rotary positions (RoPE): queries and keys turned by their place (PyTorch).

    RoPE(x_t)_(i, i+Dh/2) = R(t / b^(2i/Dh)) (x_i, x_(i+Dh/2))           (eq. 1)

with R(a) the rotation by an angle a: Su et al. 2021, section 3.2, arXiv:2104.09864.
Which features make a pair is a convention; this is Hugging Face's for LLaMA ("rotate
half": i with i + Dh/2), where the paper pairs neighbors. For texts longer than those of
the training, angles are stretched: `RotaryScaling` has the rules.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from course_lib.checks import check_even, check_positive, check_rotary
from course_lib.config.rotary import RotaryScaling
from course_lib.torch.position.base import Positions
from course_lib.torch.position.turns import keep_speeds, turns

__all__ = ["Rotary"]


@dataclass(frozen=True)
class Rotary(Positions):
    """Rotary position embedding (RoPE): turn queries and keys by their positions.

    Nothing is learned. The dot product of a turned query and a turned key depends on
    the distance between them, and not on where they stand. The fastest pair turns by
    one radian a position, the slowest nearly `base` times as slowly. `pace` multiplies
    all speeds; `scaling` slows them down by a rule.
    """

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
        self, x: Float[Tensor, "*B T Dh"], offset: int = 0
    ) -> Float[Tensor, "*B T Dh"]:
        """Turn queries or keys, the first of which stands at `offset`."""
        check_rotary(x.shape, self.d_head)
        cos, sin = turns(self, x, offset)  # T Dh/2
        first, second = x.chunk(2, dim=-1)
        turned = first * cos - second * sin, second * cos + first * sin
        return torch.cat(turned, dim=-1)

    @property
    def rotary(self) -> "Rotary":
        """This: attention calls it in every layer."""
        return self
