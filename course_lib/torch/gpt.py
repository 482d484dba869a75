r"""GPT: a decoder-only, autoregressive language model (PyTorch).

    h_0 = W_E[ids] + W_P,   h_l = Block_l(h_(l-1)),   logits = LN(h_L) W_E^T     (eq. 1)

Radford et al. 2018, section 3.1, with the norms and the start of Radford et al. 2019,
section 2.3 (GPT-2). Each position sees itself and what lies before it, so every
position of a sequence is an example (teacher forcing): logits at t are about token
t + 1.

Departures: positions may also be sinusoidal, rotary, ALiBi or absent, and the blocks
may take any form of block.py. With norm="post" no norm follows the last block, which
ends in one.
"""

import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from course_lib.checks import check_ids
from course_lib.config import GPTConfig
from course_lib.torch.block import Block
from course_lib.torch.final_norm import final_norm
from course_lib.torch.generation.cache import KVCache
from course_lib.torch.init import normal_start
from course_lib.torch.linear import linear
from course_lib.torch.position import Rotary, added_positions, alibi_bias


class GPT(nn.Module):
    """GPT: predict each next token from those before it.

    Args:
        config: Sizes and forms.
    """

    def __init__(self, config: GPTConfig):
        super().__init__()
        self.config, d_model = config, config.d_model
        self.tokens = nn.Embedding(config.vocab_size, d_model)
        self.positions = added_positions(config.position, config.max_len, d_model)
        self.dropout = nn.Dropout(config.dropout)
        rotary = Rotary(config.d_head) if config.position == "rotary" else None
        self.blocks = nn.ModuleList(
            Block(**config.block, rotary=rotary) for _ in range(config.n_layers)
        )
        self.norm = final_norm(config)
        self.head = None
        if not config.tie_head:
            self.head = linear(d_model, config.vocab_size, bias=False)
        normal_start(self, n_residual=2 * config.n_layers)

    def forward(
        self,
        ids: Int[Tensor, "B T"],
        *,
        mask: Bool[Tensor, "..."] | None = None,
        cache: KVCache | None = None,
    ) -> Float[Tensor, "B T V"]:
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
        x = self.tokens(ids)  # B T D
        if self.positions is not None:
            x = x + self.positions(length, offset, like=x)
        bias = None
        if self.config.position == "alibi":
            bias = alibi_bias(self.config.n_heads, length, int(offset) + length, like=x)
        x = self.dropout(x)
        for i, block in enumerate(self.blocks):
            layer = None if cache is None else cache[i]
            x = block(x, mask=mask, causal=True, score_bias=bias, cache=layer)
        x = self.norm(x)
        return F.linear(x, self.tokens.weight) if self.head is None else self.head(x)
