r"""Scaled dot-product attention (PyTorch).

    Attention(Q, K, V) = softmax(Q K^T / sqrt(d)) V                      (eq. 1)

Vaswani et al. 2017, section 3.2.1, arXiv:1706.03762.

A departure from the paper: a query that may attend to nothing gets weights 0 and output
0, where the formula would divide 0 by 0.
"""

import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from course_lib.shapes import check_attention, check_tensors


def softmax(scores: Float[Tensor, "*B S"]) -> Float[Tensor, "*B S"]:
    """Turn each row of scores into weights: positive, and together 1.

    Args:
        scores: Any finite numbers; -inf forbids an entry.

    Returns:
        Weights that are 0 at -inf. A row of nothing but -inf is 0 everywhere.
    """
    # In such a row softmax is 0/0; the fill also keeps its NaN out of the gradient.
    return scores.softmax(dim=-1).masked_fill(scores == -math.inf, 0.0)


def attention(
    q: Float[Tensor, "*B T Dh"],
    k: Float[Tensor, "*B S Dh"],
    v: Float[Tensor, "*B S Dv"],
    *,
    mask: Bool[Tensor, "*#B #T #S"] | None = None,
) -> tuple[Float[Tensor, "*B T Dv"], Float[Tensor, "*B T S"]]:
    """Average the values, each query weighing them by its match with the keys.

    Args:
        q: Queries: what each position looks for.
        k: Keys: what each position of the context offers to be found by.
        v: Values: what is averaged.
        mask: True where a query may attend; None lets all attend to all.

    Returns:
        The averages, and the weights that made them. Each row of weights sums to 1, or
        is 0 everywhere where the mask lets the query attend to nothing. A NaN makes the
        output of every query that may look at it NaN.

    Raises:
        ValueError: Shapes, kinds or dtypes do not fit; something is empty.
    """
    check_tensors(torch.Tensor, q=q, k=k, v=v)
    check_attention(q.shape, k.shape, v.shape, mask)
    scores = q @ k.mT / math.sqrt(q.shape[-1])  # *B T S
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    weights = softmax(scores)
    return weights @ v, weights
