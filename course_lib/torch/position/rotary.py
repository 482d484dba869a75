r"""Rotary positions (RoPE): queries and keys turned by their place (PyTorch).

    RoPE(x_t)_(i, i+Dh/2) = R(t / b^(2i/Dh)) (x_i, x_(i+Dh/2))           (eq. 1)

with R(a) the rotation by an angle a: Su et al. 2021, section 3.2, arXiv:2104.09864.
Which features make a pair is a convention; this is Hugging Face's for LLaMA ("rotate
half": i with i + Dh/2), where the paper pairs neighbors. For texts longer than those of
the training, angles are stretched: `RotaryScaling` has the rules.
"""

from dataclasses import dataclass, field
from functools import lru_cache

import torch
from jaxtyping import Float
from torch import Tensor

from course_lib.checks import check_even, check_positive, check_rotary
from course_lib.config.rotary import RotaryScaling, speeds
from course_lib.torch.position.base import Positions

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
    _speeds: tuple[float, ...] = field(
        default=(), init=False, repr=False, compare=False
    )

    def __post_init__(self):
        check_positive("pace", self.pace)
        check_even("d_head", self.d_head)
        check_positive("base", self.base)
        found = speeds(self.d_head, self.base, self.scaling, self.pace)
        object.__setattr__(self, "_speeds", found)

    def __call__(
        self, x: Float[Tensor, "*B T Dh"], offset: int = 0
    ) -> Float[Tensor, "*B T Dh"]:
        """Turn queries or keys, the first of which stands at `offset`."""
        check_rotary(x.shape, self.d_head)
        # Queries, keys and layers share their turns, of which no trace may keep any.
        plain = type(x) is Tensor and not torch.compiler.is_compiling()
        turns = _kept_turns if plain else _turns
        cos, sin = turns(self, offset, x.shape[-2], x.dtype, x.device)
        first, second = x.chunk(2, dim=-1)
        turned = first * cos - second * sin, second * cos + first * sin
        return torch.cat(turned, dim=-1)

    @property
    def rotary(self) -> "Rotary":
        """This: attention calls it in every layer."""
        return self


def _turns(
    rotary: Rotary, offset: int, n: int, dtype: torch.dtype, device: torch.device
) -> tuple[Tensor, ...]:
    """Cosines and sines of eq. 1's angles, `T Dh/2`."""
    # Angles of large positions need at least 32 bits, whatever the queries have.
    wide = torch.promote_types(dtype, torch.float32)
    speeds = torch.tensor(rotary._speeds, dtype=wide).to(device, non_blocking=True)
    angles = torch.arange(offset, offset + n, device=device)[:, None] * speeds
    size = 1.0 if rotary.scaling is None else rotary.scaling.amplitude
    return tuple((size * f(angles)).to(dtype) for f in (torch.cos, torch.sin))


# Made outside of inference mode: what is made in it could not train afterwards.
_kept_turns = lru_cache(maxsize=8)(torch.inference_mode(False)(_turns))
