"""BERT's checkpoints: `BertModel`, `BertForMaskedLM`, `BertForSequenceClassification`.

A file of the masked-language-model head may also hold what was trained beside it, the
pooler and the next-sentence head: neither has a part in that head's logits. Old files
call a norm's weight and bias gamma and beta, and hold the numbers of the positions.
"""

from functools import partial

from course_lib.config import BERTConfig
from course_lib.hub.conversion import Arrays, Conversion, within
from course_lib.hub.fields import Fields

ARCHITECTURES: tuple[str, ...] = (
    "BertModel",
    "BertForMaskedLM",
    "BertForSequenceClassification",
)

_LAYER = "encoder.layer.#."
_BODY = {
    "embeddings.word_embeddings": "tokens",
    "embeddings.position_embeddings": "positions.table",
    "embeddings.token_type_embeddings": "token_types",
    "embeddings.LayerNorm": "embedding_norm",
    _LAYER + "attention.self.query": "blocks.#.attention.q_proj",
    _LAYER + "attention.self.key": "blocks.#.attention.k_proj",
    _LAYER + "attention.self.value": "blocks.#.attention.v_proj",
    _LAYER + "attention.output.dense": "blocks.#.attention.o_proj",
    _LAYER + "attention.output.LayerNorm": "blocks.#.attention_norm",
    _LAYER + "intermediate.dense": "blocks.#.feed_forward.up_proj",
    _LAYER + "output.dense": "blocks.#.feed_forward.down_proj",
    _LAYER + "output.LayerNorm": "blocks.#.feed_forward_norm",
}
_POOLER = {"pooler.dense": "pooler"}
_MASKED = {
    "cls.predictions.transform.dense": "transform",
    "cls.predictions.transform.LayerNorm": "transform_norm",
    "cls.predictions.decoder.weight": "bert.tokens.weight",
    "cls.predictions.decoder.bias": "bias",
    "cls.predictions.bias": "bias",
}
_CLASSES = {"classifier": "head"}
_NUMBERS = frozenset({"embeddings.position_ids"})


def conversion(fields: Fields, architecture: str, names: set[str]) -> Conversion:
    """Translate BERT's configuration."""
    masked = architecture == "BertForMaskedLM"
    fields.must("position_embedding_type", "absolute", default="absolute")
    fields.must("directionality", "bidi", default="bidi")
    if masked:
        fields.must("tie_word_embeddings", True, default=True)
    config = BERTConfig(
        vocab_size=fields.take("vocab_size"),
        max_len=fields.take("max_position_embeddings"),
        n_token_types=fields.take("type_vocab_size", 2),
        d_model=fields.take("hidden_size"),
        n_layers=fields.take("num_hidden_layers"),
        n_heads=fields.take("num_attention_heads"),
        d_ff=fields.take("intermediate_size"),
        dropout=fields.take("hidden_dropout_prob", 0.1),
        activation=fields.activation("hidden_act", "gelu"),
        norm_eps=fields.take("layer_norm_eps", 1e-12),
    )
    n_classes = fields.n_classes()
    # The first files describe a pooler that was never built.
    pooler_notes = ("fc_size", "num_attention_heads", "num_fc_layers", "size_per_head")
    fields.finish(
        silent=(
            *("attention_probs_dropout_prob", "classifier_dropout"),
            *("tie_word_embeddings", "pooler_type"),
            *(f"pooler_{note}" for note in pooler_notes),
        )
    )
    becomes = partial(Conversion, config=config, prefix="bert.", prepare=_rename_norms)
    if architecture == "BertModel":
        pooler = any(name.removeprefix("bert.").startswith("pooler.") for name in names)
        return becomes(
            model="BERT",
            options={"pooler": pooler},
            table=_BODY | _POOLER,
            unused=_NUMBERS,
        )
    if masked:
        return becomes(
            model="BERTForMaskedLM",
            table=within(_BODY, "bert") | _MASKED,
            unused=frozenset(_NUMBERS | _POOLER.keys() | {"cls.seq_relationship"}),
        )
    return becomes(
        model="BERTForClassification",
        options={"n_classes": n_classes},
        table=within(_BODY | _POOLER, "bert") | _CLASSES,
        unused=_NUMBERS,
    )


def _rename_norms(arrays: Arrays) -> Arrays:
    """Call gamma and beta what they are called today."""
    return {
        name.replace("LayerNorm.gamma", "LayerNorm.weight").replace(
            "LayerNorm.beta", "LayerNorm.bias"
        ): array
        for name, array in arrays.items()
    }
