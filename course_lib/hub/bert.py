"""Checkpoints of BERT, RoBERTa and DistilBERT, each with three heads: ours is `BERT`.

A file of the masked-language-model head may also hold what was trained beside it, the
pooler and the next-sentence head: neither has a part in that head's logits. Old files
call a norm's weight and bias gamma and beta, and hold the numbers of the positions.

RoBERTa counts positions from behind the id of its padding, and padding itself stands
at that id: the rows up to there are left out, and padding belongs behind a text, where
its tokenizer puts it. DistilBERT has no token types: here it has one, of zeros.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from course_lib.checks import check_whole
from course_lib.config import BERTConfig
from course_lib.hub.conversion import Arrays, Conversion, pairs, within
from course_lib.hub.fields import Fields

LAYER = """
    attention.output.dense  attention.o_proj
    intermediate.dense      feed_forward.up_proj
    output.dense            feed_forward.down_proj
"""
FIELDS = """
    hidden_size          d_model
    num_hidden_layers    n_layers
    num_attention_heads  n_heads
    intermediate_size    d_ff
    hidden_act           activation     gelu
    layer_norm_eps       norm_eps       1e-12
"""
_OWN_LAYER = """
    attention.self.query        attention.q_proj
    attention.self.key          attention.k_proj
    attention.self.value        attention.v_proj
    attention.output.LayerNorm  attention_norm
    output.LayerNorm            feed_forward_norm
"""
_OWN_FIELDS = """
    vocab_size               vocab_size
    max_position_embeddings  max_len
    type_vocab_size          n_token_types  2
    hidden_dropout_prob      dropout        0.1
"""
_DISTIL_LAYER = """
    attention.q_lin    attention.q_proj
    attention.k_lin    attention.k_proj
    attention.v_lin    attention.v_proj
    attention.out_lin  attention.o_proj
    sa_layer_norm      attention_norm
    ffn.lin1           feed_forward.up_proj
    ffn.lin2           feed_forward.down_proj
    output_layer_norm  feed_forward_norm
"""
_DISTIL_FIELDS = """
    vocab_size               vocab_size
    max_position_embeddings  max_len
    dim                      d_model
    n_layers                 n_layers
    n_heads                  n_heads
    hidden_dim               d_ff
    activation               activation  gelu
    dropout                  dropout     0.1
"""
_POSITIONS = "embeddings.position_embeddings"
_TYPES = "embeddings.token_type_embeddings"
_EMBEDDINGS = {
    "embeddings.word_embeddings": "tokens",
    _POSITIONS: "positions.table",
    _TYPES: "token_types",
    "embeddings.LayerNorm": "embedding_norm",
}
_BODY = pairs(LAYER + _OWN_LAYER, "encoder.layer.#.", "blocks.#.") | _EMBEDDINGS
_POOLER = {"pooler.dense": "pooler"}
# What may lie in a file beside a head that has no use for it.
_BESIDE = frozenset({"embeddings.position_ids", "pooler.dense", "cls.seq_relationship"})


@dataclass(frozen=True, kw_only=True)
class _Encoder:
    """A family of encoders: what its files call the parts of a `BERT`."""

    ARCHITECTURES: tuple[str, ...]
    prefix: str  #: As in `Conversion`
    own: Callable[[Fields, bool], dict[str, Any]]  #: Its fields; whether for the masked
    body: Mapping[str, str]  #: The table of the encoder
    masked: Mapping[str, str]  #: The table of the head for masked language modeling
    classes: Mapping[str, str]  #: The table of the head for classes
    typed: bool = True  #: Whether its tokens have types
    silent: str  #: Fields that change no number

    def conversion(
        self, fields: Fields, architecture: str, names: set[str]
    ) -> Conversion:
        """Translate the family's configuration."""
        masked = architecture.endswith("MaskedLM")
        if masked:
            fields.must("tie_word_embeddings", True, default=True)
        config = BERTConfig(**self.own(fields, masked))
        n_classes = fields.n_classes()
        fields.finish(f"tie_word_embeddings {self.silent}")
        skipped = fields.take("max_position_embeddings") - config.max_len

        def prepare(arrays: Arrays) -> Arrays:
            arrays = _rename_norms(arrays)
            for name in [n for n in arrays if n.endswith(f"{_POSITIONS}.weight")]:
                arrays[name] = arrays[name][skipped:]
            if not self.typed:
                zeros = np.zeros((1, config.d_model), np.float32)
                arrays[f"{self.prefix}{_TYPES}.weight"] = zeros
            return arrays

        options: dict[str, Any] = {}
        if architecture.endswith("Model"):
            model, table = "BERT", {**self.body, **_POOLER}
            inner = (name.removeprefix(self.prefix) for name in names)
            options["pooler"] = any(name.startswith("pooler.") for name in inner)
        elif masked:
            model = "BERTForMaskedLM"
            table = {**within(self.body, "bert"), **self.masked}
        else:
            model = "BERTForClassification"
            table = {**within(self.body, "bert"), **self.classes}
            options["n_classes"] = n_classes
        return Conversion(
            model=model,
            config=config,
            options=options,
            prefix=self.prefix,
            table=table,
            unused=_BESIDE - table.keys(),
            prepare=prepare,
        )


def _rename_norms(arrays: Arrays) -> Arrays:
    """Call gamma and beta what they are called today."""
    for old, new in (("Norm.gamma", "Norm.weight"), ("Norm.beta", "Norm.bias")):
        arrays = {name.replace(old, new): array for name, array in arrays.items()}
    return arrays


def _bert(fields: Fields, masked: bool) -> dict[str, Any]:
    fields.must("position_embedding_type", "absolute", default="absolute")
    fields.must("directionality", "bidi", default="bidi")
    return fields.read(FIELDS + _OWN_FIELDS)


def _roberta(fields: Fields, masked: bool) -> dict[str, Any]:
    padding = fields.take("pad_token_id", 1)
    check_whole(f"pad_token_id in {fields.where}", padding)
    if masked:  # whatever the layers have
        fields.must("hidden_act", "gelu", default="gelu")
    own = _bert(fields, masked)
    return own | {"max_len": own["max_len"] - padding - 1}


def _distilbert(fields: Fields, masked: bool) -> dict[str, Any]:
    fields.must("tie_weights_", True)
    return fields.read(_DISTIL_FIELDS) | {"n_token_types": 1, "relu_pooler": True}


def _heads(name: str) -> tuple[str, ...]:
    """The architectures of a family: the encoder alone, and with each of two heads."""
    return tuple(
        name + h for h in ("Model", "ForMaskedLM", "ForSequenceClassification")
    )


# The first files of BERT describe a pooler that was never built.
_DROPOUT = "attention_probs_dropout_prob classifier_dropout"
FAMILIES: dict[str, _Encoder] = {
    "bert": _Encoder(
        ARCHITECTURES=_heads("Bert"),
        prefix="bert.",
        own=_bert,
        body=_BODY,
        masked={
            "cls.predictions.transform.dense": "transform",
            "cls.predictions.transform.LayerNorm": "transform_norm",
            "cls.predictions.decoder.weight": "bert.tokens.weight",
            "cls.predictions.decoder.bias": "bias",
            "cls.predictions.bias": "bias",
        },
        classes={"pooler.dense": "bert.pooler", "classifier": "head"},
        silent=f"{_DROPOUT} pooler_type pooler_fc_size pooler_num_attention_heads "
        "pooler_num_fc_layers pooler_size_per_head",
    ),
    "roberta": _Encoder(
        ARCHITECTURES=_heads("Roberta"),
        prefix="roberta.",
        own=_roberta,
        body=_BODY,
        masked={
            "lm_head.dense": "transform",
            "lm_head.layer_norm": "transform_norm",
            "lm_head.decoder.weight": "bert.tokens.weight",
            "lm_head.decoder.bias": "bias",
            "lm_head.bias": "bias",
        },
        classes={"classifier.dense": "bert.pooler", "classifier.out_proj": "head"},
        silent=_DROPOUT,
    ),
    # Its positions may begin as sines; a file holds them whatever they are.
    "distilbert": _Encoder(
        ARCHITECTURES=_heads("DistilBert"),
        prefix="distilbert.",
        own=_distilbert,
        body=pairs(_DISTIL_LAYER, "transformer.layer.#.", "blocks.#.") | _EMBEDDINGS,
        masked={
            "vocab_transform": "transform",
            "vocab_layer_norm": "transform_norm",
            "vocab_projector.weight": "bert.tokens.weight",
            "vocab_projector.bias": "bias",
        },
        classes={"pre_classifier": "bert.pooler", "classifier": "head"},
        typed=False,
        silent="attention_dropout qa_dropout seq_classif_dropout sinusoidal_pos_embds",
    ),
}
