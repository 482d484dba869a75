r"""Multi-head attention (Flax NNX).

    MultiHead(X, C) = Concat(head_1, ..., head_H) W_O                    (eq. 1)
    head_h = Attention(X W_Q^h, C W_K^h, C W_V^h)

Vaswani et al. 2017, section 3.2.2, arXiv:1706.03762. With fewer key and value heads
than query heads it is grouped-query attention (Ainslie et al. 2023, arXiv:2305.13245),
with one of them multi-query attention (Shazeer 2019, arXiv:1911.02150).

A departure from the paper: projections carry a bias, as BERT's and GPT-2's do.
"""

import jax
import jax.numpy as jnp
from flax import nnx
from jax import Array
from jaxtyping import Bool, Float

from course_lib.nnx.attention import attention
from course_lib.nnx.linear import linear
from course_lib.shapes import (
    check_heads,
    check_inputs,
    check_mask,
    check_rate,
    check_tensors,
)


class MultiHeadAttention(nnx.Module):
    """Look the context up in several learned ways at once, and mix the answers.

    Args:
        d_model: Model width D, of what comes in and what goes out.
        n_heads: Number of query heads H; each is D / H wide.
        n_kv_heads: Number of key and value heads; None means H. Each is shared by an
            equal group of query heads.
        bias: Whether the four projections add a learned constant.
        dropout: Share of the attention weights dropped in training.
        rngs: Source of the random start and of dropout.

    Raises:
        ValueError: The heads do not divide, or the dropout rate is not in [0, 1).
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        *,
        n_kv_heads: int | None = None,
        bias: bool = True,
        dropout: float = 0.0,
        rngs: nnx.Rngs,
    ):
        n_kv_heads = n_heads if n_kv_heads is None else n_kv_heads
        check_heads(d_model, n_heads, n_kv_heads)
        check_rate("dropout", dropout)
        self.n_heads, self.n_kv_heads = n_heads, n_kv_heads
        self.d_head = d_model // n_heads
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
    ) -> Float[Array, "*B T D"]:
        """Let each position of `x` gather what it looks for in `context`.

        Args:
            x: The sequence that asks.
            context: The sequence that answers; None means `x` itself (self-attention).
            mask: True where a query may attend: `T S`, or `*#B #H #T #S`.

        Returns:
            One vector for each position of `x`. A position that may attend to nothing
            gets the output projection's bias.

        Raises:
            ValueError: Shapes, kinds or dtypes do not fit; something is empty.
        """
        q, k, v = self._project(x, context, mask)
        # On a CPU this is faster than jax.nn.dot_product_attention, which wants
        # positions before heads and moves everything round to get them.
        heads, weights = attention(q, k, v, mask=mask)
        if self.dropout.rate > 0 and not self.dropout.deterministic:
            heads = self.dropout(weights) @ v
        return self.o_proj(heads.swapaxes(-3, -2).reshape(x.shape))  # *B T D

    def maps(
        self,
        x: Float[Array, "*B T D"],
        context: Float[Array, "*B S D"] | None = None,
        *,
        mask: Bool[Array, "..."] | None = None,
    ) -> Float[Array, "*B H T S"]:
        """Show who attends to whom: the weights that `__call__` uses, without dropout.

        Args:
            x: The sequence that asks.
            context: The sequence that answers; None means `x` itself.
            mask: True where a query may attend: `T S`, or `*#B #H #T #S`.

        Returns:
            One map a head; each row sums to 1, or is 0 if it may attend to nothing.

        Raises:
            ValueError: As `__call__`.
        """
        q, k, v = self._project(x, context, mask)
        return attention(q, k, v, mask=mask)[1]

    def _project(self, x: Array, context: Array | None, mask: Array | None):
        context = x if context is None else context
        check_tensors(jax.Array, x=x, context=context)
        check_inputs(x.shape, context.shape, self.q_proj.in_features, mask)
        check_mask(mask, (*x.shape[:-2], self.n_heads, x.shape[-2], context.shape[-2]))
        q, k, v = self.q_proj(x), self.k_proj(context), self.v_proj(context)
        q, k, v = (
            t.reshape(*t.shape[:-1], -1, self.d_head).swapaxes(-3, -2)
            for t in (q, k, v)
        )
        group = self.n_heads // self.n_kv_heads
        return q, *(jnp.repeat(t, group, axis=-3) for t in (k, v))
