r"""BERT: an encoder that reads in both directions (Flax NNX).

    h_0 = LN(W_E[ids] + W_P + W_S[types]),   h_l = Block_l(h_(l-1))      (eq. 1)
    pooled = tanh(W h_L[0] + b)                                          (eq. 2)
    logits = LN(g(W h_L + b)) W_E^T + c                                  (eq. 3)

Devlin et al. 2019, section 3 and figure 2, arXiv:1810.04805. Eq. 2, the pooler, and eq.
3, the head that guesses masked words through the tied token table, are in the authors'
code.

Departures: the forms of block.py and the positions of position.py may be others than
BERT's. Where the feed-forward layer is gated (SwiGLU), the head bends with GELU.
"""

import jax.numpy as jnp
from flax import nnx
from jax import Array
from jaxtyping import Bool, Float, Int

from course_lib.checks import check_ids, check_pooler, check_size, check_token_types
from course_lib.config import BERTConfig
from course_lib.nnx.block import Block
from course_lib.nnx.feed_forward import activate
from course_lib.nnx.init import normal_start
from course_lib.nnx.linear import linear
from course_lib.nnx.norm import norm_layer
from course_lib.nnx.position import Rotary, added_positions, alibi_bias


class BERT(nnx.Module):
    """Give each token a vector that knows the tokens on both of its sides.

    Args:
        config: Sizes and forms.
        pooler: Whether to build the layer that sums a sequence up.
        rngs: Source of the random start and of dropout.
    """

    def __init__(self, config: BERTConfig, *, pooler: bool = True, rngs: nnx.Rngs):
        self.config = config
        d_model, kind, eps = config.d_model, config.norm_kind, config.norm_eps
        self.tokens = nnx.Embed(config.vocab_size, d_model, rngs=rngs)
        self.positions = added_positions(
            config.position, config.max_len, d_model, rngs=rngs
        )
        self.token_types = nnx.Embed(config.n_token_types, d_model, rngs=rngs)
        self.embedding_norm = norm_layer(d_model, kind=kind, eps=eps, rngs=rngs)
        self.dropout = nnx.Dropout(config.dropout, rngs=rngs)
        rotary = Rotary(config.d_head) if config.position == "rotary" else None
        self.blocks = nnx.data(
            [
                Block(**config.block, rotary=rotary, rngs=rngs)
                for _ in range(config.n_layers)
            ]
        )
        norm = None
        if config.norm != "post":
            norm = norm_layer(d_model, kind=kind, eps=eps, rngs=rngs)
        self.norm = norm
        self.pooler = linear(d_model, d_model, rngs=rngs) if pooler else None
        normal_start(self, rngs=rngs)

    def __call__(
        self,
        ids: Int[Array, "B T"],
        *,
        token_types: Int[Array, "B T"] | None = None,
        mask: Bool[Array, "..."] | None = None,
    ) -> Float[Array, "B T D"]:
        """Read whole sequences.

        Args:
            ids: Token ids.
            token_types: Which segment each token belongs to; None means all to the
                first.
            mask: True where a position may attend, such as
                `padding_mask_from_ids(ids, pad_id)`.

        Returns:
            One vector a token.

        Raises:
            ValueError: `ids` is not a batch of whole numbers, or is too long.
        """
        check_ids("ids", ids)
        check_token_types(token_types, ids.shape)
        length = ids.shape[1]
        types = jnp.zeros_like(ids) if token_types is None else token_types
        x = jnp.take(self.tokens.embedding[...], ids, axis=0)  # B T D
        x = x + jnp.take(self.token_types.embedding[...], types, axis=0)
        if self.positions is not None:
            x = x + self.positions(length, like=x)
        bias = None
        if self.config.position == "alibi":
            bias = alibi_bias(self.config.n_heads, length, like=x)
        x = self.dropout(self.embedding_norm(x))
        for block in self.blocks:
            x = block(x, mask=mask, score_bias=bias)
        return x if self.norm is None else self.norm(x)

    def pool(self, hidden: Float[Array, "B T D"]) -> Float[Array, "B D"]:
        """Sum a sequence up by its first token, [CLS], which has read all others.

        Args:
            hidden: What the model returned.

        Returns:
            One vector a sequence, with entries between -1 and 1.

        Raises:
            ValueError: The model was built without a pooler.
        """
        return jnp.tanh(check_pooler(self.pooler)(hidden[:, 0]))


class BERTForMaskedLM(nnx.Module):
    """Guess the words behind [MASK].

    Args:
        config: Sizes and forms.
        rngs: Source of the random start and of dropout.
    """

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
        """Score every token of the vocabulary at each position.

        Args:
            ids: Token ids, some of them [MASK]'s.
            token_types: As in `BERT`.
            mask: As in `BERT`; it has nothing to do with [MASK].

        Returns:
            Logits: the softmax of a row is the distribution of the token that stood
            there.

        Raises:
            ValueError: As `BERT`.
        """
        hidden = self.bert(ids, token_types=token_types, mask=mask)
        bend = self.bert.config.activation
        bend = "gelu" if bend == "swiglu" else bend
        x = self.transform_norm(activate(self.transform(hidden), bend))
        return x @ self.bert.tokens.embedding[...].T + self.bias[...]


class BERTForClassification(nnx.Module):
    """Say which class a sequence, or a pair of them, belongs to.

    Args:
        config: Sizes and forms.
        n_classes: Number of classes.
        rngs: Source of the random start and of dropout.

    Raises:
        ValueError: `n_classes` is not a whole number of at least 1.
    """

    def __init__(self, config: BERTConfig, n_classes: int, *, rngs: nnx.Rngs):
        check_size("n_classes", n_classes)
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
        """Score every class.

        Args:
            ids: Token ids; the first of each sequence is [CLS].
            token_types: As in `BERT`.
            mask: As in `BERT`.

        Returns:
            Logits: the softmax of a row is the distribution of the class.

        Raises:
            ValueError: As `BERT`.
        """
        hidden = self.bert(ids, token_types=token_types, mask=mask)
        return self.head(self.dropout(self.bert.pool(hidden)))
