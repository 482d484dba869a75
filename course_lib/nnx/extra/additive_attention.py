r"""Additive attention: a small network scores each pair (Flax NNX).

    score(q, k) = w^T tanh(W_Q q + W_K k)                                (eq. 1)

Bahdanau et al. 2014, appendix A.1.2, arXiv:1409.0473: the first attention of neural
translation.
"""

import math

import jax
import jax.numpy as jnp
from flax import nnx
from jax import Array
from jaxtyping import Bool, Float

from course_lib.checks import check_additive, check_sizes, check_tensors
from course_lib.nnx.attention import softmax
from course_lib.nnx.linear import linear

__all__ = ["AdditiveAttention", "additive_attention"]


def additive_attention(
    q: Float[Array, "*B T A"],
    k: Float[Array, "*B S A"],
    v: Float[Array, "*B S Dv"],
    w: Float[Array, "A"],
    *,
    mask: Bool[Array, "*#B #T #S"] | None = None,
) -> tuple[Float[Array, "*B T Dv"], Float[Array, "*B T S"]]:
    """Additive attention: average the values, weighted by a small network's scores."""
    check_tensors(jax.Array, q=q, k=k, v=v, w=w)
    check_additive(q.shape, k.shape, v.shape, w.shape, mask)
    hidden = jnp.tanh(q[..., :, None, :] + k[..., None, :, :])  # *B T S A
    scores = hidden @ w  # *B T S
    if mask is not None:
        scores = jnp.where(mask, scores, -math.inf)
    weights = softmax(scores)
    return weights @ v, weights


class AdditiveAttention(nnx.Module):
    """Additive (Bahdanau) attention with its projections: values are the context."""

    def __init__(self, d_query: int, d_context: int, d_hidden: int, *, rngs: nnx.Rngs):
        check_sizes(d_query=d_query, d_context=d_context, d_hidden=d_hidden)
        self.q_proj = linear(d_query, d_hidden, bias=False, rngs=rngs)
        self.k_proj = linear(d_context, d_hidden, bias=False, rngs=rngs)
        self.score = linear(d_hidden, 1, bias=False, rngs=rngs)

    def __call__(
        self,
        x: Float[Array, "*B T Dq"],
        context: Float[Array, "*B S Dc"],
        *,
        mask: Bool[Array, "*#B #T #S"] | None = None,
    ) -> tuple[Float[Array, "*B T Dc"], Float[Array, "*B T S"]]:
        """Average the context for each position of `x`; returns the weights, too."""
        q, k, w = self.q_proj(x), self.k_proj(context), self.score.kernel[...][:, 0]
        return additive_attention(q, k, context, w, mask=mask)
