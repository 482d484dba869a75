"""Attention without its weights: the fast path (Flax NNX).

What `attention` returns first, divided last: the averages of a head are Dh wide, its
weights S, so the softmax's division costs less behind the product with the values. On a
CPU that is 1.3 to 1.7 times as fast as jax.nn.dot_product_attention, which wants
positions before heads and moves every array round to get them. On a GPU of NVIDIA's it
has cuDNN's kernel, which never stores the T x S weights: in 16 bits, where at most the
future is forbidden, that is taken.
"""

import math
from functools import cache

import jax
import jax.numpy as jnp
from flax import nnx
from jax import Array
from jaxtyping import Bool, Float, Int

from course_lib.checks import check_divides, check_size
from course_lib.config import Scoring
from course_lib.nnx.attention import attention
from course_lib.nnx.masks import causal_mask, window_mask

__all__ = ["fused_attention", "narrow_mask", "repeat_heads"]


def fused_attention(
    q: Float[Array, "*B H T Dh"],
    k: Float[Array, "*B G S Dh"],
    v: Float[Array, "*B G S Dv"],
    *,
    mask: Bool[Array, "..."] | None = None,
    causal: bool = False,
    offset: int | Int[Array, ""] = 0,
    score_bias: Float[Array, "..."] | None = None,
    dropout: nnx.Dropout | None = None,
    scoring: Scoring = Scoring(),
) -> Float[Array, "*B H T Dv"]:
    """Scaled dot-product attention of all heads at once, without the weights."""
    scale, cap, window = scoring.scale, scoring.cap, scoring.window
    dropping = dropout is not None and dropout.rate > 0 and not dropout.deterministic
    plain = mask is score_bias is window is cap is None
    first = isinstance(offset, int) and offset == 0 and q.shape[-2] == k.shape[-2]
    if plain and not dropping and (first or not causal) and _fits_kernel(q, k, v):
        given = (t.swapaxes(-2, -3) for t in (q, k, v))
        how = {"is_causal": causal, "scale": scale, "implementation": "cudnn"}
        return jax.nn.dot_product_attention(*given, **how).swapaxes(-2, -3)
    mask = narrow_mask(mask, q, k, causal=causal, window=window, offset=offset)
    k, v = (repeat_heads(t, q.shape[-3]) for t in (k, v))
    if dropout is not None and dropping:
        rules = {
            "mask": mask,
            "bias": in_kind(score_bias, q),
            "scale": scale,
            "cap": cap,
        }
        weights = attention(q, k, v, **rules)[1]
        return dropout(weights) @ v
    root = math.sqrt(q.shape[-1]) if scale is None else 1 / scale
    scores = (q / root) @ k.mT  # *B H T S
    if cap is not None:
        scores = cap * jnp.tanh(scores / cap)
    if score_bias is not None:
        scores = scores + score_bias
    if mask is not None:
        scores = jnp.where(mask, scores, -math.inf)
    largest = jax.lax.stop_gradient(scores.max(axis=-1, keepdims=True))
    # Where all is forbidden the largest is -inf, and -inf - (-inf) would be NaN.
    shares = jnp.exp(scores - jnp.where(largest == -math.inf, 0.0, largest))
    total = shares.sum(axis=-1, keepdims=True)
    return shares @ v / jnp.where(total == 0, 1.0, total)


def _fits_kernel(q: Array, k: Array, v: Array) -> bool:
    """Whether cuDNN's kernel takes these arrays, and is there to take them."""
    short = q.dtype in (jnp.bfloat16, jnp.float16) and q.dtype == k.dtype == v.dtype
    width = q.shape[-1]
    fits = q.ndim == 4 and v.shape[-1] == width and width % 8 == 0 and width <= 128
    return short and fits and _has_kernel()


@cache
def _has_kernel() -> bool:
    """Whether the first device is a GPU of NVIDIA's, Ampere or later."""
    device = jax.devices()[0]
    if device.platform != "gpu" or "cuda" not in device.client.platform_version:
        return False
    return tuple(map(int, device.compute_capability.split("."))) >= (8, 0)


def in_kind(bias: Array | None, q: Array) -> Array | None:
    """A bias in the dtype of queries, which mixed precision makes another."""
    return None if bias is None else bias.astype(q.dtype)


def narrow_mask(
    mask: Bool[Array, "..."] | None,
    q: Float[Array, "*B H T Dh"],
    k: Float[Array, "*B G S Dh"],
    *,
    causal: bool = False,
    window: int | None = None,
    offset: int | Int[Array, ""] = 0,
) -> Bool[Array, "..."] | None:
    """A mask that also forbids the future, and what is `window` positions away."""
    if window is not None:
        check_size("window", window)
    t, s = q.shape[-2], k.shape[-2]
    if causal:
        past = causal_mask(t, s, offset=offset)
        mask = past if mask is None else mask & past
    if window is not None and s > window:  # else nothing is so far away
        near = window_mask(t, s, size=window, offset=offset)
        mask = near if mask is None else mask & near
    return mask


def repeat_heads(
    t: Float[Array, "*B G S Dh"], n_heads: int
) -> Float[Array, "*B H S Dh"]:
    """Give each query head its own copy of the keys or values that it shares."""
    check_divides("n_kv_heads", t.shape[-3], "n_heads", n_heads)
    group = n_heads // t.shape[-3]
    return jnp.repeat(t, group, axis=-3) if group > 1 else t
