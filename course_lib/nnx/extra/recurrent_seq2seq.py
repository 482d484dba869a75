"""Sequence to sequence with LSTMs, without attention or with Bahdanau's (Flax NNX).

    h_s = [LSTM forward ; LSTM backward] at each source token            (the memory)
    c_t = sum_s a_ts h_s,   a_t = softmax_s(w^T tanh(W_Q z_{t-1} + W_K h_s))   (eq. 1)
    z_t = LSTM([y_t ; c_t], z_{t-1}),   logits_t = W tanh(W' [z_t ; y_t ; c_t])

Eq. 1: Bahdanau et al. 2014, arXiv:1409.0473. Without attention, c_t is the same at each
step: the last state of either direction (Sutskever et al. 2014, arXiv:1409.3215).

Departures: Bahdanau's gated units are LSTMs here and its maxout layer a tanh.
"""

import jax.numpy as jnp
from flax import nnx
from jax import Array, lax
from jaxtyping import Bool, Float, Int

from course_lib.checks import check_even, check_ids, check_rate, check_size
from course_lib.nnx.extra.additive_attention import (
    AdditiveAttention,
    additive_attention,
)
from course_lib.nnx.extra.recurrent import LSTM
from course_lib.nnx.linear import linear, normal

__all__ = ["RecurrentCache", "RecurrentSeq2Seq"]


class RecurrentCache(nnx.Module):
    """State of autoregressive decoding: hidden state, cell, and what is read anew."""

    def __init__(
        self,
        h: Float[Array, "B D"],
        c: Float[Array, "B D"],
        memory: Float[Array, "B S D"],
        keys: Float[Array, "B S D"] | None,
        memory_mask: Bool[Array, "B 1 1 S"] | None,
    ):
        self.h, self.c = nnx.Cache(h), nnx.Cache(c)
        self.memory, self.keys = nnx.data(memory), nnx.data(keys)
        self.memory_mask = nnx.data(memory_mask)


class RecurrentSeq2Seq(nnx.Module):
    """Recurrent encoder-decoder for translation, with or without attention."""

    def __init__(
        self,
        source_vocab_size: int,
        target_vocab_size: int,
        d_model: int,
        *,
        attend: bool = True,
        dropout: float = 0.0,
        rngs: nnx.Rngs,
    ):
        check_size("source_vocab_size", source_vocab_size)
        check_size("target_vocab_size", target_vocab_size)
        check_even("d_model", d_model, "each reading direction gets half of it")
        check_rate("dropout", dropout)
        start = normal(d_model**-0.5)
        self.source_embedding = nnx.Embed(
            source_vocab_size, d_model, embedding_init=start, rngs=rngs
        )
        self.target_embedding = nnx.Embed(
            target_vocab_size, d_model, embedding_init=start, rngs=rngs
        )
        self.forward_lstm = LSTM(d_model, d_model // 2, rngs=rngs)
        self.backward_lstm = LSTM(d_model, d_model // 2, rngs=rngs)
        self.start = linear(d_model, d_model, rngs=rngs)
        self.attention = (
            AdditiveAttention(d_model, d_model, d_model, rngs=rngs) if attend else None
        )
        self.decoder = LSTM(2 * d_model, d_model, rngs=rngs)
        self.mix = linear(3 * d_model, d_model, rngs=rngs)
        self.head = linear(d_model, target_vocab_size, rngs=rngs)
        self.dropout = nnx.Dropout(dropout, rngs=rngs)

    def __call__(
        self,
        source: Int[Array, "B S"],
        target: Int[Array, "B T"],
        *,
        source_mask: Bool[Array, "B 1 1 S"] | None = None,
    ) -> Float[Array, "B T V"]:
        """Logits of the next target token at every position (teacher forcing)."""
        memory = self.encode(source, source_mask=source_mask)
        return self.decode(target, memory, source_mask=source_mask)

    @property
    def vocab_sizes(self) -> tuple[int, int]:
        """How many tokens source and target have."""
        tables = self.source_embedding, self.target_embedding
        return tables[0].num_embeddings, tables[1].num_embeddings

    def encode(
        self,
        source: Int[Array, "B S"],
        *,
        source_mask: Bool[Array, "B 1 1 S"] | None = None,
    ) -> Float[Array, "B S D"]:
        """Read the source in both directions: one annotation a token, the memory."""
        check_ids("source", source, self.source_embedding.num_embeddings)
        x = self.dropout(self.source_embedding(source))
        real = None if source_mask is None else source_mask[:, 0, 0]  # B S
        before, _ = self.forward_lstm(x, mask=real)
        behind, _ = self.backward_lstm(x, mask=real, reverse=True)
        return jnp.concatenate([before, behind], axis=-1)

    def decode(
        self,
        target: Int[Array, "B T"],
        memory: Float[Array, "B S D"],
        *,
        source_mask: Bool[Array, "B 1 1 S"] | None = None,
    ) -> Float[Array, "B T V"]:
        """Logits of the next token, given the memory that `encode` returned."""
        return self._decode(target, self.begin(memory, source_mask=source_mask))[0]

    def begin(
        self,
        memory: Float[Array, "B S D"],
        max_len: int | None = None,
        *,
        source_mask: Bool[Array, "B 1 1 S"] | None = None,
    ) -> RecurrentCache:
        """A cache with no token of the target in it yet."""
        keys = None if self.attention is None else self.attention.k_proj(memory)
        h = jnp.tanh(self.start(_last_states(memory)))
        return RecurrentCache(h, jnp.zeros_like(h), memory, keys, source_mask)

    def read(
        self, ids: Int[Array, "B T"], cache: RecurrentCache
    ) -> Float[Array, "B T V"]:
        """Logits after each of the target's newest tokens, which the cache takes in."""
        return self._decode(ids, cache)[0]

    def maps(
        self,
        source: Int[Array, "B S"],
        target: Int[Array, "B T"],
        *,
        source_mask: Bool[Array, "B 1 1 S"] | None = None,
    ) -> Float[Array, "B T S"]:
        """The alignment: each target position's attention weights over the source."""
        if self.attention is None:
            raise ValueError("maps needs a model built with attend=True: got False.")
        memory = self.encode(source, source_mask=source_mask)
        return self._decode(target, self.begin(memory, source_mask=source_mask))[1]

    def _decode(self, target: Array, cache: RecurrentCache) -> tuple[Array, Array]:
        """Logits and attention weights."""
        check_ids("target", target, self.target_embedding.num_embeddings)
        memory, keys, mask = cache.memory, cache.keys, cache.memory_mask
        mask = None if mask is None else mask[:, 0]  # B 1 S
        fixed = _last_states(memory), jnp.zeros(memory.shape[:2], memory.dtype)

        def attend(h: Array) -> tuple[Array, Array]:
            if self.attention is None or keys is None:
                return fixed
            query = self.attention.q_proj(h)[:, None]
            w = self.attention.score.kernel[:, 0]
            context, weights = additive_attention(query, keys, memory, w, mask=mask)
            return context[:, 0], weights[:, 0]

        def step(state, token):
            context, weights = attend(state[0])
            inputs = jnp.concatenate([token, context], axis=-1)
            _, state = self.decoder(inputs[:, None], state)
            return state, (jnp.concatenate([state[0], inputs], axis=-1), weights)

        tokens = self.dropout(self.target_embedding(target)).swapaxes(0, 1)
        state = cache.h[...], cache.c[...]
        state, (rows, maps) = lax.scan(step, state, tokens)
        cache.h[...], cache.c[...] = state
        mixed = jnp.tanh(self.mix(rows.swapaxes(0, 1)))  # all positions at once
        return self.head(self.dropout(mixed)), maps.swapaxes(0, 1)


def _last_states(memory: Array) -> Array:
    """The final state of either direction, side by side: `B D`."""
    half = memory.shape[-1] // 2
    return jnp.concatenate([memory[:, -1, :half], memory[:, 0, half:]], axis=-1)
