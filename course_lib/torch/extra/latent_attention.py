r"""Latent attention (MLA): keys and values made from one short vector (PyTorch).

    c_s = RMS(W_DKV x_s),    r_s = RoPE(W_KR x_s)                        (eq. 1)
    k_s^h = [W_UK^h c_s; r_s],    v_s^h = W_UV^h c_s                     (eq. 2)
    q^h · k_s^h = (transpose(W_UK^h) q_C^h) · c_s + q_R^h · r_s          (eq. 3)
    sum_s a_s v_s^h = W_UV^h (sum_s a_s c_s)                             (eq. 4)

with queries q^h = [q_C^h; q_R^h], of which RoPE turns q_R. DeepSeek-AI 2024
(DeepSeek-V2), section 2.1, arXiv:2405.04434; the RMS norms are those of section 3.1.2.
The cache holds c_s and r_s alone. Eq. 2 makes all keys and values anew, which suits
training; eq. 3 and 4, the absorbed form, give the same numbers without them, for a
model that writes.
"""

from functools import partial

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from course_lib import checks
from course_lib.torch.fused_attention import fused_attention, repeat_heads
from course_lib.torch.generation.cache import LayerCache
from course_lib.torch.linear import linear
from course_lib.torch.multihead import merge_heads, split_heads
from course_lib.torch.norm import norm_layer
from course_lib.torch.position.rotary import Rotary

__all__ = ["LatentAttention"]


class LatentAttention(nn.Module):
    """Multi-head latent attention (MLA): a cache of one short vector for all heads.

    That vector is `d_latent` wide. A head compares `d_head` numbers made from it, and
    `rotary.d_head` that are turned, whose key all heads share. Queries are made from a
    short vector of their own, `d_query_latent` wide; None means from x. `eps` is that
    of both vectors' RMS norms. No map has a bias.
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        *,
        d_latent: int,
        d_head: int,
        rotary: Rotary,
        d_query_latent: int | None = None,
        eps: float = 1e-6,
    ):
        super().__init__()
        d_query = d_model if d_query_latent is None else d_query_latent
        checks.check_sizes(d_model=d_model, n_heads=n_heads, d_latent=d_latent)
        checks.check_sizes(d_head=d_head, d_query_latent=d_query)
        self.d_head, self.rotary = d_head, rotary
        project, rms = partial(linear, bias=False), partial(norm_layer, kind="rms")
        short = d_query_latent is not None
        self.q_down_proj = project(d_model, d_query) if short else nn.Identity()
        self.q_norm = rms(d_query, eps=eps) if short else nn.Identity()
        self.q_proj = project(d_query, n_heads * (d_head + rotary.d_head))
        self.latent_proj = project(d_model, d_latent)  # W_DKV
        self.latent_norm = rms(d_latent, eps=eps)
        self.rotary_proj = project(d_model, rotary.d_head)  # W_KR
        self.k_proj = project(d_latent, n_heads * d_head)  # W_UK
        self.v_proj = project(d_latent, n_heads * d_head)  # W_UV
        self.o_proj = project(n_heads * d_head, d_model)

    def forward(
        self,
        x: Float[Tensor, "*B T D"],
        *,
        mask: Bool[Tensor, "..."] | None = None,
        causal: bool = False,
        cache: LayerCache | None = None,
        absorbed: bool = False,
    ) -> Float[Tensor, "*B T D"]:
        """Attend from each position of `x` to all of them.

        Args:
            x: The sequence.
            mask: True where a query may attend: `T S`, or `*#B #H #T #S`.
            causal: Whether, besides, a query may attend to no later position.
            cache: Puts r and c of `x` behind those before; S counts all. It has one
                head, `d_head=rotary.d_head` and `d_value=d_latent`.
            absorbed: Whether to use eq. 3 and 4, else eq. 2.
        """
        checks.check_context(x, None, self.latent_proj.in_features, Tensor)
        d, d_turned = self.d_head, self.rotary.d_head
        offset = 0 if cache is None else cache.length
        q = split_heads(self.q_proj(self.q_norm(self.q_down_proj(x))), d + d_turned)
        q, q_turned = q.split([d, d_turned], dim=-1)
        c = self.latent_norm(self.latent_proj(x))[..., None, :, :]  # *B 1 T C
        r = self.rotary(self.rotary_proj(x), offset)[..., None, :, :]  # *B 1 T R
        if cache is not None:
            r, c = cache.append(r, c)
        # What turns a row c into a head's key and value: H C Dh.
        w_k, w_v = (split_heads(f.weight.T, d) for f in (self.k_proj, self.v_proj))
        if absorbed:  # all heads have one key and one value
            q, k, v = q @ w_k.mT, c, c
        else:
            k, v, r = c @ w_k, c @ w_v, repeat_heads(r, len(w_k))
        q = torch.cat([q, self.rotary(q_turned, offset)], dim=-1)
        k = torch.cat([k, r], dim=-1)
        checks.check_scores(q.shape, k.shape, mask, None, cache)
        rules = {"mask": mask, "scale": (d + d_turned) ** -0.5}
        heads = fused_attention(q, k, v, causal=causal, offset=offset, **rules)
        return self.o_proj(merge_heads(heads @ w_v if absorbed else heads))  # *B T D
