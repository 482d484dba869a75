r"""Attention on graphs and sets (PyTorch).

    score(i, j) = leaky_relu(a_query · W h_i + a_key · W h_j)            (eq. 1)
    h_i' = sum over the neighbors j of i of softmax_j(score(i, j)) W h_j

    Pool(X) = MultiHead(S, X, X), S learned                              (eq. 2)

Eq. 1: Veličković et al. 2018, section 2.1, arXiv:1710.10903; it is attention with a
mask that says who is a neighbor of whom. Eq. 2: Lee et al. 2019, section 3.2,
arXiv:1810.00825, without their feed-forward layers.

Departures from the first paper: no nonlinearity at the end and no dropout (add them
where you use the layer), and a node listens to itself only if the mask says so.
"""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

from course_lib.checks import (
    check_graph,
    check_heads,
    check_inputs,
    check_size,
    check_tensors,
)
from course_lib.torch.attention import softmax
from course_lib.torch.linear import linear
from course_lib.torch.multihead import MultiHeadAttention


class GraphAttention(nn.Module):
    """Let each node average its neighbors, and learn which of them to listen to.

    Args:
        d_in: Width of a node's features.
        d_model: Width D of what comes out, all heads together.
        n_heads: Number of heads H; each is D / H wide.
        negative_slope: Slope of the leaky ReLU for negative scores.

    Raises:
        ValueError: A width is not a whole number, or the heads do not divide.
    """

    def __init__(
        self, d_in: int, d_model: int, n_heads: int, *, negative_slope: float = 0.2
    ):
        super().__init__()
        check_size("d_in", d_in)
        check_heads(d_model, n_heads, n_heads)
        self.d_in, self.n_heads, self.negative_slope = d_in, n_heads, negative_slope
        self.proj = linear(d_in, d_model, bias=False)
        d_head = d_model // n_heads
        bound = math.sqrt(6 / (2 * d_head + 1))  # as one linear map of both to a score
        self.a_query = nn.Parameter(torch.empty(n_heads, d_head))
        self.a_key = nn.Parameter(torch.empty(n_heads, d_head))
        for a in (self.a_query, self.a_key):
            nn.init.uniform_(a, -bound, bound)
        self.bias = nn.Parameter(torch.zeros(d_model))

    def forward(
        self, x: Float[Tensor, "*B N Din"], edges: Bool[Tensor, "*#B N N"]
    ) -> Float[Tensor, "*B N D"]:
        """Pass one round of messages along the edges.

        Args:
            x: Features of the nodes.
            edges: True in row i, column j where node i listens to node j.

        Returns:
            New features; a node that listens to nobody gets the bias.

        Raises:
            ValueError: Shapes, kinds or dtypes do not fit; there is no node.
        """
        h, weights = self._attend(x, edges)
        return (weights @ h).transpose(-3, -2).flatten(-2) + self.bias

    def maps(
        self, x: Float[Tensor, "*B N Din"], edges: Bool[Tensor, "*#B N N"]
    ) -> Float[Tensor, "*B H N N"]:
        """Show which neighbors each node listens to.

        Args:
            x: Features of the nodes.
            edges: True in row i, column j where node i listens to node j.

        Returns:
            One map a head; each row sums to 1, or is 0 for a node without neighbors.

        Raises:
            ValueError: As `forward`.
        """
        return self._attend(x, edges)[1]

    def _attend(self, x: Tensor, edges: Tensor) -> tuple[Tensor, Tensor]:
        check_tensors(torch.Tensor, x=x)
        check_graph(x.shape, self.d_in, edges)
        h = (
            self.proj(x).unflatten(-1, (self.n_heads, -1)).transpose(-3, -2)
        )  # *B H N Dh
        asks = (h * self.a_query[:, None]).sum(dim=-1)  # *B H N
        answers = (h * self.a_key[:, None]).sum(dim=-1)
        scores = F.leaky_relu(
            asks[..., :, None] + answers[..., None, :], self.negative_slope
        )
        scores = scores.masked_fill(~edges.unsqueeze(-3), -math.inf)
        return h, softmax(scores)


class AttentionPooling(nn.Module):
    """Sum a set up in a few vectors, each looking for something of its own.

    Args:
        d_model: Width D of the set's members and of the result.
        n_heads: Number of heads H.
        n_seeds: How many vectors come out; each is a learned query.

    Raises:
        ValueError: A size is not a whole number of at least 1, or heads do not divide.
    """

    def __init__(self, d_model: int, n_heads: int, *, n_seeds: int = 1):
        super().__init__()
        check_size("n_seeds", n_seeds)
        self.attention = MultiHeadAttention(d_model, n_heads)
        self.seeds = nn.Parameter(torch.empty(n_seeds, d_model))
        nn.init.xavier_uniform_(self.seeds)

    def forward(
        self,
        x: Float[Tensor, "*B S D"],
        *,
        mask: Bool[Tensor, "..."] | None = None,
    ) -> Float[Tensor, "*B K D"]:
        """Look the set up with the learned queries.

        Args:
            x: Members of the set, in any order: the order changes nothing.
            mask: True at members, False at padding: `*#B 1 1 S`.

        Returns:
            One vector for each seed, K of them.

        Raises:
            ValueError: Shapes, kinds or dtypes do not fit; the set is empty.
        """
        check_tensors(torch.Tensor, x=x)
        check_inputs(x.shape, x.shape, self.seeds.shape[-1])
        seeds = self.seeds.expand(*x.shape[:-2], -1, -1)
        return self.attention(seeds, x, mask=mask)
