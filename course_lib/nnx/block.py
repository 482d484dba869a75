r"""The transformer block and its parts (Flax NNX).

    post:      x <- LN(x + f(x))                                         (eq. 1)
    pre:       x <- x + f(LN(x))                                         (eq. 2)
    res_post:  x <- x + LN(f(x))                                         (eq. 3)

with f attention first, then the feed-forward layer. Eq. 1: Vaswani et al. 2017,
section 3.1, arXiv:1706.03762. Eq. 2: Xiong et al. 2020, arXiv:2002.04745. Eq. 3: Liu
et al. 2022 (Swin Transformer V2), section 3.2, arXiv:2111.09883.

    LN(x) = (x - mean) / sqrt(var + eps) * weight + bias                 (eq. 4)
    RMS(x) = x / sqrt(mean of x^2 + eps) * weight                        (eq. 5)
    FFN(x) = W_down g(W_up x)                                            (eq. 6)
    SwiGLU(x) = W_down (silu(W_gate x) * W_up x)                         (eq. 7)

Eq. 4: Ba et al. 2016, section 3, arXiv:1607.06450. Eq. 5: Zhang and Sennrich 2019,
section 4, arXiv:1910.07467; eps in both stands inside the root, as in the frameworks.
Eq. 6: Vaswani et al. 2017, eq. 2. Eq. 7: Shazeer 2020, eq. 6, arXiv:2002.05202.
"""

from collections.abc import Callable
from typing import Any

import jax
from flax import nnx
from jax import Array
from jaxtyping import Bool, Float

from course_lib.checks import (
    check_choice,
    check_memory,
    check_positive,
    check_rate,
    check_size,
)
from course_lib.config import ACTIVATIONS, NORM_KINDS, NORMS
from course_lib.nnx.linear import linear
from course_lib.nnx.multihead import MultiHeadAttention
from course_lib.nnx.position import Rotary


def activate(x: Float[Array, "*B"], name: str) -> Float[Array, "*B"]:
    """Bend numbers: let the positive through, hold the negative back.

    Args:
        x: Any numbers.
        name: "relu", "gelu" (exact, with the error function), "gelu_tanh" (GPT-2's
            approximation; both in Hendrycks and Gimpel 2016, arXiv:1606.08415) or
            "silu" (also called swish).

    Returns:
        One number for each.

    Raises:
        ValueError: The name is not known.
    """
    check_choice("name", name, ACTIVATIONS[:-1])
    if name == "relu":
        return jax.nn.relu(x)
    if name == "silu":
        return jax.nn.silu(x)
    return jax.nn.gelu(x, approximate=name == "gelu_tanh")


class FeedForward(nnx.Module):
    """Think about each position alone: widen, bend, narrow.

    Args:
        d_model: D, of what comes in and what goes out.
        d_ff: F, the width between; None means 4 D.
        activation: A name for `activate`, or "swiglu", which gates one map with another
            and has half as many parameters again.
        dropout: Share of the output dropped in training.
        bias: Whether the maps add a learned constant.
        rngs: Source of the random start and of dropout.

    Raises:
        ValueError: A size, a rate or the activation's name is not allowed.
    """

    def __init__(
        self,
        d_model: int,
        d_ff: int | None = None,
        *,
        activation: str = "gelu",
        dropout: float = 0.0,
        bias: bool = True,
        rngs: nnx.Rngs,
    ):
        check_size("d_model", d_model)
        d_ff = 4 * d_model if d_ff is None else d_ff
        check_size("d_ff", d_ff)
        check_choice("activation", activation, ACTIVATIONS)
        check_rate("dropout", dropout)
        self.activation = activation
        self.up_proj = linear(d_model, d_ff, bias=bias, rngs=rngs)
        if activation == "swiglu":
            self.gate_proj = linear(d_model, d_ff, bias=bias, rngs=rngs)
        self.down_proj = linear(d_ff, d_model, bias=bias, rngs=rngs)
        self.dropout = nnx.Dropout(dropout, rngs=rngs)

    def __call__(self, x: Float[Array, "*B D"]) -> Float[Array, "*B D"]:
        """Map each vector by itself.

        Args:
            x: Vectors.

        Returns:
            Vectors of the same width.
        """
        hidden = self.up_proj(x)  # *B F
        if self.activation == "swiglu":
            hidden = activate(self.gate_proj(x), "silu") * hidden
        else:
            hidden = activate(hidden, self.activation)
        return self.dropout(self.down_proj(hidden))


class _LayerNorm(nnx.LayerNorm):
    """The framework's layer norm in its fast form, kept exact far from 0.

    Mean of squares minus squared mean is a quarter of a small training step faster than
    the mean of squared differences, and loses digits where the mean is large. A layer
    norm does not see a shift, so each vector first gives up its first entry.
    """

    def __call__(self, x: Array, *, mask: Array | None = None) -> Array:
        return super().__call__(x - jax.lax.stop_gradient(x[..., :1]), mask=mask)


def norm_layer(
    d_model: int, *, kind: str = "layer", eps: float = 1e-5, rngs: nnx.Rngs
) -> nnx.LayerNorm | nnx.RMSNorm:
    """The framework's own norm, with every default written out.

    Args:
        d_model: D.
        kind: "layer" (eq. 4) or "rms" (eq. 5).
        eps: Added inside the root. The frameworks' defaults differ.
        rngs: Every layer of the framework asks for it; nothing here is random.

    Returns:
        A layer whose weight starts at 1 and, for "layer", whose bias starts at 0.

    Raises:
        ValueError: The kind is not known, or a number is not positive.
    """
    check_size("d_model", d_model)
    check_choice("kind", kind, NORM_KINDS)
    check_positive("eps", eps)
    if kind == "rms":
        return nnx.RMSNorm(d_model, epsilon=eps, rngs=rngs)
    return _LayerNorm(d_model, epsilon=eps, use_fast_variance=True, rngs=rngs)


class Block(nnx.Module):
    """Communicate, then think: attention and a feed-forward layer, each with a bypass.

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
        n_kv_heads: As in `MultiHeadAttention`.
        rotary: As in `MultiHeadAttention`; for self-attention only.
        cross_attention: Whether to read a memory between the two parts, as the decoder
            of a translation model does.
        rngs: Source of the random start and of dropout.

    Raises:
        ValueError: A size, a rate or a name is not allowed.
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
        self.norm = norm
        self.attention_norm = norm_layer(
            d_model, kind=norm_kind, eps=norm_eps, rngs=rngs
        )
        self.attention = MultiHeadAttention(
            d_model,
            n_heads,
            n_kv_heads=n_kv_heads,
            bias=bias,
            dropout=dropout,
            rotary=rotary,
            rngs=rngs,
        )
        if cross_attention:
            self.cross_attention_norm = norm_layer(
                d_model, kind=norm_kind, eps=norm_eps, rngs=rngs
            )
            self.cross_attention = MultiHeadAttention(
                d_model,
                n_heads,
                n_kv_heads=n_kv_heads,
                bias=bias,
                dropout=dropout,
                rngs=rngs,
            )
        else:
            self.cross_attention = None
        self.feed_forward_norm = norm_layer(
            d_model, kind=norm_kind, eps=norm_eps, rngs=rngs
        )
        self.feed_forward = FeedForward(
            d_model, d_ff, activation=activation, dropout=dropout, bias=bias, rngs=rngs
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
        cache: Any = None,
    ) -> Float[Array, "*B T D"]:
        """Carry a sequence one layer up.

        Args:
            x: The sequence.
            memory: What cross-attention reads: the encoder's output.
            mask: True where a position may attend to a position of `x`.
            memory_mask: True where a position may attend to a position of `memory`.
            causal: As in `MultiHeadAttention`, for self-attention.
            score_bias: As in `MultiHeadAttention`, for self-attention.
            cache: As in `MultiHeadAttention`, for self-attention; if it holds what was
                read of the memory, that is used and not computed again.

        Returns:
            A sequence of the same shape.

        Raises:
            ValueError: A memory is missing or not wanted, or as `MultiHeadAttention`.
        """
        check_memory(self.cross_attention is not None, memory is not None)

        def listen(h: Array) -> Array:
            return self.dropout(
                self.attention(
                    h, mask=mask, causal=causal, score_bias=score_bias, cache=cache
                )
            )

        x = self._add(x, self.attention_norm, listen)
        if (cross := self.cross_attention) is not None:
            known = None if cache is None else cache.memory
            x = self._add(
                x,
                self.cross_attention_norm,
                lambda h: self.dropout(cross(h, memory, mask=memory_mask, cache=known)),
            )
        return self._add(x, self.feed_forward_norm, self.feed_forward)

    def _add(self, x: Array, norm: nnx.Module, f: Callable[[Array], Array]) -> Array:
        """Eq. 1 to 3: what f finds is added to what was there."""
        if self.norm == "pre":
            return x + f(norm(x))
        if self.norm == "post":
            return norm(x + f(x))
        return x + norm(f(x))
