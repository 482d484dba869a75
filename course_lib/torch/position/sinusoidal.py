r"""Sinusoidal positions: waves of many lengths, added to the tokens (PyTorch).

    PE[t, 2i] = sin(t / b^(2i/D)),   PE[t, 2i+1] = cos(t / b^(2i/D))     (eq. 1)

Vaswani et al. 2017, section 3.5, arXiv:1706.03762.
"""

from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from course_lib.checks import check_even, check_positions, check_size
from course_lib.torch.position.base import Positions, rows_of

__all__ = ["Sinusoidal", "sinusoidal"]

BASE = 10000.0  # the b of the equation


def sinusoidal(
    n_positions: int,
    d_model: int,
    *,
    dtype: Any = None,
) -> Float[Tensor, "T D"]:
    """Sinusoidal position encoding: sines and cosines of many wavelengths.

    The longest wave is nearly `BASE` times the shortest, of 2 pi positions. The row of
    t + k is the row of t with each pair turned by an angle that depends on k alone.
    Numbers are computed in 64 bits and returned in 32, or as `dtype`.

    Args:
        n_positions: T, counted from 0.
        d_model: D, even.
        dtype: Of the result.
    """
    check_size("n_positions", n_positions)
    check_even("d_model", d_model)
    table = _waves(torch.arange(n_positions), d_model, interleaved=True)
    return table.to(torch.float32 if dtype is None else dtype)


class Sinusoidal(Positions, nn.Module):
    """Sinusoidal positions as a module, called like `Learned`.

    Sine and cosine are `interleaved`, as in the paper; False puts all sines before all
    cosines, as Hugging Face's Marian does.
    """

    def __init__(self, max_len: int, d_model: int, *, interleaved: bool = True):
        super().__init__()
        check_size("max_len", max_len)
        check_even("d_model", d_model)
        self.max_len = self.n_rows = max_len
        self.form = d_model, interleaved

    def forward(
        self,
        n_positions: int,
        offset: int = 0,
        *,
        like: Float[Tensor, "..."] | None = None,
    ) -> Float[Tensor, "T D"]:
        """Rows of `n_positions` positions from `offset` on, in `like`'s dtype."""
        like = torch.empty(0) if like is None else like
        check_positions(n_positions, offset, self.n_rows)
        rows = _waves(torch.arange(offset, offset + n_positions), *self.form)
        return rows.to(like.device, like.dtype)

    def add(
        self,
        x: Float[Tensor, "*B T D"],
        offset: int = 0,
        mask: Bool[Tensor, "..."] | None = None,
    ) -> Tensor:
        """Eq. 1, added to the tokens."""
        return x + rows_of(self, x, offset, mask)


def _waves(places: Tensor, d_model: int, interleaved: bool) -> Tensor:
    """Eq. 1 at these places, in 64 bits."""
    exponents = torch.arange(0, d_model, 2, dtype=torch.float64) / d_model
    angles = places[:, None] / BASE**exponents  # T D/2
    waves = angles.sin(), angles.cos()
    return torch.stack(waves, -1 if interleaved else -2).flatten(-2)
