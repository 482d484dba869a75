r"""BERT: a bidirectional encoder, pretrained by masked language modeling (Flax NNX).

    h_0 = LN(W_E[ids] + W_P + W_S[types]),   h_l = Block_l(h_(l-1))      (eq. 1)
    pooled = tanh(W h_L[0] + b)                                          (eq. 2)
    logits = LN(g(W h_L + b)) W_E^T + c                                  (eq. 3)

Devlin et al. 2019, section 3 and figure 2, arXiv:1810.04805. Eq. 2, the pooler, and eq.
3, the masked language model's head with its tied token table, are in the authors' code.
RoBERTa and DistilBERT are the same model, the latter with a ReLU in eq. 2.

Departures: blocks and positions may take other forms than BERT's. Where the blocks'
MLP is gated (SwiGLU), the head's activation is GELU.
"""

import jax.numpy as jnp
from flax import nnx
from jax import Array
from jaxtyping import Bool, Float, Int

from course_lib.checks import check_ids, check_pooler, check_token_types
from course_lib.config import BERTConfig
from course_lib.nnx.block import Block
from course_lib.nnx.embedding import Embedding
from course_lib.nnx.feed_forward import activate
from course_lib.nnx.init import normal_start
from course_lib.nnx.linear import linear
from course_lib.nnx.norm import final_norm, norm_layer
from course_lib.nnx.position.schemes import make_positions

__all__ = ["BERT", "BERTForClassification", "BERTForMaskedLM"]


class BERT(nnx.Module):
    """BERT: an encoder whose tokens attend to both sides; `pooler` builds eq. 2."""

    def __init__(self, config: BERTConfig, *, pooler: bool = True, rngs: nnx.Rngs):
        self.config = config
        d_model, kind, eps = config.d_model, config.norm_kind, config.norm_eps
        self.tokens = Embedding(config.vocab_size, d_model, std=1.0, rngs=rngs)
        self.positions = make_positions(config, config.max_len, rngs=rngs)
        self.token_types = Embedding(config.n_token_types, d_model, std=1.0, rngs=rngs)
        self.embedding_norm = norm_layer(d_model, kind=kind, eps=eps, rngs=rngs)
        self.dropout = nnx.Dropout(config.dropout, rngs=rngs)
        rotary = self.positions.rotary
        self.blocks = nnx.data(
            [
                Block(**config.block, rotary=rotary, rngs=rngs)
                for _ in range(config.n_layers)
            ]
        )
        self.norm = final_norm(config, rngs=rngs)
        self.pooler = linear(d_model, d_model, rngs=rngs) if pooler else None
        normal_start(self, rngs=rngs)

    def __call__(
        self,
        ids: Int[Array, "B T"],
        *,
        token_types: Int[Array, "B T"] | None = None,
        mask: Bool[Array, "..."] | None = None,
    ) -> Float[Array, "B T D"]:
        """Contextual vectors, one a token."""
        check_ids("ids", ids, self.config.vocab_size)
        check_token_types(token_types, ids.shape)
        types = jnp.zeros_like(ids) if token_types is None else token_types
        x = self.positions.add(
            self.tokens(ids) + self.token_types(types), mask=mask
        )  # B T D
        x = self.dropout(self.embedding_norm(x))
        bias = self.positions.bias(ids.shape[1], ids.shape[1], 0, like=x)
        for block in self.blocks:
            x = block(x, mask=mask, score_bias=bias)
        return self.norm(x)

    def pool(self, hidden: Float[Array, "B T D"]) -> Float[Array, "B D"]:
        """Pooler: a sequence as one vector, from its first token, [CLS] (eq. 2)."""
        pooled = check_pooler(self.pooler)(hidden[:, 0])
        return nnx.relu(pooled) if self.config.relu_pooler else jnp.tanh(pooled)


class BERTForMaskedLM(nnx.Module):
    """BERT with a masked language model head: it predicts the words behind [MASK]."""

    def __init__(self, config: BERTConfig, *, rngs: nnx.Rngs):
        self.config = config
        self.bert = BERT(config, pooler=False, rngs=rngs)
        self.transform = linear(config.d_model, config.d_model, rngs=rngs)
        self.transform_norm = norm_layer(
            config.d_model, kind=config.norm_kind, eps=config.norm_eps, rngs=rngs
        )
        self.bias = nnx.Param(jnp.zeros(config.vocab_size, jnp.float32))
        normal_start(self.transform, rngs=rngs)

    def __call__(
        self,
        ids: Int[Array, "B T"],
        *,
        token_types: Int[Array, "B T"] | None = None,
        mask: Bool[Array, "..."] | None = None,
    ) -> Float[Array, "B T V"]:
        """Logits of the token that stood at each position; arguments as in `BERT`."""
        hidden = self.bert(ids, token_types=token_types, mask=mask)
        name = self.config.activation
        x = activate(self.transform(hidden), "gelu" if name == "swiglu" else name)
        return self.bert.tokens.attend(self.transform_norm(x)) + self.bias[...]


class BERTForClassification(nnx.Module):
    """BERT with a classification head, for sequences or pairs of them."""

    def __init__(self, config: BERTConfig, n_classes: int, *, rngs: nnx.Rngs):
        self.config = config
        self.bert = BERT(config, rngs=rngs)
        self.dropout = nnx.Dropout(config.dropout, rngs=rngs)
        self.head = linear(config.d_model, n_classes, rngs=rngs)
        normal_start(self.head, rngs=rngs)

    def __call__(
        self,
        ids: Int[Array, "B T"],
        *,
        token_types: Int[Array, "B T"] | None = None,
        mask: Bool[Array, "..."] | None = None,
    ) -> Float[Array, "B C"]:
        """Logits of the classes, read at [CLS]; arguments as in `BERT`."""
        hidden = self.bert(ids, token_types=token_types, mask=mask)
        return self.head(self.dropout(self.bert.pool(hidden)))
