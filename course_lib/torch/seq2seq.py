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
from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from course_lib.checks import check_ids, check_positions
from course_lib.config import Seq2SeqConfig
from course_lib.torch.block import Block
from course_lib.torch.embedding import Embedding
from course_lib.torch.generation.cache import KVCache, span
from course_lib.torch.linear import linear
from course_lib.torch.multihead import KeysValues
from course_lib.torch.norm import final_norm
from course_lib.torch.position.base import Positions
from course_lib.torch.position.schemes import make_positions

__all__ = ["Seq2Seq"]


class Seq2Seq(nn.Module):
    """Encoder-decoder transformer: one sequence into another, such as a translation."""

    def __init__(self, config: Seq2SeqConfig):
        super().__init__()
        self.config = config
        d_model, std = config.d_model, config.d_model**-0.5
        self.source_tokens = Embedding(config.vocab_size, d_model, std=std)
        self.target_tokens = None
        if not config.share_embeddings:
            self.target_tokens = Embedding(config.vocab_target, d_model, std=std)
        self.source_positions = make_positions(config, config.max_len)
        self.target_positions = make_positions(config, config.max_len)
        self.dropout = nn.Dropout(config.dropout)
        rotary = self.source_positions.rotary
        self.encoder = nn.ModuleList(
            Block(**config.block, rotary=rotary) for _ in range(config.n_layers)
        )
        rotary = self.target_positions.rotary
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

    @property
    def vocab_sizes(self) -> tuple[int, int]:
        """How many tokens source and target have."""
        return self.config.vocab_size, self.config.vocab_target

    def encode(
        self,
        source: Int[Tensor, "B S"],
        *,
        source_mask: Bool[Tensor, "..."] | None = None,
    ) -> Float[Tensor, "B S D"]:
        """Read the source: the memory, one vector a token.

        `source_mask` is True where a position may attend to the source, such as
        `padding_mask_from_ids(source, pad_id)`.
        """
        check_ids("source", source, self.config.vocab_size)
        x, bias = self._embed(
            source, self.source_tokens, self.source_positions, mask=source_mask
        )
        for block in self.encoder:
            x = block(x, mask=source_mask, score_bias=bias)
        return self.encoder_norm(x)

    def decode(
        self,
        target: Int[Tensor, "B T"],
        memory: Float[Tensor, "B S D"],
        *,
        source_mask: Bool[Tensor, "..."] | None = None,
    ) -> Float[Tensor, "B T V"]:
        """Logits of the next token at each position of the target.

        The target starts with the start token, and lacks its last (teacher forcing).
        Padding behind it needs no mask: no token before it attends to it.
        """
        return self._decode(target, [memory] * len(self.decoder), source_mask)

    def begin(
        self,
        memory: Float[Tensor, "B S D"],
        max_len: int,
        *,
        source_mask: Bool[Tensor, "..."] | None = None,
    ) -> KVCache:
        """A cache for targets of up to `max_len` tokens, none of them in it yet.

        It holds cross-attention's keys and values of the memory, computed here once.
        """
        if self.target_positions.max_len is not None:
            check_positions(max_len, 0, self.target_positions.max_len)
        c = self.config
        attentions: list[Any] = [block.cross_attention for block in self.decoder]
        return KVCache(
            len(attentions),
            len(memory),
            c.n_kv_heads or c.n_heads,
            max_len,
            c.d_head,
            like=memory,
            memories=[attention.project_kv(memory) for attention in attentions],
            memory_mask=source_mask,
        )

    def read(self, ids: Int[Tensor, "B T"], cache: KVCache) -> Float[Tensor, "B T V"]:
        """Logits after each of the target's newest tokens, which the cache takes in."""
        return self._decode(ids, cache.memories, cache.memory_mask, cache)

    def _decode(
        self,
        ids: Tensor,
        memories: Sequence[Tensor | KeysValues],
        mask: Tensor | None,
        cache: KVCache | None = None,
    ) -> Tensor:
        tokens = self.target_tokens or self.source_tokens
        check_ids("target", ids, tokens.num_embeddings)
        x, bias = self._embed(ids, tokens, self.target_positions, cache)
        for i, block in enumerate(self.decoder):
            own = {"causal": True, "score_bias": bias, "cache": cache and cache[i]}
            x = block(x, memories[i], memory_mask=mask, **own)
        table = tokens.weight if self.head is None else self.head.weight
        return F.linear(self.decoder_norm(x), table, self.head_bias)

    def _embed(
        self,
        ids: Tensor,
        tokens: Embedding,
        positions: Positions,
        cache: KVCache | None = None,
        mask: Tensor | None = None,
    ) -> tuple[Tensor, Tensor | None]:
        """Vectors of tokens at their positions, and the bias of their scores."""
        offset, n_keys = span(cache, ids.shape[1])
        x = tokens(ids)  # B T D
        if self.config.scale_embeddings:
            x = x * math.sqrt(self.config.d_model)
        x = self.dropout(positions.add(x, offset, mask))
        return x, positions.bias(ids.shape[1], n_keys, offset, like=x)
