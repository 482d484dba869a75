r"""Multi-head attention (PyTorch).

    MultiHead(X, C) = Concat(head_1, ..., head_H) W_O                    (eq. 1)
    head_h = Attention(X W_Q^h, C W_K^h, C W_V^h)

Vaswani et al. 2017, section 3.2.2, arXiv:1706.03762. With fewer key and value heads
than query heads it is grouped-query attention (Ainslie et al. 2023, arXiv:2305.13245),
with one of them multi-query attention (Shazeer 2019, arXiv:1911.02150).

A departure from the paper: projections carry a bias, as BERT's and GPT-2's do.

Positions may speak in the scores: turned queries and keys, or a bias; see position.py.
"""

import math
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

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
from course_lib.torch.attention import attention
from course_lib.torch.generation.cache import LayerCache
from course_lib.torch.linear import linear
from course_lib.torch.masks import causal_mask
from course_lib.torch.position import Rotary


class MultiHeadAttention(nn.Module):
    """Look the context up in several learned ways at once, and mix the answers.

    Args:
        d_model: Model width D, of what comes in and what goes out.
        n_heads: Number of query heads H; each is D / H wide.
        n_kv_heads: Number of key and value heads; None means H. Each is shared by an
            equal group of query heads.
        bias: Whether the four projections add a learned constant.
        dropout: Share of the attention weights dropped in training.
        rotary: Turns queries and keys by their positions; None leaves them.

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
    ):
        super().__init__()
        n_kv_heads = n_heads if n_kv_heads is None else n_kv_heads
        check_heads(d_model, n_heads, n_kv_heads)
        check_rate("dropout", dropout)
        self.n_heads, self.n_kv_heads, self.dropout = n_heads, n_kv_heads, dropout
        self.d_head = d_model // n_heads
        if rotary is not None:
            check_rotary((1, self.d_head), rotary.d_head)
        self.rotary = rotary
        d_kv = n_kv_heads * self.d_head
        self.q_proj = linear(d_model, d_model, bias=bias)
        self.k_proj = linear(d_model, d_kv, bias=bias)
        self.v_proj = linear(d_model, d_kv, bias=bias)
        self.o_proj = linear(d_model, d_model, bias=bias)

    def forward(
        self,
        x: Float[Tensor, "*B T D"],
        context: Float[Tensor, "*B S D"] | None = None,
        *,
        mask: Bool[Tensor, "..."] | None = None,
        causal: bool = False,
        score_bias: Float[Tensor, "..."] | None = None,
        cache: Any = None,
    ) -> Float[Tensor, "*B T D"]:
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
        mask, causal = self._rules(q, k, mask, causal, score_bias, offset)
        # The framework's function takes what is forbidden and what is added as one.
        if score_bias is not None and mask is not None:
            score_bias = score_bias.masked_fill(~mask, -math.inf)
        heads = F.scaled_dot_product_attention(
            q,
            k,
            v,
            attn_mask=mask if score_bias is None else score_bias,
            dropout_p=self.dropout if self.training else 0.0,
            is_causal=causal,
            enable_gqa=self.n_kv_heads != self.n_heads,
        )
        return self.o_proj(heads.transpose(-3, -2).flatten(-2))  # *B T D

    def project_kv(self, context: Float[Tensor, "B S D"]) -> LayerCache:
        """Compute the keys and values of a context once, for whoever asks later.

        Args:
            context: The sequence that answers.

        Returns:
            What `forward` takes as `cache`, beside the same context.

        Raises:
            ValueError: As `forward`.
        """
        check_tensors(torch.Tensor, context=context)
        check_inputs(context.shape, context.shape, self.q_proj.in_features)
        k, v = self._keys_and_values(context, 0)
        return LayerCache(k, v, stored=k.shape[-2])

    def maps(
        self,
        x: Float[Tensor, "*B T D"],
        context: Float[Tensor, "*B S D"] | None = None,
        *,
        mask: Bool[Tensor, "..."] | None = None,
        causal: bool = False,
        score_bias: Float[Tensor, "..."] | None = None,
    ) -> Float[Tensor, "*B H T S"]:
        """Show who attends to whom: the weights that `forward` uses, without dropout.

        Args:
            x: The sequence that asks.
            context: The sequence that answers; None means `x` itself.
            mask: True where a query may attend: `T S`, or `*#B #H #T #S`.
            causal: As in `forward`.
            score_bias: As in `forward`.

        Returns:
            One map a head; each row sums to 1, or is 0 if it may attend to nothing.

        Raises:
            ValueError: As `forward`.
        """
        q, k, v = self._project(x, context, 0)
        mask, causal = self._rules(q, k, mask, causal, score_bias, 0)
        if causal:
            mask = causal_mask(q.shape[-2]).to(q.device)
        group = self.n_heads // self.n_kv_heads
        k, v = (t.repeat_interleave(group, dim=-3) for t in (k, v))
        return attention(q, k, v, mask=mask, bias=score_bias)[1]

    def _project(
        self, x: Tensor, context: Tensor | None, offset: int, cache: Any = None
    ):
        context = x if (own := context is None) else context
        check_tensors(torch.Tensor, x=x, context=context)
        check_inputs(x.shape, context.shape, self.q_proj.in_features)
        q = self._split(self.q_proj(x), offset)
        if cache is not None and not own:
            check_read(context.shape, cache.k.shape)
            return q, cache.k, cache.v
        return q, *self._keys_and_values(context, offset)

    def _keys_and_values(self, context: Tensor, offset: int) -> tuple[Tensor, Tensor]:
        values = self.v_proj(context).unflatten(-1, (-1, self.d_head))
        return self._split(self.k_proj(context), offset), values.transpose(-3, -2)

    def _split(self, t: Tensor, offset: int) -> Tensor:
        """One row of heads for all positions, turned by them: `*B H T Dh`."""
        t = t.unflatten(-1, (-1, self.d_head)).transpose(-3, -2)
        return t if self.rotary is None else self.rotary(t, offset)

    def _rules(
        self,
        q: Tensor,
        k: Tensor,
        mask: Tensor | None,
        causal: bool,
        score_bias: Tensor | None,
        offset: int,
    ) -> tuple[Tensor | None, bool]:
        """The mask with the past in it, or the flag that is faster than a mask."""
        (*_, t, _), s = q.shape, k.shape[-2]
        scores = (*q.shape[:-1], s)
        check_mask_axes(mask, len(scores))
        check_mask(mask, scores)
        check_bias("score_bias", score_bias, scores)
        if not causal or (t == 1 and s == offset + 1):  # the newest token sees all
            return mask, False
        if mask is None and score_bias is None and t == s:
            return None, True
        past = causal_mask(t, s, offset=offset).to(q.device)
        return past if mask is None else mask & past, False


def attention_maps(
    model: nn.Module, *inputs: Any, **options: Any
) -> list[Float[Tensor, "*B H T S"]]:
    """Show who attends to whom in every layer of a model, while it reads its inputs.

    Hooks listen to the layers; the model itself is not changed and returns nothing new.

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
    found = {}

    def listen(layer: Any, args: tuple, kwargs: dict, output: Tensor):
        check_no_cache(kwargs.pop("cache", None))
        found[layer] = layer.maps(*args, **kwargs)

    layers = [m for m in model.modules() if isinstance(m, MultiHeadAttention)]
    handles = [m.register_forward_hook(listen, with_kwargs=True) for m in layers]
    try:
        model(*inputs, **options)
    finally:
        for handle in handles:
            handle.remove()
    return [found[layer] for layer in layers if layer in found]
