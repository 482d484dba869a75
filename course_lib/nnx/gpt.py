r"""GPT: a decoder-only, autoregressive language model (Flax NNX).

    h_0 = W_E[ids] + W_P,   h_l = Block_l(h_(l-1)),   logits = LN(h_L) W_E^T     (eq. 1)

Radford et al. 2018, section 3.1, with the norms and the start of Radford et al. 2019,
section 2.3 (GPT-2). Each position sees itself and what lies before it, so every
position of a sequence is an example (teacher forcing): logits at t are about token
t + 1.

Departures: positions may be any of `SCHEMES`, and the blocks of any form of block.py.
With norm="post" no norm follows the last block, which ends in one. Decoders of today,
such as Llama, Qwen and Gemma, are the same model in other forms: see `GPTConfig`.
"""

import jax.numpy as jnp
from flax import nnx
from jax import Array
from jaxtyping import Bool, Float, Int

from course_lib.checks import check_ids, check_positions
from course_lib.config import GPTConfig
from course_lib.nnx.block import Block
from course_lib.nnx.embedding import Embedding
from course_lib.nnx.generation.cache import KVCache, span
from course_lib.nnx.init import normal_start
from course_lib.nnx.linear import linear
from course_lib.nnx.norm import final_norm
from course_lib.nnx.position.rotary import Rotary
from course_lib.nnx.position.schemes import make_positions

__all__ = ["GPT"]


class GPT(nnx.Module):
    """GPT: predict each next token from those before it."""

    def __init__(self, config: GPTConfig, *, rngs: nnx.Rngs):
        self.config, d_model = config, config.d_model
        self.tokens = Embedding(config.vocab_size, d_model, std=1.0, rngs=rngs)
        self.positions = make_positions(config, config.max_len, rngs=rngs)
        self.dropout = nnx.Dropout(config.dropout, rngs=rngs)
        self.blocks = nnx.data(
            [
                Block(**config.layer(i), rotary=self._rotary(i), rngs=rngs)
                for i in range(config.n_layers)
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
        """Logits of the next token at each position."""
        check_ids("ids", ids, self.config.vocab_size)
        offset, n_keys = span(cache, ids.shape[1])
        x = self.tokens(ids)
        if self.config.scale_embeddings:
            x = x * jnp.asarray(self.config.d_model**0.5, x.dtype)
        x = self.dropout(self.positions.add(x, offset, mask))  # B T D
        bias = self.positions.bias(ids.shape[1], n_keys, offset, like=x)
        for i, block in enumerate(self.blocks):
            layer = cache and cache[i]
            x = block(x, mask=mask, causal=True, score_bias=bias, cache=layer)
        x = self.norm(x)
        logits = self.tokens.attend(x) if self.head is None else self.head(x)
        if (cap := self.config.logit_cap) is not None:
            logits = cap * jnp.tanh(logits / cap)
        return logits

    def begin(self, batch: int, max_len: int) -> KVCache:
        """An empty cache for texts of up to `max_len` tokens."""
        if self.positions.max_len is not None:
            check_positions(max_len, 0, self.positions.max_len)
        c, table = self.config, self.tokens.embedding[...]
        heads = c.n_kv_heads or c.n_heads
        return KVCache(c.n_layers, batch, heads, max_len, c.d_head, like=table)

    def read(
        self, ids: Int[Array, "B T"], cache: KVCache | None
    ) -> Float[Array, "B T V"]:
        """Logits after each of the newest tokens, which the cache takes in."""
        return self(ids, cache=cache)

    def _rotary(self, layer: int) -> Rotary | None:
        """What turns queries and keys in a layer: windows may have a base apart."""
        if not self.config.turns(layer):
            return None
        config, rotary = self.config, self.positions.rotary
        base = config.local_rope_base
        if rotary is None or base is None or not config.has_window(layer):
            return rotary
        return Rotary(config.d_head, base)
