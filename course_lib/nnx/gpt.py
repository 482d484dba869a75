r"""GPT: a decoder that predicts the next token (Flax NNX).

    h_0 = W_E[ids] + W_P,   h_l = Block_l(h_(l-1)),   logits = LN(h_L) W_E^T     (eq. 1)

Radford et al. 2018, section 3.1, with the norms and the start of Radford et al. 2019,
section 2.3 (GPT-2). Each position sees itself and what lies before it, so every
position of a sequence is an example: logits at t are about token t + 1.

Departures: positions may also be sinusoidal, rotary, ALiBi or absent, and the blocks
may take any form of block.py. With norm="post" no norm follows the last block, which
ends in one.
"""

from typing import Any

import jax.numpy as jnp
from flax import nnx
from jax import Array
from jaxtyping import Bool, Float, Int

from course_lib.checks import check_ids
from course_lib.config import GPTConfig
from course_lib.nnx.block import Block
from course_lib.nnx.init import normal_start
from course_lib.nnx.linear import linear
from course_lib.nnx.norm import norm_layer
from course_lib.nnx.position import Rotary, added_positions, alibi_bias


class GPT(nnx.Module):
    """Predict each next token from those before it.

    Args:
        config: Sizes and forms.
        rngs: Source of the random start and of dropout.
    """

    def __init__(self, config: GPTConfig, *, rngs: nnx.Rngs):
        self.config = config
        self.tokens = nnx.Embed(config.vocab_size, config.d_model, rngs=rngs)
        self.positions = added_positions(
            config.position, config.max_len, config.d_model, rngs=rngs
        )
        self.dropout = nnx.Dropout(config.dropout, rngs=rngs)
        rotary = Rotary(config.d_head) if config.position == "rotary" else None
        self.blocks = nnx.data(
            [
                Block(**config.block, rotary=rotary, rngs=rngs)
                for _ in range(config.n_layers)
            ]
        )
        norm, head = None, None
        if config.norm != "post":
            norm = norm_layer(
                config.d_model, kind=config.norm_kind, eps=config.norm_eps, rngs=rngs
            )
        if not config.tie_head:
            head = linear(config.d_model, config.vocab_size, bias=False, rngs=rngs)
        self.norm, self.head = norm, head
        normal_start(self, n_residual=2 * config.n_layers, rngs=rngs)

    def __call__(
        self,
        ids: Int[Array, "B T"],
        *,
        mask: Bool[Array, "..."] | None = None,
        cache: Any = None,
    ) -> Float[Array, "B T V"]:
        """Score every token of the vocabulary as the next one, at each position.

        Args:
            ids: Token ids.
            mask: True where a position may attend, besides the past that it always may:
                `padding_mask_from_ids(ids, pad_id)` hides padding, wherever it stands.
            cache: A `KVCache` of what came before `ids`; it takes `ids` in.

        Returns:
            Logits: the softmax of a row is the distribution of the next token.

        Raises:
            ValueError: `ids` is not a batch of whole numbers, or is too long.
        """
        check_ids("ids", ids)
        offset, length = 0 if cache is None else cache.length, ids.shape[1]
        table = self.tokens.embedding[...]
        x = jnp.take(table, ids, axis=0)  # B T D
        if self.positions is not None:
            x = x + self.positions(length, offset, like=x)
        bias = None
        if self.config.position == "alibi":
            n_keys = length if cache is None else cache.max_len
            bias = alibi_bias(
                self.config.n_heads, length, n_keys, offset=offset, like=x
            )
        x = self.dropout(x)
        for i, block in enumerate(self.blocks):
            layer_cache = None if cache is None else cache[i]
            x = block(x, mask=mask, causal=True, score_bias=bias, cache=layer_cache)
        if self.norm is not None:
            x = self.norm(x)
        return x @ table.T if self.head is None else self.head(x)
