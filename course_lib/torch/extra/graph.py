r"""Attention on graphs and sets (PyTorch).

    score(i, j) = leaky_relu(a_query · W h_i + a_key · W h_j)            (eq. 1)
    h_i' = sum over the neighbors j of i of softmax_j(score(i, j)) W h_j

    Pool(X) = MultiHead(S, X, X), S learned                              (eq. 2)

Eq. 1: Veličković et al. 2018 (GAT), section 2.1, arXiv:1710.10903; it is additive
attention with the graph's edges for a mask. Eq. 2: Lee et al. 2019 (Set Transformer),
section 3.2, arXiv:1810.00825, without their feed-forward layers.

Departures from the first paper: no nonlinearity at the end and no dropout (add them
where you use the layer), and a node attends to itself only if the edges say so.
"""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

from course_lib.checks import (
    check_context,
    check_graph,
    check_heads,
    check_tensors,
)
from course_lib.torch.attention import softmax
from course_lib.torch.linear import linear
from course_lib.torch.multihead import MultiHeadAttention, merge_heads, split_heads

__all__ = ["AttentionPooling", "GraphAttention"]


class GraphAttention(nn.Module):
    """Graph attention layer (GAT): a node averages its neighbors by learned weights.

    `d_model` is the width of all heads together; a leaky ReLU has the slope 0.2.
    """

    def __init__(self, d_in: int, d_model: int, n_heads: int):
        super().__init__()
        check_heads(d_model, n_heads, n_heads)
        self.d_in, self.d_head = d_in, d_model // n_heads
        self.proj = linear(d_in, d_model, bias=False)
        # As one linear map of both to a score.
        bound = math.sqrt(6 / (2 * self.d_head + 1))
        self.a_query = nn.Parameter(torch.empty(n_heads, self.d_head))
        self.a_key = nn.Parameter(torch.empty(n_heads, self.d_head))
        for a in (self.a_query, self.a_key):
            nn.init.uniform_(a, -bound, bound)
        self.bias = nn.Parameter(torch.zeros(d_model))

    def forward(
        self, x: Float[Tensor, "*B N Din"], edges: Bool[Tensor, "*#B N N"]
    ) -> Float[Tensor, "*B N D"]:
        """One round of message passing along the edges.

        Node i attends to j where row i, column j of `edges` is True; a node without
        neighbors gets the bias.
        """
        h, weights = self._attend(x, edges)
        return merge_heads(weights @ h) + self.bias

    def maps(
        self, x: Float[Tensor, "*B N Din"], edges: Bool[Tensor, "*#B N N"]
    ) -> Float[Tensor, "*B H N N"]:
        """Attention weights, one map a head; 0 for a node without neighbors."""
        return self._attend(x, edges)[1]

    def _attend(self, x: Tensor, edges: Tensor) -> tuple[Tensor, Tensor]:
        check_tensors(torch.Tensor, x=x)
        check_graph(x.shape, self.d_in, edges)
        h = split_heads(self.proj(x), self.d_head)  # *B H N Dh
        of_query = (h * self.a_query[:, None]).sum(dim=-1)  # *B H N
        of_key = (h * self.a_key[:, None]).sum(dim=-1)
        scores = of_query[..., :, None] + of_key[..., None, :]
        scores = F.leaky_relu(scores, 0.2)
        scores = scores.masked_fill(~edges.unsqueeze(-3), -math.inf)
        return h, softmax(scores)


class AttentionPooling(nn.Module):
    """Pooling by multi-head attention (PMA): a learned query summarizes a set."""

    def __init__(self, d_model: int, n_heads: int):
        super().__init__()
        self.attention = MultiHeadAttention(d_model, n_heads)
        self.seeds = nn.Parameter(torch.empty(1, d_model))
        nn.init.xavier_uniform_(self.seeds)

    def forward(
        self,
        x: Float[Tensor, "*B S D"],
        *,
        mask: Bool[Tensor, "..."] | None = None,
    ) -> Float[Tensor, "*B 1 D"]:
        """Summarize each set; the order of its members changes nothing.

        `mask` is True at members, False at padding: `*#B 1 1 S`.
        """
        check_tensors(torch.Tensor, x=x)
        check_context(x, None, self.seeds.shape[-1], torch.Tensor)
        seeds = self.seeds.expand(*x.shape[:-2], -1, -1)
        return self.attention(seeds, x, mask=mask)
