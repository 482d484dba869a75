r"""Efficient attention for long sequences: no T × S table of weights (PyTorch).

`tiled_attention` is exact: FlashAttention's tiling with an online softmax. It visits
the keys tile by tile and keeps, for each query, the largest score m, the sum l and the
weighted values o so far:

    m' = max(m, max_j s_j)
    l' = exp(m - m') l + sum_j exp(s_j - m')                             (eq. 1)
    o' = exp(m - m') o + sum_j exp(s_j - m') v_j,    output = o / l

Online softmax: Milakov and Gimelshein 2018, arXiv:1805.02867. In attention: Rabe and
Staats 2021, arXiv:2112.05682, and Dao et al. 2022 (FlashAttention), arXiv:2205.14135.

`window_attention` is exact for a sliding window: Beltagy et al. 2020 (Longformer),
section 3.1, arXiv:2004.05150.
"""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from course_lib.checks import (
    check_attention,
    check_same_length,
    check_size,
    check_tensors,
)
from course_lib.torch.attention import attention

__all__ = ["tiled_attention", "window_attention"]


def tiled_attention(
    q: Float[Tensor, "*B T Dh"],
    k: Float[Tensor, "*B S Dh"],
    v: Float[Tensor, "*B S Dv"],
    *,
    causal: bool = False,
    tile: int = 512,
) -> Float[Tensor, "*B T Dv"]:
    """Exact attention, tile by tile (FlashAttention): memory linear in the length.

    `causal` lets each query attend to its own position and earlier ones only, the last
    query standing at the last key. Memory grows with tile × S, since the backward pass
    recomputes each tile.
    """
    check_tensors(torch.Tensor, q=q, k=k, v=v)
    check_attention(q.shape, k.shape, v.shape)
    check_size("tile", tile)
    shift = k.shape[-2] - q.shape[-2]  # the key that stands at the first query
    outputs = [
        checkpoint(
            _query_tile, part, k, v, shift + i * tile, causal, tile, use_reentrant=False
        )
        for i, part in enumerate((q / math.sqrt(q.shape[-1])).split(tile, dim=-2))
    ]
    return torch.cat(outputs, dim=-2)


def _query_tile(
    q: Tensor, k: Tensor, v: Tensor, first: int, causal: bool, tile: int
) -> Tensor:
    """Attention of one tile of queries, the first of which stands at key `first`."""
    rows = torch.arange(first, first + q.shape[-2], device=q.device)[:, None]
    top = q.new_full((*q.shape[:-1], 1), -math.inf)
    total = torch.zeros_like(top)
    mixed = q.new_zeros(*q.shape[:-1], v.shape[-1])
    for start in range(0, k.shape[-2], tile):
        if causal and start >= first + q.shape[-2]:
            break  # from here on every key is in the future
        keys, values = k[..., start : start + tile, :], v[..., start : start + tile, :]
        scores = q @ keys.mT
        if causal and start + tile > first:
            columns = torch.arange(start, start + keys.shape[-2], device=q.device)
            scores = scores.masked_fill(columns > rows, -math.inf)
        new_top = torch.maximum(top, scores.amax(dim=-1, keepdim=True))
        safe_top = new_top.masked_fill(new_top == -math.inf, 0.0)  # no key so far
        fade, exps = (top - safe_top).exp(), (scores - safe_top).exp()
        total = fade * total + exps.sum(dim=-1, keepdim=True)
        mixed = fade * mixed + exps @ values
        top = new_top
    return mixed / total.masked_fill(total == 0, 1.0)


def window_attention(
    q: Float[Tensor, "*B T Dh"],
    k: Float[Tensor, "*B T Dh"],
    v: Float[Tensor, "*B T Dv"],
    *,
    size: int,
    causal: bool = False,
) -> Float[Tensor, "*B T Dv"]:
    """Sliding-window attention: time and memory grow with T × size.

    Position i attends to j where |i - j| < size; `causal` looks back only.
    """
    check_tensors(torch.Tensor, q=q, k=k, v=v)
    check_attention(q.shape, k.shape, v.shape)
    check_same_length(q.shape, k.shape)
    check_size("size", size)
    length = q.shape[-2]
    q, k, v = (F.pad(t, (0, 0, 0, -length % size)) for t in (q, k, v))
    q, k, v = (t.unflatten(-2, (-1, size)) for t in (q, k, v))  # *B N size D
    k, v = (_with_neighbors(t, causal) for t in (k, v))  # *B N (2 or 3) size D
    blocks = torch.arange(q.shape[-3], device=q.device)[:, None, None] * size
    rows = blocks + torch.arange(size, device=q.device)[:, None]
    columns = blocks - size + torch.arange(k.shape[-2], device=q.device)  # N 1 S
    near = (rows - columns).abs() < size
    near &= (columns >= 0) & (columns < length)
    if causal:
        near &= columns <= rows
    output, _ = attention(q, k, v, mask=near)
    return output.flatten(-3, -2)[..., :length, :]


def _with_neighbors(x: Tensor, causal: bool) -> Tensor:
    """Each block with the one before it and, unless causal, the one after it."""
    n = x.shape[-3]
    padded = F.pad(x, (0, 0, 0, 0, 1, 1))
    shifts = range(2 if causal else 3)
    return torch.cat([padded[..., s : s + n, :, :] for s in shifts], dim=-2)
