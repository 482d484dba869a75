r"""Additive attention: a small network scores each pair (PyTorch).

    score(q, k) = w^T tanh(W_Q q + W_K k)                                (eq. 1)

Bahdanau et al. 2014, appendix A.1.2, arXiv:1409.0473: the first attention of neural
translation.
"""

import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from course_lib.checks import check_additive, check_sizes, check_tensors
from course_lib.torch.attention import softmax
from course_lib.torch.linear import linear

__all__ = ["AdditiveAttention", "additive_attention"]


def additive_attention(
    q: Float[Tensor, "*B T A"],
    k: Float[Tensor, "*B S A"],
    v: Float[Tensor, "*B S Dv"],
    w: Float[Tensor, "A"],
    *,
    mask: Bool[Tensor, "*#B #T #S"] | None = None,
) -> tuple[Float[Tensor, "*B T Dv"], Float[Tensor, "*B T S"]]:
    """Additive attention: average the values, weighted by a small network's scores.

    Queries and keys are projected already; `w` turns a pair's hidden layer into its
    score, and there is one for every pair, so memory grows with T x S x A. Returns the
    averages, and the weights that made them, as `attention` does.
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
    """Additive (Bahdanau) attention with its projections: values are the context.

    Projections have no bias, as in the paper.
    """

    def __init__(self, d_query: int, d_context: int, d_hidden: int):
        super().__init__()
        check_sizes(d_query=d_query, d_context=d_context, d_hidden=d_hidden)
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
        """Average the context for each position of `x`; returns the weights, too."""
        q, k, w = self.q_proj(x), self.k_proj(context), self.score.weight[0]
        return additive_attention(q, k, context, w, mask=mask)
