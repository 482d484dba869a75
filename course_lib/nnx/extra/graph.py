"""Attention on graphs and sets (Flax NNX)."""

import math

import jax
import jax.numpy as jnp
from flax import nnx
from jax import Array
from jaxtyping import Bool, Float

from course_lib.checks import (
    check_context,
    check_graph,
    check_heads,
    check_tensors,
)
from course_lib.nnx.attention import softmax
from course_lib.nnx.linear import linear
from course_lib.nnx.multihead import MultiHeadAttention, merge_heads, split_heads

__all__ = ["AttentionPooling", "GraphAttention"]


class GraphAttention(nnx.Module):
    """Graph attention layer (GAT): a node averages its neighbors by learned weights."""

    def __init__(self, d_in: int, d_model: int, n_heads: int, *, rngs: nnx.Rngs):
        check_heads(d_model, n_heads, n_heads)
        self.d_in, self.d_head = d_in, d_model // n_heads
        self.proj = linear(d_in, d_model, bias=False, rngs=rngs)
        # As one linear map of both to a score.
        bound = math.sqrt(6 / (2 * self.d_head + 1))

        def start():
            key, shape = rngs.params(), (n_heads, self.d_head)
            return jax.random.uniform(key, shape, jnp.float32, -bound, bound)

        self.a_query = nnx.Param(start())
        self.a_key = nnx.Param(start())
        self.bias = nnx.Param(jnp.zeros(d_model, jnp.float32))

    def __call__(
        self, x: Float[Array, "*B N Din"], edges: Bool[Array, "*#B N N"]
    ) -> Float[Array, "*B N D"]:
        """One round of message passing along the edges."""
        h, weights = self._attend(x, edges)
        return merge_heads(weights @ h) + self.bias[...]

    def maps(
        self, x: Float[Array, "*B N Din"], edges: Bool[Array, "*#B N N"]
    ) -> Float[Array, "*B H N N"]:
        """Attention weights, one map a head; 0 for a node without neighbors."""
        return self._attend(x, edges)[1]

    def _attend(self, x: Array, edges: Array) -> tuple[Array, Array]:
        check_tensors(jax.Array, x=x)
        check_graph(x.shape, self.d_in, edges)
        h = split_heads(self.proj(x), self.d_head)  # *B H N Dh
        of_query = (h * self.a_query[:, None]).sum(axis=-1)  # *B H N
        of_key = (h * self.a_key[:, None]).sum(axis=-1)
        scores = of_query[..., :, None] + of_key[..., None, :]
        scores = jax.nn.leaky_relu(scores, 0.2)
        scores = jnp.where(edges[..., None, :, :], scores, -math.inf)
        return h, softmax(scores)


class AttentionPooling(nnx.Module):
    """Pooling by multi-head attention (PMA): a learned query summarizes a set."""

    def __init__(self, d_model: int, n_heads: int, *, rngs: nnx.Rngs):
        self.attention = MultiHeadAttention(d_model, n_heads, rngs=rngs)
        start = nnx.initializers.xavier_uniform()
        self.seeds = nnx.Param(start(rngs.params(), (1, d_model), jnp.float32))

    def __call__(
        self,
        x: Float[Array, "*B S D"],
        *,
        mask: Bool[Array, "..."] | None = None,
    ) -> Float[Array, "*B 1 D"]:
        """Summarize each set; the order of its members changes nothing."""
        check_tensors(jax.Array, x=x)
        check_context(x, None, self.seeds.shape[-1], jax.Array)
        seeds = self.seeds[...]
        seeds = jnp.broadcast_to(seeds, (*x.shape[:-2], *seeds.shape))
        return self.attention(seeds, x, mask=mask)
