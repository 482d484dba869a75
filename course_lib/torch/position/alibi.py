r"""ALiBi: attention with linear biases, distance subtracted from scores (PyTorch).

    bias[h, i, j] = -m_h |i - j|                                         (eq. 1)

Press et al. 2022, section 3, arXiv:2108.12409.
"""

from functools import lru_cache

import torch
from jaxtyping import Float, Int
from torch import Tensor

from course_lib.checks import check_size, check_span


def alibi_slopes(n_heads: int) -> list[float]:
    """ALiBi's slopes m_h: how fast each head's scores fall with distance.

    Args:
        n_heads: H. For a power of two, slopes go from 2^(-8/H) to 2^-8 in equal ratios;
            other numbers are filled up as in the authors' code, with every other slope
            of twice the next lower power of two.

    Returns:
        One positive number a head.
    """
    check_size("n_heads", n_heads)
    power = 2 ** (n_heads.bit_length() - 1)
    slopes = [2.0 ** (-8 * (h + 1) / power) for h in range(power)]
    between = [2.0 ** (-4 * (2 * h + 1) / power) for h in range(n_heads - power)]
    return slopes + between


def alibi_bias(
    n_heads: int,
    n_queries: int,
    n_keys: int | None = None,
    *,
    offset: int | Int[Tensor, ""] | None = None,
    like: Float[Tensor, "..."] | None = None,
) -> Float[Tensor, "H T S"]:
    """ALiBi: a penalty on far keys, linear in the distance, at each head's own rate.

    Args:
        n_heads: H.
        n_queries: T.
        n_keys: S; None means T.
        offset: Where the first query stands among the keys; None puts the last query at
            the last key.
        like: A tensor whose dtype and device the result takes; None means 32 bits on
            the CPU.

    Returns:
        Numbers to add to the scores: 0 at a query's own position, negative elsewhere.
    """
    n_keys = n_queries if n_keys is None else n_keys
    check_span(n_queries, n_keys, offset)
    like = torch.empty(0) if like is None else like
    first = n_keys - n_queries if offset is None else offset
    queries = first + torch.arange(n_queries, device=like.device)
    distance = abs(queries[:, None] - torch.arange(n_keys, device=like.device))  # T S
    slopes = _slopes(
        n_heads, torch.promote_types(like.dtype, torch.float32), like.device
    )
    return (-slopes[:, None, None] * distance).to(like.dtype)


@lru_cache(maxsize=8)
@torch.inference_mode(False)
def _slopes(n_heads: int, dtype: torch.dtype, device: torch.device) -> Tensor:
    return torch.tensor(alibi_slopes(n_heads), dtype=dtype, device=device)
