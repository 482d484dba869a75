r"""The transformer block (Flax NNX).

    post:      x <- LN(x + f(x))                                         (eq. 1)
    pre:       x <- x + f(LN(x))                                         (eq. 2)
    res_post:  x <- x + LN(f(x))                                         (eq. 3)
    sandwich:  x <- x + LN'(f(LN(x)))                                    (eq. 4)

with f attention first, then the feed-forward network. Eq. 1: Vaswani et al. 2017,
section 3.1, arXiv:1706.03762. Eq. 2: Xiong et al. 2020, arXiv:2002.04745. Eq. 3: Liu
et al. 2022 (Swin Transformer V2), section 3.2, arXiv:2111.09883. Eq. 4: Ding et al.
2021 (CogView), section 2.4, arXiv:2105.13290; also that of Gemma 2 and 3.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from flax import nnx
from jax import Array
from jaxtyping import Bool, Float

from course_lib.checks import check_choice, check_memory
from course_lib.config import NORMS, Experts
from course_lib.nnx.extra.experts import MixtureOfExperts
from course_lib.nnx.feed_forward import FeedForward
from course_lib.nnx.generation.cache import LayerCache
from course_lib.nnx.multihead import KeysValues, MultiHeadAttention
from course_lib.nnx.norm import norm_layer
from course_lib.nnx.position.rotary import Rotary

__all__ = ["Block"]

Layer = Callable[[Array], Array]  # keeps shapes: *B T D


class Block(nnx.Module):
    """Transformer block: attention and an MLP, each with norm and skip connection."""

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        d_ff: int | None = None,
        *,
        norm: str = "pre",
        norm_kind: str = "layer",
        norm_eps: float = 1e-5,
        activation: str = "gelu",
        dropout: float = 0.0,
        bias: bool = True,
        n_kv_heads: int | None = None,
        rotary: Rotary | None = None,
        gated: bool = False,
        attention: Mapping[str, Any] | None = None,
        experts: Experts | None = None,
        cross_attention: bool = False,
        rngs: nnx.Rngs,
    ):
        check_choice("norm", norm, NORMS)
        new_norm = partial(norm_layer, d_model, kind=norm_kind, eps=norm_eps, rngs=rngs)
        options = {"n_kv_heads": n_kv_heads, "bias": bias, "dropout": dropout}
        attend = partial(MultiHeadAttention, d_model, n_heads, **options, rngs=rngs)
        self.norm = norm
        self.attention_norm = new_norm()
        self.attention = attend(rotary=rotary, **(attention or {}))
        if cross_attention:
            self.cross_attention_norm = new_norm()
        self.cross_attention = attend() if cross_attention else None
        self.feed_forward_norm = new_norm()
        form = {"activation": activation, "gated": gated, "rngs": rngs}
        self.feed_forward = (
            FeedForward(d_model, d_ff, bias=bias, **form)
            if experts is None
            else MixtureOfExperts(d_model, d_ff, experts=experts, **form)
        )
        # Each part's second norm, where there is one.
        two = norm == "sandwich"
        self.attention_post_norm = new_norm() if two else None
        self.feed_forward_post_norm = new_norm() if two else None
        two = two and cross_attention
        self.cross_attention_post_norm = new_norm() if two else None
        self.dropout = nnx.Dropout(dropout, rngs=rngs)

    def __call__(
        self,
        x: Float[Array, "*B T D"],
        memory: Float[Array, "*B S D"] | KeysValues | None = None,
        *,
        mask: Bool[Array, "..."] | None = None,
        memory_mask: Bool[Array, "..."] | None = None,
        causal: bool = False,
        score_bias: Float[Array, "..."] | None = None,
        cache: LayerCache | None = None,
    ) -> Float[Array, "*B T D"]:
        """Attention, cross-attention where there is a memory, then the MLP."""
        check_memory(self.cross_attention is not None, memory)
        attend = partial(
            self.attention, mask=mask, causal=causal, score_bias=score_bias, cache=cache
        )
        x = self.residual(x, self.attention_norm, attend, self.attention_post_norm)
        if self.cross_attention is not None:
            read = partial(self.cross_attention, context=memory, mask=memory_mask)
            post = self.cross_attention_post_norm
            x = self.residual(x, self.cross_attention_norm, read, post)
        post = self.feed_forward_post_norm
        return self.residual(x, self.feed_forward_norm, self.feed_forward, post)

    def residual(
        self, x: Array, norm: Layer, f: Layer, post: Layer | None = None
    ) -> Array:
        """Skip connection: x plus what f adds to it, with the norms of eq. 1 to 4."""
        if post is not None:
            return x + post(self.dropout(f(norm(x))))
        if self.norm == "pre":
            return x + self.dropout(f(norm(x)))
        if self.norm == "post":
            return norm(x + self.dropout(f(x)))
        return x + norm(self.dropout(f(x)))
