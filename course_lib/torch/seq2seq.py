r"""The first transformer: an encoder-decoder for translation (PyTorch).

    memory = Encoder(sqrt(D) W_E[source] + PE)                           (eq. 1)
    logits = Decoder(sqrt(D) W_E[target] + PE, memory) W_E^T             (eq. 2)

Vaswani et al. 2017, section 3 and figure 1, arXiv:1706.03762; the three tables W_E are
one (section 3.4), or apart. The decoder's blocks attend to the target's past, then to
the memory (cross-attention). In training all of the target goes in at once, moved one
place to the right (teacher forcing): logits at t, which see the true tokens before t,
are about token t.

Departures: blocks and positions may take other forms than the paper's. Tables start
normal with deviation 1/sqrt(D), as in the authors' code, so that scaled vectors have
entries of size 1; with norm="pre" or "res_post", encoder and decoder end in a norm.
"""

import math
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from course_lib.checks import check_ids, check_positions, check_size
from course_lib.config import Seq2SeqConfig
from course_lib.torch.block import Block
from course_lib.torch.final_norm import final_norm
from course_lib.torch.generation.cache import KVCache
from course_lib.torch.linear import linear
from course_lib.torch.position import (
    Learned,
    Rotary,
    Sinusoidal,
    added_positions,
    alibi_bias,
)


def shift_right(ids: Int[Tensor, "B T"], start_id: int) -> Int[Tensor, "B T"]:
    """Teacher forcing's input: the start token, then the target without its last.

    Args:
        ids: The target that is to be predicted.
        start_id: The token that stands before the first.

    Returns:
        At each position, the target's token of the position before.
    """
    check_ids("ids", ids)
    return torch.cat([torch.full_like(ids[:, :1], start_id), ids[:, :-1]], dim=1)


class Seq2Seq(nn.Module):
    """Encoder-decoder transformer: one sequence into another, such as a translation.

    Args:
        config: Sizes and forms.
    """

    def __init__(self, config: Seq2SeqConfig):
        super().__init__()
        self.config = config
        d_model, std = config.d_model, config.d_model**-0.5
        self.source_tokens = nn.Embedding(config.vocab_size, d_model)
        nn.init.normal_(self.source_tokens.weight, std=std)
        self.target_tokens = None
        if not config.share_embeddings:
            self.target_tokens = nn.Embedding(config.vocab_target, d_model)
            nn.init.normal_(self.target_tokens.weight, std=std)
        self.source_positions, self.target_positions = (
            added_positions(
                config.position,
                config.max_len,
                d_model,
                interleaved=config.interleaved,
            )
            for _ in range(2)
        )
        self.dropout = nn.Dropout(config.dropout)
        rotary = Rotary(config.d_head) if config.position == "rotary" else None
        self.encoder = nn.ModuleList(
            Block(**config.block, rotary=rotary) for _ in range(config.n_layers)
        )
        self.decoder = nn.ModuleList(
            Block(**config.block, rotary=rotary, cross_attention=True)
            for _ in range(config.n_decoder_layers or config.n_layers)
        )
        self.encoder_norm, self.decoder_norm = final_norm(config), final_norm(config)
        self.head, self.head_bias = None, None
        if not config.tie_head:
            self.head = linear(d_model, config.vocab_target, bias=False)
        if config.head_bias:
            self.head_bias = nn.Parameter(torch.zeros(config.vocab_target))

    def encode(
        self,
        source: Int[Tensor, "B S"],
        *,
        source_mask: Bool[Tensor, "..."] | None = None,
    ) -> Float[Tensor, "B S D"]:
        """Encode the source, once.

        Args:
            source: Token ids.
            source_mask: True where a position may attend to the source:
                `padding_mask_from_ids(source, pad_id)`.

        Returns:
            The memory: one vector a token of the source.
        """
        check_ids("source", source, self.config.vocab_size)
        x, bias = self._embed(source, self.source_tokens, self.source_positions)
        for block in self.encoder:
            x = block(x, mask=source_mask, score_bias=bias)
        return self.encoder_norm(x)

    def begin(self, memory: Float[Tensor, "B S D"], max_len: int) -> KVCache:
        """A cache for `decode`, to generate a target token by token.

        It holds cross-attention's keys and values of the memory, computed here once;
        self-attention's are added as tokens come.

        Args:
            memory: What `encode` returned.
            max_len: Tokens that `decode` will be given.

        Returns:
            A cache with no token of the target in it yet.
        """
        check_size("max_len", max_len)
        if self.target_positions is not None:
            check_positions(max_len, 0, self.config.max_len)
        blocks: list[Any] = list(self.decoder)
        heads = blocks[0].attention
        return KVCache(
            len(blocks),
            len(memory),
            heads.n_kv_heads,
            max_len,
            heads.d_head,
            like=memory,
            memories=[block.cross_attention.project_kv(memory) for block in blocks],
        )

    def decode(
        self,
        target: Int[Tensor, "B T"],
        memory: Float[Tensor, "B S D"],
        *,
        source_mask: Bool[Tensor, "..."] | None = None,
        cache: KVCache | None = None,
    ) -> Float[Tensor, "B T V"]:
        """Logits of the next token at each position of the target.

        Args:
            target: Token ids so far, the start token first; see `shift_right`. Padding
                behind a target needs no mask: no token before it attends to it.
            memory: What `encode` returned.
            source_mask: As in `encode`.
            cache: What `begin` returned: holds what came before `target`, takes it in.

        Returns:
            Logits: the softmax of a row is the distribution of the next token.
        """
        tokens = self.target_tokens or self.source_tokens
        check_ids("target", target, tokens.num_embeddings)
        x, bias = self._embed(target, tokens, self.target_positions, cache)
        for i, block in enumerate(self.decoder):
            x = block(
                x,
                memory,
                memory_mask=source_mask,
                causal=True,
                score_bias=bias,
                cache=None if cache is None else cache[i],
            )
        table = tokens.weight if self.head is None else self.head.weight
        return F.linear(self.decoder_norm(x), table, self.head_bias)

    def forward(
        self,
        source: Int[Tensor, "B S"],
        target: Int[Tensor, "B T"],
        *,
        source_mask: Bool[Tensor, "..."] | None = None,
    ) -> Float[Tensor, "B T V"]:
        """Encode and decode, all positions at once; see `encode` and `decode`."""
        memory = self.encode(source, source_mask=source_mask)
        return self.decode(target, memory, source_mask=source_mask)

    def _embed(
        self,
        ids: Tensor,
        tokens: nn.Embedding,
        positions: Learned | Sinusoidal | None,
        cache: KVCache | None = None,
    ) -> tuple[Tensor, Tensor | None]:
        """Vectors of tokens at their positions, and ALiBi's bias if there is one."""
        offset, length = 0 if cache is None else cache.length, ids.shape[1]
        x = tokens(ids)  # B T D
        if self.config.scale_embeddings:
            x = x * math.sqrt(self.config.d_model)
        if positions is not None:
            x = x + positions(length, offset, like=x)
        bias = None
        if self.config.position == "alibi":
            bias = alibi_bias(self.config.n_heads, length, int(offset) + length, like=x)
        return self.dropout(x), bias
