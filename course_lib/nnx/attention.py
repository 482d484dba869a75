r"""Scaled dot-product attention (Flax NNX).

    Attention(Q, K, V) = softmax(Q K^T / sqrt(d) + b) V                  (eq. 1)

Vaswani et al. 2017, section 3.2.1, arXiv:1706.03762. The bias b is 0 there; ALiBi and
relative positions put a number for each distance into it.

Departure: a query that may attend to nothing gets weights 0 and output 0, where the
formula would divide 0 by 0.
"""

import math

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Bool, Float

from course_lib.checks import check_attention, check_tensors, plain

__all__ = ["attention", "softmax"]


def softmax(scores: Float[Array, "*B S"]) -> Float[Array, "*B S"]:
    """Softmax over the last axis: scores become weights, positive and summing to 1."""
    # In such a row softmax is 0/0. Filled before, its NaN is in no gradient either.
    empty = scores.max(axis=-1, keepdims=True) == -math.inf
    return jnp.where(empty, 0.0, jax.nn.softmax(jnp.where(empty, 0.0, scores), axis=-1))


def attention(
    q: Float[Array, "*B T Dh"],
    k: Float[Array, "*B S Dh"],
    v: Float[Array, "*B S Dv"],
    mask: Bool[Array, "*#B #T #S"] | None = None,
    *,
    bias: Float[Array, "*#B #T #S"] | None = None,
    scale: float | None = None,  # in place of 1 / sqrt(d)
    cap: float | None = None,  # c, of the scores s: c tanh(s / c)
) -> tuple[Float[Array, "*B T Dv"], Float[Array, "*B T S"]]:
    """Scaled dot-product attention: average the values, weighted by query-key match."""
    check_tensors(jax.Array, q=q, k=k, v=v, bias=bias)
    check_attention(q.shape, k.shape, v.shape, mask, bias)
    # Scaled first: 16 bits hold larger products, and XLA may merge a factor behind them
    # with the softmax's subtraction, rounded once: the largest minus itself is not 0.
    scale, cap = plain((scale, cap))
    root = math.sqrt(q.shape[-1]) if scale is None else 1 / scale
    scores = (q / root) @ k.mT  # *B T S
    if cap is not None:
        scores = cap * jnp.tanh(scores / cap)
    if bias is not None:
        scores = scores + bias
    if mask is not None:
        scores = jnp.where(mask, scores, -math.inf)
    weights = softmax(scores)
    return weights @ v, weights
