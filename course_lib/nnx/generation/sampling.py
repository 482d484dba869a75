"""From scores to the next token (JAX)."""

import math

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Bool, Float, Int

from course_lib.checks import check_tensors
from course_lib.config.sampling import Sampling

__all__ = [
    "greedy", "keep_min_p", "keep_top_k", "keep_top_p", "penalize_repetition", "sample",
]  # fmt: skip


def greedy(logits: Float[Array, "*B V"]) -> Int[Array, "*B"]:
    """Greedy decoding: the likeliest token; of equals, the one with the smallest id."""
    check_tensors(jax.Array, logits=logits)
    return logits.argmax(axis=-1)


def keep_top_k(
    logits: Float[Array, "*B V"], k: int | Int[Array, ""]
) -> Float[Array, "*B V"]:
    """Top-k sampling: forbid all but the k likeliest tokens, of equals the later."""
    check_tensors(jax.Array, logits=logits)
    Sampling(top_k=k)
    return jnp.where(_rank(logits) >= k, -math.inf, logits)


def keep_top_p(
    logits: Float[Array, "*B V"], p: float | Float[Array, ""]
) -> Float[Array, "*B V"]:
    """Nucleus sampling: keep the smallest set of tokens with mass p or more."""
    check_tensors(jax.Array, logits=logits)
    Sampling(top_p=p)
    shares = jax.nn.softmax(_wide(logits), axis=-1)
    order = jnp.argsort(shares, axis=-1, descending=True, stable=True)
    ordered = jnp.take_along_axis(shares, order, axis=-1)
    before = jnp.cumsum(ordered, axis=-1) - ordered  # mass of the likelier ones
    out = (before >= p) & (before > 0) & (p < 1)  # a mass of 1 is of all
    out = jnp.take_along_axis(out, jnp.argsort(order, axis=-1), axis=-1)
    return jnp.where(out, -math.inf, logits)


def keep_min_p(
    logits: Float[Array, "*B V"], p: float | Float[Array, ""]
) -> Float[Array, "*B V"]:
    """Min-p sampling: forbid tokens with less than p times the largest probability."""
    check_tensors(jax.Array, logits=logits)
    Sampling(min_p=p)
    scores = _wide(logits)
    share = jnp.exp(scores - scores.max(axis=-1, keepdims=True))  # of the likeliest's
    return jnp.where(share < p, -math.inf, logits)


def penalize_repetition(
    logits: Float[Array, "*B V"],
    seen: Bool[Array, "*#B V"],
    penalty: float | Float[Array, ""],
) -> Float[Array, "*B V"]:
    """Repetition penalty: make tokens less likely that are `seen` in the text."""
    check_tensors(jax.Array, logits=logits)
    penalty = Sampling(repetition_penalty=penalty).repetition_penalty
    lowered = jnp.where(logits > 0, logits / penalty, logits * penalty)
    return jnp.where(seen, lowered, logits)


def sample(
    logits: Float[Array, "*B V"], uniform: Float[Array, "*B"]
) -> Int[Array, "*B"]:
    """Draw a token with the probability that its score gives it, never one at -inf."""
    check_tensors(jax.Array, logits=logits, uniform=uniform)
    reached = jnp.cumsum(jax.nn.softmax(_wide(logits), axis=-1), axis=-1)
    total = reached[..., -1:]
    drawn = (reached <= uniform[..., None] * total).sum(axis=-1)
    last = (reached < total).sum(axis=-1)  # rounding must not push beyond it
    return jnp.minimum(drawn, last)


def _wide(logits: Array) -> Array:
    """Scores in what they are compared with settings in: 32 bits or more."""
    return logits.astype(jnp.promote_types(logits.dtype, jnp.float32))


def _rank(logits: Array) -> Array:
    """0 for the likeliest token, 1 for the next, and so on."""
    order = jnp.argsort(logits, axis=-1, descending=True, stable=True)
    return jnp.argsort(order, axis=-1)
