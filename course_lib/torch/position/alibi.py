r"""ALiBi: attention with linear biases, distance subtracted from scores (PyTorch).

    bias[h, i, j] = -m_h |i - j|                                         (eq. 1)

Press et al. 2022, section 3, arXiv:2108.12409.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from course_lib.checks import check_size, check_span
from course_lib.torch.position.base import Positions

__all__ = ["ALiBi", "alibi_bias"]


def _slopes(n_heads: int) -> list[float]:
    """ALiBi's slopes m_h: how fast each head's scores fall with distance.

    For a power of two they go from 2^(-8/H) to 2^-8 in equal ratios; other numbers are
    filled up as in the authors' code, with every other slope of the next power of two.
    """
    check_size("n_heads", n_heads)
    power = 2 ** (int(n_heads).bit_length() - 1)
    slopes = [2.0 ** (-8 * (h + 1) / power) for h in range(power)]
    between = [2.0 ** (-4 * (2 * h + 1) / power) for h in range(n_heads - power)]
    return slopes + between


def alibi_bias(
    n_heads: int,
    n_queries: int,
    n_keys: int | None = None,
    *,
    offset: int | None = None,
    like: Float[Tensor, "..."] | None = None,
) -> Float[Tensor, "H T S"]:
    """ALiBi: a penalty on far keys, linear in the distance, at each head's own rate.

    The first query stands at key `offset`; None puts the last query at the last key.
    Dtype and device are those of `like`; None means 32 bits on the CPU.
    """
    n_keys = n_queries if n_keys is None else n_keys
    check_span(n_queries, n_keys, offset)
    like = torch.empty(0) if like is None else like
    first = n_keys - n_queries if offset is None else offset
    queries = first + torch.arange(n_queries, device=like.device)
    distance = abs(queries[:, None] - torch.arange(n_keys, device=like.device))  # T S
    dtype = torch.promote_types(like.dtype, torch.float32)
    slopes = torch.tensor(_slopes(n_heads), dtype=dtype)
    slopes = slopes.to(like.device, non_blocking=True)
    return (-slopes[:, None, None] * distance).to(like.dtype)


@dataclass(frozen=True)
class ALiBi(Positions):
    """ALiBi as a position scheme."""

    n_heads: int

    def __post_init__(self):
        check_size("n_heads", self.n_heads)

    def bias(
        self, n_queries: int, n_keys: int, offset: int, like: Float[Tensor, "..."]
    ) -> Float[Tensor, "H T S"]:
        """Eq. 1."""
        return alibi_bias(self.n_heads, n_queries, n_keys, offset=offset, like=like)
