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
from typing import Any

import jax.numpy as jnp
from flax import nnx
from jax import Array
from jaxtyping import Bool, Float, Int

from course_lib.checks import check_ids, check_positions, check_size
from course_lib.config import Seq2SeqConfig
from course_lib.nnx.block import Block
from course_lib.nnx.final_norm import final_norm
from course_lib.nnx.generation.cache import KVCache
from course_lib.nnx.linear import _normal, linear
from course_lib.nnx.position import (
    Learned,
    Rotary,
    Sinusoidal,
    added_positions,
    alibi_bias,
)


def shift_right(ids: Int[Array, "B T"], start_id: int) -> Int[Array, "B T"]:
    """Teacher forcing's input: the start token, then the target without its last.

    Args:
        ids: The target that is to be predicted.
        start_id: The token that stands before the first.

    Returns:
        At each position, the target's token of the position before.
    """
    check_ids("ids", ids)
    return jnp.concatenate([jnp.full_like(ids[:, :1], start_id), ids[:, :-1]], axis=1)


class Seq2Seq(nnx.Module):
    """Encoder-decoder transformer: one sequence into another, such as a translation.

    Args:
        config: Sizes and forms.
        rngs: Source of the random start and of dropout.
    """

    def __init__(self, config: Seq2SeqConfig, *, rngs: nnx.Rngs):
        self.config = config
        d_model, std = config.d_model, config.d_model**-0.5
        start = _normal(std)
        self.source_tokens = nnx.Embed(
            config.vocab_size, d_model, embedding_init=start, rngs=rngs
        )
        self.target_tokens = (
            None
            if config.share_embeddings
            else nnx.Embed(
                config.vocab_target, d_model, embedding_init=start, rngs=rngs
            )
        )
        self.source_positions, self.target_positions = (
            added_positions(
                config.position,
                config.max_len,
                d_model,
                interleaved=config.interleaved,
                rngs=rngs,
            )
            for _ in range(2)
        )
        self.dropout = nnx.Dropout(config.dropout, rngs=rngs)
        rotary = Rotary(config.d_head) if config.position == "rotary" else None
        self.encoder = nnx.data(
            [
                Block(**config.block, rotary=rotary, rngs=rngs)
                for _ in range(config.n_layers)
            ]
        )
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

    def encode(
        self,
        source: Int[Array, "B S"],
        *,
        source_mask: Bool[Array, "..."] | None = None,
    ) -> Float[Array, "B S D"]:
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

    def begin(self, memory: Float[Array, "B S D"], max_len: int) -> KVCache:
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
        target: Int[Array, "B T"],
        memory: Float[Array, "B S D"],
        *,
        source_mask: Bool[Array, "..."] | None = None,
        cache: KVCache | None = None,
    ) -> Float[Array, "B T V"]:
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
        x = self.decoder_norm(x)
        logits = tokens.attend(x) if self.head is None else self.head(x)
        return logits if self.head_bias is None else logits + self.head_bias[...]

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

    def _embed(
        self,
        ids: Array,
        tokens: nnx.Embed,
        positions: Learned | Sinusoidal | None,
        cache: KVCache | None = None,
    ) -> tuple[Array, Array | None]:
        """Vectors of tokens at their positions, and ALiBi's bias if there is one."""
        offset, length = 0 if cache is None else cache.length, ids.shape[1]
        # Unsigned, so that an id below 0 gives NaN and not the table's last row.
        x = tokens(ids.astype("uint32"))  # B T D
        if self.config.scale_embeddings:
            x = x * math.sqrt(self.config.d_model)
        if positions is not None:
            x = x + positions(length, offset, like=x)
        bias = None
        if self.config.position == "alibi":
            keys = length if cache is None else cache.max_len
            bias = alibi_bias(self.config.n_heads, length, keys, offset=offset, like=x)
        return self.dropout(x), bias
