r"""Multi-head attention (Flax NNX).

    MultiHead(X, C) = Concat(head_1, ..., head_H) W_O                    (eq. 1)
    head_h = Attention(X W_Q^h, C W_K^h, C W_V^h)

Vaswani et al. 2017, section 3.2.2, arXiv:1706.03762. With fewer key and value heads
than query heads it is grouped-query attention (Ainslie et al. 2023, arXiv:2305.13245),
with one of them multi-query attention (Shazeer 2019, arXiv:1911.02150).

A departure from the paper: projections carry a bias, as BERT's and GPT-2's do.

Positions may speak in the scores: turned queries and keys, or a bias; see position.py.
"""

import math
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx
from jax import Array
from jaxtyping import Bool, Float

from course_lib.checks import (
    check_bias,
    check_heads,
    check_inputs,
    check_mask,
    check_mask_axes,
    check_no_cache,
    check_rate,
    check_read,
    check_rotary,
    check_tensors,
)
from course_lib.nnx.attention import _scores, attention
from course_lib.nnx.generation.cache import LayerCache
from course_lib.nnx.linear import linear
from course_lib.nnx.masks import causal_mask
from course_lib.nnx.position import Rotary


class MultiHeadAttention(nnx.Module):
    """Look the context up in several learned ways at once, and mix the answers.

    Args:
        d_model: Model width D, of what comes in and what goes out.
        n_heads: Number of query heads H; each is D / H wide.
        n_kv_heads: Number of key and value heads; None means H. Each is shared by an
            equal group of query heads.
        bias: Whether the four projections add a learned constant.
        dropout: Share of the attention weights dropped in training.
        rotary: Turns queries and keys by their positions; None leaves them.
        rngs: Source of the random start and of dropout.

    Raises:
        ValueError: The heads do not divide, `rotary` is not as wide as a head, or the
            dropout rate is not in [0, 1).
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        *,
        n_kv_heads: int | None = None,
        bias: bool = True,
        dropout: float = 0.0,
        rotary: Rotary | None = None,
        rngs: nnx.Rngs,
    ):
        n_kv_heads = n_heads if n_kv_heads is None else n_kv_heads
        check_heads(d_model, n_heads, n_kv_heads)
        check_rate("dropout", dropout)
        self.n_heads, self.n_kv_heads = n_heads, n_kv_heads
        self.d_head = d_model // n_heads
        if rotary is not None:
            check_rotary((1, self.d_head), rotary.d_head)
        self.rotary = rotary
        self.keep_maps = False  # attention_maps switches it on while it looks
        d_kv = n_kv_heads * self.d_head
        self.q_proj = linear(d_model, d_model, bias=bias, rngs=rngs)
        self.k_proj = linear(d_model, d_kv, bias=bias, rngs=rngs)
        self.v_proj = linear(d_model, d_kv, bias=bias, rngs=rngs)
        self.o_proj = linear(d_model, d_model, bias=bias, rngs=rngs)
        self.dropout = nnx.Dropout(dropout, rngs=rngs)

    def __call__(
        self,
        x: Float[Array, "*B T D"],
        context: Float[Array, "*B S D"] | None = None,
        *,
        mask: Bool[Array, "..."] | None = None,
        causal: bool = False,
        score_bias: Float[Array, "..."] | None = None,
        cache: Any = None,
    ) -> Float[Array, "*B T D"]:
        """Let each position of `x` gather what it looks for in `context`.

        Args:
            x: The sequence that asks.
            context: The sequence that answers; None means `x` itself (self-attention).
            mask: True where a query may attend: `T S`, or `*#B #H #T #S`.
            causal: Whether a query may see only itself and what lies before it, besides
                what `mask` says.
            score_bias: Added to the scores: `H T S`, or `*#B #H #T #S`.
            cache: One layer of a `KVCache`; it keeps keys and values, and S counts all
                that it holds. With a context: what `project_kv` returned for it.

        Returns:
            One vector for each position of `x`. A position that may attend to nothing
            gets the output projection's bias.

        Raises:
            ValueError: Shapes, kinds or dtypes do not fit; something is empty.
        """
        offset = 0 if cache is None or context is not None else cache.length
        q, k, v = self._project(x, context, offset, cache)
        if cache is not None and context is None:
            k, v = cache.append(k, v)
        k, v = self._share(k), self._share(v)
        mask = self._rules(q, k, mask, causal, score_bias, offset)
        drops = self.dropout.rate > 0 and not self.dropout.deterministic
        if self.keep_maps or drops:
            heads, weights = attention(q, k, v, mask=mask, bias=score_bias)
            if self.keep_maps:
                self.seen = nnx.Intermediate(weights)
            if drops:
                heads = self.dropout(weights) @ v
        else:
            heads = _averages(q, k, v, mask, score_bias)
        return self.o_proj(heads.swapaxes(-3, -2).reshape(x.shape))  # *B T D

    def project_kv(self, context: Float[Array, "B S D"]) -> LayerCache:
        """Compute the keys and values of a context once, for whoever asks later.

        Args:
            context: The sequence that answers.

        Returns:
            What `__call__` takes as `cache`, beside the same context.

        Raises:
            ValueError: As `__call__`.
        """
        check_tensors(jax.Array, context=context)
        check_inputs(context.shape, context.shape, self.q_proj.in_features)
        k, v = self._keys_and_values(context, 0)
        return LayerCache(k, v, stored=k.shape[-2])

    def maps(
        self,
        x: Float[Array, "*B T D"],
        context: Float[Array, "*B S D"] | None = None,
        *,
        mask: Bool[Array, "..."] | None = None,
        causal: bool = False,
        score_bias: Float[Array, "..."] | None = None,
    ) -> Float[Array, "*B H T S"]:
        """Show who attends to whom: the weights that `__call__` uses, without dropout.

        Args:
            x: The sequence that asks.
            context: The sequence that answers; None means `x` itself.
            mask: True where a query may attend: `T S`, or `*#B #H #T #S`.
            causal: As in `__call__`.
            score_bias: As in `__call__`.

        Returns:
            One map a head; each row sums to 1, or is 0 if it may attend to nothing.

        Raises:
            ValueError: As `__call__`.
        """
        q, k, v = self._project(x, context, 0)
        k, v = self._share(k), self._share(v)
        mask = self._rules(q, k, mask, causal, score_bias, 0)
        return attention(q, k, v, mask=mask, bias=score_bias)[1]

    def _project(
        self, x: Array, context: Array | None, offset: int | Array, cache: Any = None
    ):
        context = x if (own := context is None) else context
        check_tensors(jax.Array, x=x, context=context)
        check_inputs(x.shape, context.shape, self.q_proj.in_features)
        q = self._split(self.q_proj(x), offset)
        if cache is not None and not own:
            check_read(context.shape, cache.k.shape)
            return q, cache.k[...], cache.v[...]
        return q, *self._keys_and_values(context, offset)

    def _keys_and_values(
        self, context: Array, offset: int | Array
    ) -> tuple[Array, Array]:
        values = self.v_proj(context)
        values = values.reshape(*values.shape[:-1], -1, self.d_head)
        return self._split(self.k_proj(context), offset), values.swapaxes(-3, -2)

    def _split(self, t: Array, offset: int | Array) -> Array:
        """One row of heads for all positions, turned by them: `*B H T Dh`."""
        t = t.reshape(*t.shape[:-1], -1, self.d_head).swapaxes(-3, -2)
        return t if self.rotary is None else self.rotary(t, offset)

    def _share(self, t: Array) -> Array:
        """Give each query head its own copy of the keys or values it shares."""
        group = self.n_heads // self.n_kv_heads
        return jnp.repeat(t, group, axis=-3) if group > 1 else t

    def _rules(
        self,
        q: Array,
        k: Array,
        mask: Array | None,
        causal: bool,
        score_bias: Array | None,
        offset: int | Array,
    ) -> Array | None:
        """The mask with the past in it."""
        scores = (*q.shape[:-1], k.shape[-2])
        check_mask_axes(mask, len(scores))
        check_mask(mask, scores)
        check_bias("score_bias", score_bias, scores)
        if not causal:
            return mask
        past = causal_mask(q.shape[-2], k.shape[-2], offset=offset)
        return past if mask is None else mask & past


def _averages(
    q: Array, k: Array, v: Array, mask: Array | None, bias: Array | None
) -> Array:
    """What `attention` returns first, when nobody asks for the weights.

    It divides last, where a row is one head wide and no longer as long as the context.
    On a CPU that is faster than `attention`, and than jax.nn.dot_product_attention,
    which wants positions before heads and moves everything round to get them.
    """
    scores = _scores(q, k, v, mask, bias)
    largest = jax.lax.stop_gradient(scores.max(axis=-1, keepdims=True))
    # Where all is forbidden the largest is -inf, and -inf - (-inf) would be NaN.
    shares = jnp.exp(scores - jnp.where(largest == -math.inf, 0.0, largest))
    total = shares.sum(axis=-1, keepdims=True)
    return shares @ v / jnp.where(total == 0, 1.0, total)


def attention_maps(
    model: nnx.Module, *inputs: Any, **options: Any
) -> list[Float[Array, "*B H T S"]]:
    """Show who attends to whom in every layer of a model, while it reads its inputs.

    The layers keep their maps as intermediates, which are then taken away again; the
    model returns nothing new. (By hand, as `sow` goes another way in newer versions.)

    Args:
        model: Any module of this wing, in evaluation mode; dropout elsewhere in it
            would show in the maps.
        inputs: What the model is called with.
        options: What it is called with by name.

    Returns:
        The maps of each `MultiHeadAttention` that was called, in the order in which the
        model defines them.

    Raises:
        ValueError: As the model, or it was called with a cache.
    """
    check_no_cache(options.get("cache"))
    layers = list(_layers(model))
    for layer in layers:
        layer.keep_maps = True
    try:
        model(*inputs, **options)
        return [layer.seen[...] for layer in layers if hasattr(layer, "seen")]
    finally:
        for layer in layers:
            layer.keep_maps = False
            nnx.pop(layer, nnx.Intermediate)


def _layers(part: Any) -> Iterator[MultiHeadAttention]:
    """The attention layers in the order in which they are defined, not by name."""
    if isinstance(part, MultiHeadAttention):
        yield part
    elif isinstance(part, nnx.Module):
        yield from _layers(list(vars(part).values()))
    elif isinstance(part, list):
        for child in part:
            yield from _layers(child)
