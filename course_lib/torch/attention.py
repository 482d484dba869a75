r"""Attention by dot products and by a small network (PyTorch).

    Attention(Q, K, V) = softmax(Q K^T / sqrt(d) + b) V                  (eq. 1)
    score(q, k) = w^T tanh(W_Q q + W_K k)                                (eq. 2)

Eq. 1: Vaswani et al. 2017, section 3.2.1, arXiv:1706.03762; b is 0 there, and a number
for each distance in position.py. Eq. 2: Bahdanau et al. 2014, appendix A.1.2,
arXiv:1409.0473.

A departure from the papers: a query that may attend to nothing gets weights 0 and
output 0, where the formula would divide 0 by 0.
"""

import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from course_lib.checks import (
    check_additive,
    check_attention,
    check_size,
    check_tensors,
)
from course_lib.torch.linear import linear


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
    bias: Float[Tensor, "*#B #T #S"] | None = None,
) -> tuple[Float[Tensor, "*B T Dv"], Float[Tensor, "*B T S"]]:
    """Average the values, each query weighing them by its match with the keys.

    Args:
        q: Queries: what each position looks for.
        k: Keys: what each position of the context offers to be found by.
        v: Values: what is averaged.
        mask: True where a query may attend; None lets all attend to all.
        bias: Added to the scores; None adds nothing.

    Returns:
        The averages, and the weights that made them. Each row of weights sums to 1, or
        is 0 everywhere where the mask lets the query attend to nothing. A NaN in a
        query makes its own output NaN; one in a value makes all of them NaN, also where
        the mask forbids it, since 0 times NaN is NaN.

    Raises:
        ValueError: Shapes, kinds or dtypes do not fit; something is empty.
    """
    check_tensors(torch.Tensor, q=q, k=k, v=v, bias=bias)
    check_attention(q.shape, k.shape, v.shape, mask, bias)
    scores = q @ k.mT / math.sqrt(q.shape[-1])  # *B T S
    if bias is not None:
        scores = scores + bias
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    weights = softmax(scores)
    return weights @ v, weights


def additive_attention(
    q: Float[Tensor, "*B T A"],
    k: Float[Tensor, "*B S A"],
    v: Float[Tensor, "*B S Dv"],
    w: Float[Tensor, "A"],
    *,
    mask: Bool[Tensor, "*#B #T #S"] | None = None,
) -> tuple[Float[Tensor, "*B T Dv"], Float[Tensor, "*B T S"]]:
    """Average the values, each query weighing them by what a small network says.

    Every pair of a query and a key has its own hidden layer, so memory grows with
    T x S x A.

    Args:
        q: Queries, already projected.
        k: Keys, already projected.
        v: Values: what is averaged.
        w: What turns a pair's hidden layer into its score.
        mask: True where a query may attend; None lets all attend to all.

    Returns:
        The averages, and the weights that made them, as in `attention`.

    Raises:
        ValueError: Shapes, kinds or dtypes do not fit; something is empty.
    """
    check_tensors(torch.Tensor, q=q, k=k, v=v, w=w)
    check_additive(q.shape, k.shape, v.shape, w.shape, mask)
    hidden = torch.tanh(q[..., :, None, :] + k[..., None, :, :])  # *B T S A
    scores = hidden @ w  # *B T S
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    weights = softmax(scores)
    return weights @ v, weights


class AdditiveAttention(nn.Module):
    """Bahdanau's attention: a small network says which part of the context to read.

    The first attention of neural translation. What is averaged is the context itself,
    and projections have no bias, as in the paper. They start as every linear map here.

    Args:
        d_query: Width of what asks.
        d_context: Width of what answers.
        d_hidden: Width A of the small network.

    Raises:
        ValueError: A width is not a whole number of at least 1.
    """

    def __init__(self, d_query: int, d_context: int, d_hidden: int):
        super().__init__()
        sizes = {"d_query": d_query, "d_context": d_context, "d_hidden": d_hidden}
        for name, size in sizes.items():
            check_size(name, size)
        self.q_proj = linear(d_query, d_hidden, bias=False)
        self.k_proj = linear(d_context, d_hidden, bias=False)
        self.score = linear(d_hidden, 1, bias=False)

    def forward(
        self,
        x: Float[Tensor, "*B T Dq"],
        context: Float[Tensor, "*B S Dc"],
        *,
        mask: Bool[Tensor, "*#B #T #S"] | None = None,
    ) -> tuple[Float[Tensor, "*B T Dc"], Float[Tensor, "*B T S"]]:
        """Let each position of `x` gather what it looks for in `context`.

        Args:
            x: What asks: a decoder's state.
            context: What answers: an encoder's annotations.
            mask: True where a query may attend; None lets all attend to all.

        Returns:
            The averages, and the weights that made them, as in `attention`.

        Raises:
            ValueError: Shapes, kinds or dtypes do not fit; something is empty.
        """
        q, k, w = self.q_proj(x), self.k_proj(context), self.score.weight[0]
        return additive_attention(q, k, context, w, mask=mask)
