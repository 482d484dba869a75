r"""BERT: an encoder that reads in both directions (PyTorch).

    h_0 = LN(W_E[ids] + W_P + W_S[types]),   h_l = Block_l(h_(l-1))      (eq. 1)
    pooled = tanh(W h_L[0] + b)                                          (eq. 2)
    logits = LN(g(W h_L + b)) W_E^T + c                                  (eq. 3)

Devlin et al. 2019, section 3 and figure 2, arXiv:1810.04805. Eq. 2, the pooler, and eq.
3, the head that guesses masked words through the tied token table, are in the authors'
code.

Departures: the forms of block.py and the positions of position.py may be others than
BERT's. Where the feed-forward layer is gated (SwiGLU), the head bends with GELU.
"""

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from course_lib.checks import check_ids, check_pooler, check_size, check_token_types
from course_lib.config import BERTConfig
from course_lib.torch.block import Block
from course_lib.torch.feed_forward import activate
from course_lib.torch.init import normal_start
from course_lib.torch.linear import linear
from course_lib.torch.norm import norm_layer
from course_lib.torch.position import Rotary, added_positions, alibi_bias


class BERT(nn.Module):
    """Give each token a vector that knows the tokens on both of its sides.

    Args:
        config: Sizes and forms.
        pooler: Whether to build the layer that sums a sequence up.
    """

    def __init__(self, config: BERTConfig, *, pooler: bool = True):
        super().__init__()
        self.config = config
        d_model, kind, eps = config.d_model, config.norm_kind, config.norm_eps
        self.tokens = nn.Embedding(config.vocab_size, d_model)
        self.positions = added_positions(config.position, config.max_len, d_model)
        self.token_types = nn.Embedding(config.n_token_types, d_model)
        self.embedding_norm = norm_layer(d_model, kind=kind, eps=eps)
        self.dropout = nn.Dropout(config.dropout)
        rotary = Rotary(config.d_head) if config.position == "rotary" else None
        self.blocks = nn.ModuleList(
            Block(**config.block, rotary=rotary) for _ in range(config.n_layers)
        )
        self.norm, self.pooler = None, None
        if config.norm != "post":
            self.norm = norm_layer(d_model, kind=kind, eps=eps)
        if pooler:
            self.pooler = linear(d_model, d_model)
        normal_start(self)

    def forward(
        self,
        ids: Int[Tensor, "B T"],
        *,
        token_types: Int[Tensor, "B T"] | None = None,
        mask: Bool[Tensor, "..."] | None = None,
    ) -> Float[Tensor, "B T D"]:
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
        types = torch.zeros_like(ids) if token_types is None else token_types
        x = self.tokens(ids) + self.token_types(types)  # B T D
        if self.positions is not None:
            x = x + self.positions(length, like=x)
        bias = None
        if self.config.position == "alibi":
            bias = alibi_bias(self.config.n_heads, length, like=x)
        x = self.dropout(self.embedding_norm(x))
        for block in self.blocks:
            x = block(x, mask=mask, score_bias=bias)
        return x if self.norm is None else self.norm(x)

    def pool(self, hidden: Float[Tensor, "B T D"]) -> Float[Tensor, "B D"]:
        """Sum a sequence up by its first token, [CLS], which has read all others.

        Args:
            hidden: What the model returned.

        Returns:
            One vector a sequence, with entries between -1 and 1.

        Raises:
            ValueError: The model was built without a pooler.
        """
        return torch.tanh(check_pooler(self.pooler)(hidden[:, 0]))


class BERTForMaskedLM(nn.Module):
    """Guess the words behind [MASK].

    Args:
        config: Sizes and forms.
    """

    def __init__(self, config: BERTConfig):
        super().__init__()
        self.config = config
        self.bert = BERT(config, pooler=False)
        self.transform = linear(config.d_model, config.d_model)
        self.transform_norm = norm_layer(
            config.d_model, kind=config.norm_kind, eps=config.norm_eps
        )
        self.bias = nn.Parameter(torch.zeros(config.vocab_size))
        normal_start(self.transform)

    def forward(
        self,
        ids: Int[Tensor, "B T"],
        *,
        token_types: Int[Tensor, "B T"] | None = None,
        mask: Bool[Tensor, "..."] | None = None,
    ) -> Float[Tensor, "B T V"]:
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
        return F.linear(x, self.bert.tokens.weight, self.bias)


class BERTForClassification(nn.Module):
    """Say which class a sequence, or a pair of them, belongs to.

    Args:
        config: Sizes and forms.
        n_classes: Number of classes.

    Raises:
        ValueError: `n_classes` is not a whole number of at least 1.
    """

    def __init__(self, config: BERTConfig, n_classes: int):
        super().__init__()
        check_size("n_classes", n_classes)
        self.config = config
        self.bert = BERT(config)
        self.dropout = nn.Dropout(config.dropout)
        self.head = linear(config.d_model, n_classes)
        normal_start(self.head)

    def forward(
        self,
        ids: Int[Tensor, "B T"],
        *,
        token_types: Int[Tensor, "B T"] | None = None,
        mask: Bool[Tensor, "..."] | None = None,
    ) -> Float[Tensor, "B C"]:
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
