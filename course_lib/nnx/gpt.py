r"""GPT: a decoder-only, autoregressive language model (Flax NNX).

    h_0 = W_E[ids] + W_P,   h_l = Block_l(h_(l-1)),   logits = LN(h_L) W_E^T     (eq. 1)

Radford et al. 2018, section 3.1, with the norms and the start of Radford et al. 2019,
section 2.3 (GPT-2). Each position sees itself and what lies before it, so every
position of a sequence is an example (teacher forcing): logits at t are about token
t + 1.

Departures: positions may also be sinusoidal, rotary, ALiBi or absent, and the blocks
may take any form of block.py. With norm="post" no norm follows the last block, which
ends in one.
"""

from flax import nnx
from jax import Array
from jaxtyping import Bool, Float, Int

from course_lib.checks import check_ids
from course_lib.config import GPTConfig
from course_lib.nnx.block import Block
from course_lib.nnx.final_norm import final_norm
from course_lib.nnx.generation.cache import KVCache
from course_lib.nnx.init import normal_start
from course_lib.nnx.linear import linear
from course_lib.nnx.position import Rotary, added_positions, alibi_bias


class GPT(nnx.Module):
    """GPT: predict each next token from those before it.

    Args:
        config: Sizes and forms.
        rngs: Source of the random start and of dropout.
    """

    def __init__(self, config: GPTConfig, *, rngs: nnx.Rngs):
        self.config, d_model = config, config.d_model
        self.tokens = nnx.Embed(config.vocab_size, d_model, rngs=rngs)
        self.positions = added_positions(
            config.position, config.max_len, d_model, rngs=rngs
        )
        self.dropout = nnx.Dropout(config.dropout, rngs=rngs)
        rotary = Rotary(config.d_head) if config.position == "rotary" else None
        self.blocks = nnx.data(
            [
                Block(**config.block, rotary=rotary, rngs=rngs)
                for _ in range(config.n_layers)
            ]
        )
        self.norm = final_norm(config, rngs=rngs)
        head = None
        if not config.tie_head:
            head = linear(d_model, config.vocab_size, bias=False, rngs=rngs)
        self.head = head
        normal_start(self, n_residual=2 * config.n_layers, rngs=rngs)

    def __call__(
        self,
        ids: Int[Array, "B T"],
        *,
        mask: Bool[Array, "..."] | None = None,
        cache: KVCache | None = None,
    ) -> Float[Array, "B T V"]:
        """Logits of the next token at each position.

        Args:
            ids: Token ids.
            mask: True where a position may attend, besides the past that it always may:
                `padding_mask_from_ids(ids, pad_id)` hides padding, wherever it stands.
            cache: Holds what came before `ids`; it takes `ids` in.

        Returns:
            Logits: the softmax of a row is the distribution of the next token.
        """
        check_ids("ids", ids, self.config.vocab_size)
        offset, length = 0 if cache is None else cache.length, ids.shape[1]
        # Unsigned, so that an id below 0 gives NaN and not the table's last row.
        x = self.tokens(ids.astype("uint32"))  # B T D
        if self.positions is not None:
            x = x + self.positions(length, offset, like=x)
        bias = None
        if self.config.position == "alibi":
            keys = length if cache is None else cache.max_len
            bias = alibi_bias(self.config.n_heads, length, keys, offset=offset, like=x)
        x = self.dropout(x)
        for i, block in enumerate(self.blocks):
            layer = None if cache is None else cache[i]
            x = block(x, mask=mask, causal=True, score_bias=bias, cache=layer)
        x = self.norm(x)
        return self.tokens.attend(x) if self.head is None else self.head(x)
