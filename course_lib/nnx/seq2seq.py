r"""The first transformer: an encoder, and a decoder that reads it (Flax NNX).

    memory = Encoder(sqrt(D) W_E[source] + PE)                           (eq. 1)
    logits = Decoder(sqrt(D) W_E[target] + PE, memory) W_E^T             (eq. 2)

Vaswani et al. 2017, section 3 and figure 1, arXiv:1706.03762; the three tables W_E are
one (section 3.4), or apart. The decoder's blocks look back at the target, then read the
memory. In training the target is known and all of it goes in at once, moved one place
to the right: logits at t, which see the true tokens before t, are about token t.

Departures: the forms of block.py and the positions of position.py may be others than
the paper's. Tables start normal with deviation 1/sqrt(D), as in the authors' code, so
that scaled vectors have entries of size 1; with norm="pre" or "res_post", encoder and
decoder end in a norm.
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
from course_lib.nnx.generation.cache import KVCache
from course_lib.nnx.linear import _normal, linear
from course_lib.nnx.norm import norm_layer
from course_lib.nnx.position import Rotary, added_positions, alibi_bias


def shift_right(ids: Int[Array, "B T"], start_id: int) -> Int[Array, "B T"]:
    """Make the decoder's input from the target: the start token, then all but the last.

    Args:
        ids: The target that is to be predicted.
        start_id: The token that stands before the first.

    Returns:
        At each position, the target's token of the position before.

    Raises:
        ValueError: `ids` is not a batch of whole numbers.
    """
    check_ids("ids", ids)
    return jnp.concatenate([jnp.full_like(ids[:, :1], start_id), ids[:, :-1]], axis=1)


class Seq2Seq(nnx.Module):
    """Turn one sequence into another: a sentence into its translation.

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
        encoder_norm, decoder_norm = None, None
        if config.norm != "post":
            kind, eps = config.norm_kind, config.norm_eps
            encoder_norm = norm_layer(d_model, kind=kind, eps=eps, rngs=rngs)
            decoder_norm = norm_layer(d_model, kind=kind, eps=eps, rngs=rngs)
        self.encoder_norm, self.decoder_norm = encoder_norm, decoder_norm
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
        """Read the source, once.

        Args:
            source: Token ids.
            source_mask: True where a position may attend to the source:
                `padding_mask_from_ids(source, pad_id)`.

        Returns:
            The memory: one vector a token of the source.

        Raises:
            ValueError: `source` is not a batch of whole numbers, or is too long.
        """
        check_ids("source", source)
        x = self._embed(source, self.source_tokens, self.source_positions, 0)
        bias = self._bias(source.shape[1], source.shape[1], 0, x)
        for block in self.encoder:
            x = block(x, mask=source_mask, score_bias=bias)
        return x if self.encoder_norm is None else self.encoder_norm(x)

    def begin(self, memory: Float[Array, "B S D"], max_len: int) -> KVCache:
        """Prepare for writing a target token by token: `decode`'s cache.

        What cross-attention needs of the memory is computed here, once; what
        self-attention needs of the target is kept as it comes.

        Args:
            memory: What `encode` returned.
            max_len: Tokens that `decode` will be given.

        Returns:
            A cache in which nothing of the target stands yet.

        Raises:
            ValueError: `max_len` is no size, or more than the model has positions.
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
        cache: Any = None,
    ) -> Float[Array, "B T V"]:
        """Score every token as the next one, at each position of the target.

        Args:
            target: Token ids so far, the start token first; see `shift_right`. Padding
                behind a target needs no mask: nothing before it looks that way.
            memory: What `encode` returned.
            source_mask: As in `encode`.
            cache: What `begin` returned: a `KVCache` of what came before `target`; it
                takes `target` in.

        Returns:
            Logits: the softmax of a row is the distribution of the next token.

        Raises:
            ValueError: `target` is not a batch of whole numbers, or is too long.
        """
        check_ids("target", target)
        tokens = self.target_tokens or self.source_tokens
        offset, length = 0 if cache is None else cache.length, target.shape[1]
        x = self._embed(target, tokens, self.target_positions, offset)
        n_keys = length if cache is None else cache.max_len
        bias = self._bias(length, n_keys, offset, x)
        for i, block in enumerate(self.decoder):
            x = block(
                x,
                memory,
                memory_mask=source_mask,
                causal=True,
                score_bias=bias,
                cache=None if cache is None else cache[i],
            )
        if self.decoder_norm is not None:
            x = self.decoder_norm(x)
        head = self.head
        logits = x @ tokens.embedding[...].T if head is None else head(x)
        return logits if self.head_bias is None else logits + self.head_bias[...]

    def __call__(
        self,
        source: Int[Array, "B S"],
        target: Int[Array, "B T"],
        *,
        source_mask: Bool[Array, "..."] | None = None,
    ) -> Float[Array, "B T V"]:
        """Read the source and score the target, all positions at once.

        Args:
            source: Token ids.
            target: Token ids, moved to the right; see `shift_right`.
            source_mask: As in `encode`.

        Returns:
            Logits, as `decode`.

        Raises:
            ValueError: As `encode` and `decode`.
        """
        memory = self.encode(source, source_mask=source_mask)
        return self.decode(target, memory, source_mask=source_mask)

    def _embed(
        self,
        ids: Array,
        tokens: nnx.Embed,
        positions: nnx.Module | None,
        offset: int | Array,
    ) -> Array:
        x = jnp.take(tokens.embedding[...], ids, axis=0)  # B T D
        if self.config.scale_embeddings:
            x = x * math.sqrt(self.config.d_model)
        if positions is not None:
            x = x + positions(ids.shape[1], offset, like=x)
        return self.dropout(x)

    def _bias(self, n_queries: int, n_keys: int, offset: int | Array, x: Array):
        """What is added to the scores of self-attention, if anything is."""
        if self.config.position != "alibi":
            return None
        return alibi_bias(self.config.n_heads, n_queries, n_keys, offset=offset, like=x)
