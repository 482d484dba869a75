r"""The transformer block (Flax NNX).

    post:      x <- LN(x + f(x))                                         (eq. 1)
    pre:       x <- x + f(LN(x))                                         (eq. 2)
    res_post:  x <- x + LN(f(x))                                         (eq. 3)

with f attention first, then the feed-forward network. Eq. 1: Vaswani et al. 2017,
section 3.1, arXiv:1706.03762. Eq. 2: Xiong et al. 2020, arXiv:2002.04745. Eq. 3: Liu
et al. 2022 (Swin Transformer V2), section 3.2, arXiv:2111.09883.
"""

from collections.abc import Callable
from functools import partial

from flax import nnx
from jax import Array
from jaxtyping import Bool, Float

from course_lib.checks import check_choice, check_memory
from course_lib.config import NORMS
from course_lib.nnx.feed_forward import FeedForward
from course_lib.nnx.generation.cache import LayerCache
from course_lib.nnx.multihead import MultiHeadAttention
from course_lib.nnx.norm import norm_layer
from course_lib.nnx.position import Rotary


class Block(nnx.Module):
    """Transformer block: attention and an MLP, each with a norm and a skip connection.

    Args:
        d_model: D.
        n_heads: H.
        d_ff: F; None means 4 D.
        norm: Where the norm stands: "pre", "post" or "res_post".
        norm_kind: "layer" or "rms".
        norm_eps: What the norms add inside the root.
        activation: As in `FeedForward`.
        dropout: Share of attention weights, and of each part's output, dropped in
            training.
        bias: Whether the linear maps add a learned constant.
        n_kv_heads: As in `MultiHeadAttention`, and so is `rotary`.
        rotary: For self-attention only.
        cross_attention: Whether to read a memory between the two parts, as the decoder
            of a translation model does.
        rngs: Source of the random start and of dropout.
    """

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
        cross_attention: bool = False,
        rngs: nnx.Rngs,
    ):
        check_choice("norm", norm, NORMS)
        new_norm = partial(norm_layer, d_model, kind=norm_kind, eps=norm_eps, rngs=rngs)
        attend = partial(
            MultiHeadAttention,
            d_model,
            n_heads,
            n_kv_heads=n_kv_heads,
            bias=bias,
            dropout=dropout,
            rngs=rngs,
        )
        self.norm = norm
        self.attention_norm = new_norm()
        self.attention = attend(rotary=rotary)
        if cross_attention:
            self.cross_attention_norm = new_norm()
        self.cross_attention = attend() if cross_attention else None
        self.feed_forward_norm = new_norm()
        self.feed_forward = FeedForward(
            d_model, d_ff, activation=activation, bias=bias, rngs=rngs
        )
        self.dropout = nnx.Dropout(dropout, rngs=rngs)

    def __call__(
        self,
        x: Float[Array, "*B T D"],
        memory: Float[Array, "*B S D"] | None = None,
        *,
        mask: Bool[Array, "..."] | None = None,
        memory_mask: Bool[Array, "..."] | None = None,
        causal: bool = False,
        score_bias: Float[Array, "..."] | None = None,
        cache: LayerCache | None = None,
    ) -> Float[Array, "*B T D"]:
        """Attention, cross-attention where there is a memory, then the MLP.

        `mask`, `causal`, `score_bias` and `cache` are self-attention's, as in
        `MultiHeadAttention`; the cache may hold the memory's keys and values, too.
        `memory` is what cross-attention reads, the encoder's output, and `memory_mask`
        is True where a position may attend to one of it.
        """
        known = None if cache is None else cache.memory
        check_memory(self.cross_attention is not None, memory, known)
        attend = partial(
            self.attention, mask=mask, causal=causal, score_bias=score_bias, cache=cache
        )
        x = self.residual(x, self.attention_norm, attend)
        if self.cross_attention is not None:
            read = partial(
                self.cross_attention, context=known or memory, mask=memory_mask
            )
            x = self.residual(x, self.cross_attention_norm, read)
        return self.residual(x, self.feed_forward_norm, self.feed_forward)

    def residual(
        self,
        x: Float[Array, "*B T D"],
        norm: Callable[[Array], Array],
        f: Callable[[Array], Array],
    ) -> Float[Array, "*B T D"]:
        """Skip connection: x plus what f adds to it, with the norm of eq. 1, 2 or 3."""
        if self.norm == "pre":
            return x + self.dropout(f(norm(x)))
        if self.norm == "post":
            return norm(x + self.dropout(f(x)))
        return x + norm(self.dropout(f(x)))
