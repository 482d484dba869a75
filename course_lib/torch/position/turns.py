"""How rotary positions find what they turn by (PyTorch).

Eq. 1 stands in rotary.py; here are its cosines and sines, and two tricks. Speeds are
plain numbers that a `Rotary` finds when it is made: found later, they would be traced.
Turns are kept, since queries, keys and layers share them: to make them anew for each
takes an eighth of the time in which a small model writes a token.
"""

from functools import lru_cache
from typing import Any

import torch
from torch import Tensor

from course_lib.config.rotary import speeds

__all__: list[str] = []  # `Rotary` is what a reader calls


def keep_speeds(rotary: Any) -> None:
    """Give a frozen `Rotary` its speeds, which are no argument of it."""
    found = speeds(rotary.d_head, rotary.base, rotary.scaling, rotary.pace)
    object.__setattr__(rotary, "speeds", found)


def turns(rotary: Any, x: Tensor, offset: int) -> tuple[Tensor, ...]:
    """Cosines and sines of eq. 1's angles, `T Dh/2`; x stands at `offset`."""
    # What is traced may keep none of what is shared.
    plain = type(x) is Tensor and not torch.compiler.is_compiling()
    make = _kept if plain else _make
    return make(rotary, offset, x.shape[-2], x.dtype, x.device)


def _make(
    rotary: Any, offset: int, n: int, dtype: torch.dtype, device: torch.device
) -> tuple[Tensor, ...]:
    # Angles of large positions need at least 32 bits, whatever the queries have.
    wide = torch.promote_types(dtype, torch.float32)
    speeds = torch.tensor(rotary.speeds, dtype=wide).to(device, non_blocking=True)
    angles = torch.arange(offset, offset + n, device=device)[:, None] * speeds
    size = 1.0 if rotary.scaling is None else rotary.scaling.amplitude
    return tuple((size * f(angles)).to(dtype) for f in (torch.cos, torch.sin))


# Made outside of inference mode: what is made in it could not train afterwards.
_kept = lru_cache(maxsize=8)(torch.inference_mode(False)(_make))
