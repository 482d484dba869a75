"""Efficient attention for long sequences: no T × S table of weights (Flax NNX)."""

import math

import jax
import jax.numpy as jnp
from jax import Array, lax
from jaxtyping import Float

from course_lib.checks import (
    check_attention,
    check_same_length,
    check_size,
    check_tensors,
)
from course_lib.nnx.attention import attention

__all__ = ["tiled_attention", "window_attention"]


def tiled_attention(
    q: Float[Array, "*B T Dh"],
    k: Float[Array, "*B S Dh"],
    v: Float[Array, "*B S Dv"],
    *,
    causal: bool = False,
    tile: int = 512,
) -> Float[Array, "*B T Dv"]:
    """Exact attention, tile by tile (FlashAttention): memory linear in the length."""
    check_tensors(jax.Array, q=q, k=k, v=v)
    check_attention(q.shape, k.shape, v.shape)
    check_size("tile", tile)
    n_queries, n_keys = q.shape[-2], k.shape[-2]
    tile = min(tile, max(n_queries, n_keys))
    q_tiles = _scan_tiles(q / math.sqrt(q.shape[-1]), tile)
    k_tiles, v_tiles = _scan_tiles(k, tile), _scan_tiles(v, tile)
    starts = jnp.arange(len(k_tiles)) * tile
    firsts = jnp.arange(len(q_tiles)) * tile + (n_keys - n_queries)
    within = jnp.arange(tile)

    @jax.checkpoint  # the backward pass computes a tile again instead of storing it
    def query_tile(q_tile, first):
        """Attention of one tile of queries, the first of which stands at `first`."""

        def update(state, keys, values, start):
            top, total, mixed = state
            columns, rows = start + within, first + within[:, None]
            allowed = (columns <= rows if causal else True) & (columns < n_keys)
            scores = jnp.where(allowed, q_tile @ keys.mT, -math.inf)
            new_top = jnp.maximum(top, scores.max(axis=-1, keepdims=True))
            safe_top = jnp.where(new_top == -math.inf, 0.0, new_top)  # no key so far
            fade, exps = jnp.exp(top - safe_top), jnp.exp(scores - safe_top)
            total = fade * total + exps.sum(axis=-1, keepdims=True)
            return new_top, total, fade * mixed + exps @ values

        def step(state, key_tile):
            keys, values, start = key_tile
            if not causal:
                return update(state, keys, values, start), None
            past = start < first + tile  # else every key is in the future
            return lax.cond(past, update, lambda s, *_: s, state, *key_tile), None

        blank = q_tile[..., :1] * 0
        nothing = (blank - math.inf, blank, blank * jnp.zeros(v.shape[-1], v.dtype))
        (_, total, mixed), _ = lax.scan(step, nothing, (k_tiles, v_tiles, starts))
        return mixed / jnp.where(total == 0, 1.0, total)

    outputs = lax.map(lambda tile_of: query_tile(*tile_of), (q_tiles, firsts))
    return _join(jnp.moveaxis(outputs, 0, -3), n_queries)


def window_attention(
    q: Float[Array, "*B T Dh"],
    k: Float[Array, "*B T Dh"],
    v: Float[Array, "*B T Dv"],
    *,
    size: int,
    causal: bool = False,
) -> Float[Array, "*B T Dv"]:
    """Sliding-window attention: time and memory grow with T × size."""
    check_tensors(jax.Array, q=q, k=k, v=v)
    check_attention(q.shape, k.shape, v.shape)
    check_same_length(q.shape, k.shape)
    check_size("size", size)
    length = q.shape[-2]
    q, k, v = (_cut(t, size) for t in (q, k, v))  # *B N size D
    k, v = (_with_neighbors(t, causal) for t in (k, v))  # *B N (2 or 3) size D
    blocks = jnp.arange(q.shape[-3])[:, None, None] * size
    rows = blocks + jnp.arange(size)[:, None]
    columns = blocks - size + jnp.arange(k.shape[-2])  # N 1 S
    near = jnp.abs(rows - columns) < size
    near &= (columns >= 0) & (columns < length)
    if causal:
        near &= columns <= rows
    output, _ = attention(q, k, v, mask=near)
    return _join(output, length)


def _with_neighbors(x: Array, causal: bool) -> Array:
    """Each block with the one before it and, unless causal, the one after it."""
    n = x.shape[-3]
    padded = jnp.pad(x, [(0, 0)] * (x.ndim - 3) + [(1, 1), (0, 0), (0, 0)])
    shifts = range(2 if causal else 3)
    return jnp.concatenate([padded[..., s : s + n, :, :] for s in shifts], axis=-2)


def _cut(x: Array, tile: int) -> Array:
    """Positions in tiles, `*B N tile D`; zeros fill up the last one."""
    after = -x.shape[-2] % tile
    x = jnp.pad(x, [(0, 0)] * (x.ndim - 2) + [(0, after), (0, 0)])
    return x.reshape(*x.shape[:-2], x.shape[-2] // tile, tile, x.shape[-1])


def _scan_tiles(x: Array, tile: int) -> Array:
    """Tiles on the first axis, which `lax.scan` and `lax.map` go through."""
    return jnp.moveaxis(_cut(x, tile), -3, 0)


def _join(tiles: Array, length: int) -> Array:
    """The inverse of `_cut`: `*B length D`."""
    return jax.lax.collapse(tiles, -3, -1)[..., :length, :]
