r"""BERT: a bidirectional encoder, pretrained by masked language modeling (PyTorch).

    h_0 = LN(W_E[ids] + W_P + W_S[types]),   h_l = Block_l(h_(l-1))      (eq. 1)
    pooled = tanh(W h_L[0] + b)                                          (eq. 2)
    logits = LN(g(W h_L + b)) W_E^T + c                                  (eq. 3)

Devlin et al. 2019, section 3 and figure 2, arXiv:1810.04805. Eq. 2, the pooler, and eq.
3, the masked language model's head with its tied token table, are in the authors' code.
RoBERTa and DistilBERT are the same model, the latter with a ReLU in eq. 2.

Departures: blocks and positions may take other forms than BERT's. Where the blocks'
MLP is gated (SwiGLU), the head's activation is GELU.
"""

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from course_lib.checks import check_ids, check_pooler, check_token_types
from course_lib.config import BERTConfig
from course_lib.torch.block import Block
from course_lib.torch.embedding import Embedding
from course_lib.torch.feed_forward import activate
from course_lib.torch.init import normal_start
from course_lib.torch.linear import linear
from course_lib.torch.norm import final_norm, norm_layer
from course_lib.torch.position.schemes import make_positions

__all__ = ["BERT", "BERTForClassification", "BERTForMaskedLM"]


class BERT(nn.Module):
    """BERT: an encoder whose tokens attend to both sides; `pooler` builds eq. 2."""

    def __init__(self, config: BERTConfig, *, pooler: bool = True):
        super().__init__()
        self.config = config
        d_model, eps = config.d_model, config.norm_eps
        self.tokens = Embedding(config.vocab_size, d_model, std=1.0)
        self.positions = make_positions(config, config.max_len)
        self.token_types = Embedding(config.n_token_types, d_model, std=1.0)
        self.embedding_norm = norm_layer(d_model, kind=config.norm_kind, eps=eps)
        self.dropout = nn.Dropout(config.dropout)
        self.blocks = nn.ModuleList(
            Block(**config.block, rotary=self.positions.rotary)
            for _ in range(config.n_layers)
        )
        self.norm = final_norm(config)
        self.pooler = linear(d_model, d_model) if pooler else None
        normal_start(self)

    def forward(
        self,
        ids: Int[Tensor, "B T"],
        *,
        token_types: Int[Tensor, "B T"] | None = None,
        mask: Bool[Tensor, "..."] | None = None,
    ) -> Float[Tensor, "B T D"]:
        """Contextual vectors, one a token.

        Without `token_types` all tokens are of the first segment. `mask` is True where
        a position may attend, such as `padding_mask_from_ids(ids, pad_id)`.
        """
        check_ids("ids", ids, self.config.vocab_size)
        check_token_types(token_types, ids.shape)
        types = torch.zeros_like(ids) if token_types is None else token_types
        x = self.positions.add(
            self.tokens(ids) + self.token_types(types), mask=mask
        )  # B T D
        x = self.dropout(self.embedding_norm(x))
        bias = self.positions.bias(ids.shape[1], ids.shape[1], 0, like=x)
        for block in self.blocks:
            x = block(x, mask=mask, score_bias=bias)
        return self.norm(x)

    def pool(self, hidden: Float[Tensor, "B T D"]) -> Float[Tensor, "B D"]:
        """Pooler: a sequence as one vector, from its first token, [CLS] (eq. 2)."""
        pooled = check_pooler(self.pooler)(hidden[:, 0])
        return pooled.relu() if self.config.relu_pooler else pooled.tanh()


class BERTForMaskedLM(nn.Module):
    """BERT with a masked language model head: it predicts the words behind [MASK]."""

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
        """Logits of the token that stood at each position; arguments as in `BERT`."""
        hidden = self.bert(ids, token_types=token_types, mask=mask)
        name = self.config.activation
        x = activate(self.transform(hidden), "gelu" if name == "swiglu" else name)
        return F.linear(self.transform_norm(x), self.bert.tokens.weight, self.bias)


class BERTForClassification(nn.Module):
    """BERT with a classification head, for sequences or pairs of them."""

    def __init__(self, config: BERTConfig, n_classes: int):
        super().__init__()
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
        """Logits of the classes, read at [CLS]; arguments as in `BERT`."""
        hidden = self.bert(ids, token_types=token_types, mask=mask)
        return self.head(self.dropout(self.bert.pool(hidden)))
