r"""Multi-head attention (PyTorch).

    MultiHead(X, C) = Concat(head_1, ..., head_H) W_O                    (eq. 1)
    head_h = Attention(X W_Q^h, C W_K^h, C W_V^h)

Vaswani et al. 2017, section 3.2.2, arXiv:1706.03762. With fewer key and value heads
than query heads it is grouped-query attention (Ainslie et al. 2023, arXiv:2305.13245),
with one of them multi-query attention (Shazeer 2019, arXiv:1911.02150).

A departure from the paper: projections carry a bias, as BERT's and GPT-2's do.
"""

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

from course_lib.shapes import (
    check_heads,
    check_inputs,
    check_mask,
    check_rate,
    check_tensors,
)
from course_lib.torch.attention import attention
from course_lib.torch.linear import linear


class MultiHeadAttention(nn.Module):
    """Look the context up in several learned ways at once, and mix the answers.

    Args:
        d_model: Model width D, of what comes in and what goes out.
        n_heads: Number of query heads H; each is D / H wide.
        n_kv_heads: Number of key and value heads; None means H. Each is shared by an
            equal group of query heads.
        bias: Whether the four projections add a learned constant.
        dropout: Share of the attention weights dropped in training.

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
    ):
        super().__init__()
        n_kv_heads = n_heads if n_kv_heads is None else n_kv_heads
        check_heads(d_model, n_heads, n_kv_heads)
        check_rate("dropout", dropout)
        self.n_heads, self.n_kv_heads, self.dropout = n_heads, n_kv_heads, dropout
        self.d_head = d_model // n_heads
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
    ) -> Float[Tensor, "*B T D"]:
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
        heads = F.scaled_dot_product_attention(
            q,
            k,
            v,
            attn_mask=mask,
            dropout_p=self.dropout if self.training else 0.0,
            enable_gqa=self.n_kv_heads != self.n_heads,
        )
        return self.o_proj(heads.transpose(-3, -2).flatten(-2))  # *B T D

    def maps(
        self,
        x: Float[Tensor, "*B T D"],
        context: Float[Tensor, "*B S D"] | None = None,
        *,
        mask: Bool[Tensor, "..."] | None = None,
    ) -> Float[Tensor, "*B H T S"]:
        """Show who attends to whom: the weights that `forward` uses, without dropout.

        Args:
            x: The sequence that asks.
            context: The sequence that answers; None means `x` itself.
            mask: True where a query may attend: `T S`, or `*#B #H #T #S`.

        Returns:
            One map a head; each row sums to 1, or is 0 if it may attend to nothing.

        Raises:
            ValueError: As `forward`.
        """
        q, k, v = self._project(x, context, mask)
        group = self.n_heads // self.n_kv_heads
        k, v = (t.repeat_interleave(group, dim=-3) for t in (k, v))
        return attention(q, k, v, mask=mask)[1]

    def _project(self, x: Tensor, context: Tensor | None, mask: Tensor | None):
        context = x if context is None else context
        check_tensors(torch.Tensor, x=x, context=context)
        check_inputs(x.shape, context.shape, self.q_proj.in_features, mask)
        check_mask(mask, (*x.shape[:-2], self.n_heads, x.shape[-2], context.shape[-2]))
        q, k, v = self.q_proj(x), self.k_proj(context), self.v_proj(context)
        return tuple(
            t.unflatten(-1, (-1, self.d_head)).transpose(-3, -2) for t in (q, k, v)
        )
