r"""Attention on graphs and sets (Flax NNX).

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

import jax
import jax.numpy as jnp
from flax import nnx
from jax import Array
from jaxtyping import Bool, Float

from course_lib.checks import (
    check_graph,
    check_heads,
    check_inputs,
    check_size,
    check_tensors,
)
from course_lib.nnx.attention import softmax
from course_lib.nnx.linear import linear
from course_lib.nnx.multihead import MultiHeadAttention


class GraphAttention(nnx.Module):
    """Let each node average its neighbors, and learn which of them to listen to.

    Args:
        d_in: Width of a node's features.
        d_model: Width D of what comes out, all heads together.
        n_heads: Number of heads H; each is D / H wide.
        negative_slope: Slope of the leaky ReLU for negative scores.
        rngs: Source of the random start.

    Raises:
        ValueError: A width is not a whole number, or the heads do not divide.
    """

    def __init__(
        self,
        d_in: int,
        d_model: int,
        n_heads: int,
        *,
        negative_slope: float = 0.2,
        rngs: nnx.Rngs,
    ):
        check_size("d_in", d_in)
        check_heads(d_model, n_heads, n_heads)
        self.d_in, self.n_heads, self.negative_slope = d_in, n_heads, negative_slope
        self.proj = linear(d_in, d_model, bias=False, rngs=rngs)
        d_head = d_model // n_heads
        bound = math.sqrt(6 / (2 * d_head + 1))  # as one linear map of both to a score

        def start():
            key, shape = rngs.params(), (n_heads, d_head)
            return jax.random.uniform(key, shape, jnp.float32, -bound, bound)

        self.a_query = nnx.Param(start())
        self.a_key = nnx.Param(start())
        self.bias = nnx.Param(jnp.zeros(d_model, jnp.float32))

    def __call__(
        self, x: Float[Array, "*B N Din"], edges: Bool[Array, "*#B N N"]
    ) -> Float[Array, "*B N D"]:
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
        mixed = (weights @ h).swapaxes(-3, -2)
        return mixed.reshape(*x.shape[:-1], -1) + self.bias[...]

    def maps(
        self, x: Float[Array, "*B N Din"], edges: Bool[Array, "*#B N N"]
    ) -> Float[Array, "*B H N N"]:
        """Show which neighbors each node listens to.

        Args:
            x: Features of the nodes.
            edges: True in row i, column j where node i listens to node j.

        Returns:
            One map a head; each row sums to 1, or is 0 for a node without neighbors.

        Raises:
            ValueError: As `__call__`.
        """
        return self._attend(x, edges)[1]

    def _attend(self, x: Array, edges: Array) -> tuple[Array, Array]:
        check_tensors(jax.Array, x=x)
        check_graph(x.shape, self.d_in, edges)
        h = self.proj(x).reshape(*x.shape[:-1], self.n_heads, -1)
        h = h.swapaxes(-3, -2)  # *B H N Dh
        asks = (h * self.a_query[:, None]).sum(axis=-1)  # *B H N
        answers = (h * self.a_key[:, None]).sum(axis=-1)
        scores = jax.nn.leaky_relu(
            asks[..., :, None] + answers[..., None, :], self.negative_slope
        )
        scores = jnp.where(edges[..., None, :, :], scores, -math.inf)
        return h, softmax(scores)


class AttentionPooling(nnx.Module):
    """Sum a set up in a few vectors, each looking for something of its own.

    Args:
        d_model: Width D of the set's members and of the result.
        n_heads: Number of heads H.
        n_seeds: How many vectors come out; each is a learned query.
        rngs: Source of the random start.

    Raises:
        ValueError: A size is not a whole number of at least 1, or heads do not divide.
    """

    def __init__(self, d_model: int, n_heads: int, *, n_seeds: int = 1, rngs: nnx.Rngs):
        check_size("n_seeds", n_seeds)
        self.attention = MultiHeadAttention(d_model, n_heads, rngs=rngs)
        start = nnx.initializers.xavier_uniform()
        self.seeds = nnx.Param(start(rngs.params(), (n_seeds, d_model), jnp.float32))

    def __call__(
        self,
        x: Float[Array, "*B S D"],
        *,
        mask: Bool[Array, "..."] | None = None,
    ) -> Float[Array, "*B K D"]:
        """Look the set up with the learned queries.

        Args:
            x: Members of the set, in any order: the order changes nothing.
            mask: True at members, False at padding: `*#B 1 1 S`.

        Returns:
            One vector for each seed, K of them.

        Raises:
            ValueError: Shapes, kinds or dtypes do not fit; the set is empty.
        """
        check_tensors(jax.Array, x=x)
        check_inputs(x.shape, x.shape, self.seeds.shape[-1])
        seeds = self.seeds[...]
        seeds = jnp.broadcast_to(seeds, (*x.shape[:-2], *seeds.shape))
        return self.attention(seeds, x, mask=mask)
