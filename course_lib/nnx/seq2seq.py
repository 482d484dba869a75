r"""The first transformer: an encoder-decoder for translation (Flax NNX).

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

import jax.numpy as jnp
from flax import nnx
from jax import Array
from jaxtyping import Bool, Float, Int

from course_lib.checks import check_ids, check_positions
from course_lib.config import Seq2SeqConfig
from course_lib.nnx.block import Block
from course_lib.nnx.embedding import Embedding
from course_lib.nnx.generation.cache import KVCache, span
from course_lib.nnx.linear import linear
from course_lib.nnx.multihead import KeysValues
from course_lib.nnx.norm import final_norm
from course_lib.nnx.position.base import Positions
from course_lib.nnx.position.schemes import make_positions

__all__ = ["Seq2Seq"]


class Seq2Seq(nnx.Module):
    """Encoder-decoder transformer: one sequence into another, such as a translation."""

    def __init__(self, config: Seq2SeqConfig, *, rngs: nnx.Rngs):
        self.config = config
        d_model, std = config.d_model, config.d_model**-0.5
        self.source_tokens = Embedding(config.vocab_size, d_model, std=std, rngs=rngs)
        target_tokens = None
        if not config.share_embeddings:
            target_tokens = Embedding(config.vocab_target, d_model, std=std, rngs=rngs)
        self.target_tokens = target_tokens
        self.source_positions = make_positions(config, config.max_len, rngs=rngs)
        self.target_positions = make_positions(config, config.max_len, rngs=rngs)
        self.dropout = nnx.Dropout(config.dropout, rngs=rngs)
        rotary = self.source_positions.rotary
        self.encoder = nnx.data(
            [
                Block(**config.block, rotary=rotary, rngs=rngs)
                for _ in range(config.n_layers)
            ]
        )
        rotary = self.target_positions.rotary
        self.decoder = nnx.data(
            [
                Block(**config.block, rotary=rotary, cross_attention=True, rngs=rngs)
                for _ in range(config.n_decoder_layers or config.n_layers)
            ]
        )
        self.encoder_norm = final_norm(config, rngs=rngs)
        self.decoder_norm = final_norm(config, rngs=rngs)
        head, head_bias = None, None
        if not config.tie_head:
            head = linear(d_model, config.vocab_target, bias=False, rngs=rngs)
        if config.head_bias:
            head_bias = nnx.Param(jnp.zeros(config.vocab_target, jnp.float32))
        self.head, self.head_bias = head, head_bias

    def __call__(
        self,
        source: Int[Array, "B S"],
        target: Int[Array, "B T"],
        *,
        source_mask: Bool[Array, "..."] | None = None,
    ) -> Float[Array, "B T V"]:
        """Encode and decode, all positions at once; see `encode` and `decode`."""
        memory = self.encode(source, source_mask=source_mask)
        return self.decode(target, memory, source_mask=source_mask)

    @property
    def vocab_sizes(self) -> tuple[int, int]:
        """How many tokens source and target have."""
        return self.config.vocab_size, self.config.vocab_target

    def encode(
        self,
        source: Int[Array, "B S"],
        *,
        source_mask: Bool[Array, "..."] | None = None,
    ) -> Float[Array, "B S D"]:
        """Read the source: the memory, one vector a token."""
        check_ids("source", source, self.config.vocab_size)
        x, bias = self._embed(
            source, self.source_tokens, self.source_positions, mask=source_mask
        )
        for block in self.encoder:
            x = block(x, mask=source_mask, score_bias=bias)
        return self.encoder_norm(x)

    def decode(
        self,
        target: Int[Array, "B T"],
        memory: Float[Array, "B S D"],
        *,
        source_mask: Bool[Array, "..."] | None = None,
    ) -> Float[Array, "B T V"]:
        """Logits of the next token at each position of the target."""
        return self._decode(target, [memory] * len(self.decoder), source_mask)

    def begin(
        self,
        memory: Float[Array, "B S D"],
        max_len: int,
        *,
        source_mask: Bool[Array, "..."] | None = None,
    ) -> KVCache:
        """A cache for targets of up to `max_len` tokens, none of them in it yet."""
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

    def read(self, ids: Int[Array, "B T"], cache: KVCache) -> Float[Array, "B T V"]:
        """Logits after each of the target's newest tokens, which the cache takes in."""
        return self._decode(ids, cache.memories, cache.memory_mask, cache)

    def _decode(
        self,
        ids: Array,
        memories: Sequence[Array | KeysValues],
        mask: Array | None,
        cache: KVCache | None = None,
    ) -> Array:
        tokens = self.target_tokens or self.source_tokens
        check_ids("target", ids, tokens.num_embeddings)
        x, bias = self._embed(ids, tokens, self.target_positions, cache)
        for i, block in enumerate(self.decoder):
            own = {"causal": True, "score_bias": bias, "cache": cache and cache[i]}
            x = block(x, memories[i], memory_mask=mask, **own)
        x = self.decoder_norm(x)
        logits = tokens.attend(x) if self.head is None else self.head(x)
        return logits if self.head_bias is None else logits + self.head_bias[...]

    def _embed(
        self,
        ids: Array,
        tokens: Embedding,
        positions: Positions,
        cache: KVCache | None = None,
        mask: Array | None = None,
    ) -> tuple[Array, Array | None]:
        """Vectors of tokens at their positions, and the bias of their scores."""
        offset, n_keys = span(cache, ids.shape[1])
        x = tokens(ids)  # B T D
        if self.config.scale_embeddings:
            x = x * math.sqrt(self.config.d_model)
        x = self.dropout(positions.add(x, offset, mask))
        return x, positions.bias(ids.shape[1], n_keys, offset, like=x)
