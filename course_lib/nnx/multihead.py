r"""Multi-head attention (Flax NNX).

    MultiHead(X, C) = Concat(head_1, ..., head_H) W_O                    (eq. 1)
    head_h = Attention(X W_Q^h, C W_K^h, C W_V^h)

Vaswani et al. 2017, section 3.2.2, arXiv:1706.03762. With fewer key and value heads
than query heads it is grouped-query attention, GQA (Ainslie et al. 2023,
arXiv:2305.13245), with one of them multi-query attention, MQA (Shazeer 2019,
arXiv:1911.02150). Departure: projections carry a bias, as in BERT and GPT-2. QK-norm,
an RMS norm of each query and key over its head: Henry et al. 2020, arXiv:2010.04245,
and Qwen3's report, section 2, arXiv:2505.09388; over all heads together: OLMo 2's,
arXiv:2501.00656.
"""

from typing import Any

import jax
from flax import nnx
from jax import Array
from jaxtyping import Bool, Float, Int

from course_lib import checks
from course_lib.config import QKNorm, Scoring
from course_lib.nnx.attention import attention
from course_lib.nnx.fused_attention import (
    fused_attention,
    in_kind,
    narrow_mask,
    repeat_heads,
)
from course_lib.nnx.generation.cache import LayerCache
from course_lib.nnx.linear import linear
from course_lib.nnx.norm import norm_layer
from course_lib.nnx.position.rotary import Rotary

__all__ = ["MultiHeadAttention", "SelfAttention", "merge_heads", "split_heads"]

KeysValues = tuple[Array, Array]  # what project_kv returns: each *B G S Dh


class MultiHeadAttention(nnx.Module):
    """Multi-head attention: several attentions in parallel, each on its projections."""

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        *,
        n_kv_heads: int | None = None,
        bias: bool = True,
        dropout: float = 0.0,
        rotary: Rotary | None = None,
        head_dim: int | None = None,
        o_bias: bool | None = None,
        qk_norm: QKNorm | None = None,
        scoring: Scoring = Scoring(),
        rngs: nnx.Rngs,
    ):
        n_kv_heads = n_heads if n_kv_heads is None else n_kv_heads
        d_head = checks.check_heads(d_model, n_heads, n_kv_heads, head_dim)
        checks.check_rate("dropout", dropout)
        if rotary is not None:
            checks.check_rotary((1, d_head), rotary.d_head)
        self.n_heads, self.d_head = n_heads, d_head
        self.rotary, self.qk_norm, self.scoring = rotary, qk_norm, scoring
        d_q, d_kv = n_heads * d_head, n_kv_heads * d_head
        o_bias = bias if o_bias is None else o_bias
        self.q_proj = linear(d_model, d_q, bias=bias, rngs=rngs)
        self.k_proj = linear(d_model, d_kv, bias=bias, rngs=rngs)
        self.v_proj = linear(d_model, d_kv, bias=bias, rngs=rngs)
        self.o_proj = linear(d_q, d_model, bias=o_bias, rngs=rngs)
        widths = (d_q, d_kv) if qk_norm and qk_norm.whole else (d_head, d_head)
        self.q_norm, self.k_norm = (
            qk_norm and norm_layer(d, kind="rms", eps=qk_norm.eps, rngs=rngs)
            for d in widths
        )
        self.dropout = nnx.Dropout(dropout, rngs=rngs)

    def __call__(
        self,
        x: Float[Array, "*B T D"],
        context: Float[Array, "*B S D"] | KeysValues | None = None,
        *,
        mask: Bool[Array, "..."] | None = None,
        causal: bool = False,
        score_bias: Float[Array, "..."] | None = None,
        cache: LayerCache | None = None,
    ) -> Float[Array, "*B T D"]:
        """Attend from each position of `x` to `context`; without one, to `x` itself."""
        offset = 0 if cache is None else cache.length
        q, k, v = self.project(x, context, cache)
        checks.check_scores(q.shape, k.shape, mask, score_bias, cache)
        rules = {"mask": mask, "score_bias": score_bias, "dropout": self.dropout}
        rules |= {"causal": causal, "offset": offset, "scoring": self.scoring}
        heads = fused_attention(q, k, v, **rules)
        return self.o_proj(merge_heads(heads))  # *B T D

    def maps(
        self,
        x: Float[Array, "*B T D"],
        context: Float[Array, "*B S D"] | KeysValues | None = None,
        *,
        mask: Bool[Array, "..."] | None = None,
        causal: bool = False,
        score_bias: Float[Array, "..."] | None = None,
    ) -> Float[Array, "*B H T S"]:
        """Attention maps: the weights that `__call__` uses, without dropout."""
        q, k, v = self.project(x, context)
        checks.check_scores(q.shape, k.shape, mask, score_bias)
        scoring = self.scoring
        mask = narrow_mask(mask, q, k, causal=causal, window=scoring.window)
        k, v = repeat_heads(k, self.n_heads), repeat_heads(v, self.n_heads)
        rules = {"scale": scoring.scale, "cap": scoring.cap}
        bias = in_kind(score_bias, q)
        return attention(q, k, v, mask=mask, bias=bias, **rules)[1]

    def project(
        self,
        x: Float[Array, "*B T D"],
        context: Float[Array, "*B S D"] | KeysValues | None = None,
        cache: LayerCache | None = None,
    ) -> tuple[Array, Array, Array]:
        """Queries, `*B H T Dh`, keys and values; the cache takes the new ones in."""
        checks.check_context(x, context, self.q_proj.in_features, Array)
        offset = 0 if cache is None else cache.length
        q = self._heads(x, self.q_proj, self.q_norm, offset)
        if isinstance(context, tuple):
            return q, *context
        k, v = self.project_kv(x if context is None else context, offset)
        return (q, k, v) if cache is None else (q, *cache.append(k, v))

    def project_kv(
        self, context: Float[Array, "*B S D"], offset: int | Int[Array, ""] = 0
    ) -> KeysValues:
        """Keys and values, `*B G S Dh`, of a context that starts at `offset`."""
        checks.check_context(context, None, self.q_proj.in_features, Array)
        k = self._heads(context, self.k_proj, self.k_norm, offset)
        return k, split_heads(self.v_proj(context), self.d_head)

    def _heads(self, x: Any, proj: Any, norm: Any, offset: Any) -> Any:
        """A map's heads, normed and turned by their positions."""
        rows, whole = proj(x), self.qk_norm is not None and self.qk_norm.whole
        if norm is not None and whole:
            rows = norm(rows).astype(rows.dtype)  # weights of 32 bits widen it
        heads = split_heads(rows, self.d_head)
        if norm is not None and not whole:
            heads = norm(heads).astype(heads.dtype)
        return heads if self.rotary is None else self.rotary(heads, offset)


class SelfAttention(nnx.Module):
    """Self-attention with one head, without biases: each position attends to all."""

    def __init__(
        self,
        d_model: int,
        d_head: int,
        rotary: Rotary | None = None,
        *,
        rngs: nnx.Rngs,
    ):
        checks.check_sizes(d_model=d_model, d_head=d_head)
        if rotary is not None:
            checks.check_rotary((1, d_head), rotary.d_head)
        self.rotary = rotary
        inward = (linear(d_model, d_head, bias=False, rngs=rngs) for _ in range(3))
        self.q_proj, self.k_proj, self.v_proj = inward
        self.o_proj = linear(d_head, d_model, bias=False, rngs=rngs)

    def __call__(
        self,
        x: Float[Array, "*B T D"],
        mask: Bool[Array, "*#B #T #T"] | None = None,
    ) -> Float[Array, "*B T D"]:
        """Attend from each position of `x` to those that `mask` allows it."""
        checks.check_context(x, None, self.q_proj.in_features, Array)
        q, k, v = self.q_proj(x), self.k_proj(x), self.v_proj(x)
        if self.rotary is not None:
            q, k = self.rotary(q), self.rotary(k)
        return self.o_proj(attention(q, k, v, mask)[0])


def split_heads(x: Float[Array, "*B T D"], d_head: int) -> Float[Array, "*B H T Dh"]:
    """Cut each vector into heads of width `d_head`, and put heads before positions."""
    checks.check_divides("d_head", d_head, "d_model", x.shape[-1])
    return x.reshape(*x.shape[:-1], x.shape[-1] // d_head, d_head).swapaxes(-3, -2)


def merge_heads(heads: Float[Array, "*B H T Dh"]) -> Float[Array, "*B T D"]:
    """Concatenate the heads of each position: `split_heads` undone."""
    return jax.lax.collapse(heads.swapaxes(-3, -2), -2)
