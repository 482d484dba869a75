r"""Scaled dot-product attention (PyTorch).

    Attention(Q, K, V) = softmax(Q K^T / sqrt(d) + b) V                  (eq. 1)

Vaswani et al. 2017, section 3.2.1, arXiv:1706.03762. The bias b is 0 there; ALiBi and
relative positions put a number for each distance into it.

Departure: a query that may attend to nothing gets weights 0 and output 0, where the
formula would divide 0 by 0.
"""

import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from course_lib.checks import check_attention, check_tensors, plain

__all__ = ["attention", "softmax"]


def softmax(scores: Float[Tensor, "*B S"]) -> Float[Tensor, "*B S"]:
    """Softmax over the last axis: scores become weights, positive and summing to 1.

    A weight is 0 at a score of -inf, and a row of nothing but -inf is 0 everywhere.
    """
    # In such a row softmax is 0/0. Filled before, its NaN is in no gradient either.
    empty = scores.amax(dim=-1, keepdim=True) == -math.inf
    return scores.masked_fill(empty, 0.0).softmax(dim=-1).masked_fill(empty, 0.0)


def attention(
    q: Float[Tensor, "*B T Dh"],
    k: Float[Tensor, "*B S Dh"],
    v: Float[Tensor, "*B S Dv"],
    mask: Bool[Tensor, "*#B #T #S"] | None = None,
    *,
    bias: Float[Tensor, "*#B #T #S"] | None = None,
    scale: float | None = None,
    cap: float | None = None,
) -> tuple[Float[Tensor, "*B T Dv"], Float[Tensor, "*B T S"]]:
    """Scaled dot-product attention: average the values, weighted by query-key match.

    A query may attend where `mask` is True; `bias` is added to the scores. `scale` is
    what products are multiplied by, 1 / sqrt(d) if None, and `cap` a soft cap c of the
    scores s, c tanh(s / c) (Gemma 2, section 2, arXiv:2408.00118). Returns the
    averages, and the weights that made them: a row sums to 1, or is 0 where the mask
    forbids every key. NaN in a value reaches every output, also where the mask forbids
    it, since 0 times NaN is NaN.
    """
    check_tensors(torch.Tensor, q=q, k=k, v=v, bias=bias)
    check_attention(q.shape, k.shape, v.shape, mask, bias)
    scale, cap = plain((scale, cap))
    root = math.sqrt(q.shape[-1]) if scale is None else 1 / scale
    # Scaled first: 16 bits hold larger products.
    scores = (q / root) @ k.mT  # *B T S
    if cap is not None:
        scores = cap * (scores / cap).tanh()
    if bias is not None:
        scores = scores + bias
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    weights = softmax(scores)
    return weights @ v, weights
