"""BERT's checkpoints: `BertModel`, `BertForMaskedLM`, `BertForSequenceClassification`.

The masked-word head of a file may be followed by what was trained beside it, the pooler
and the guess of the next sentence: neither has a part in that head's logits. Old files
call a norm's weight and bias gamma and beta, and hold the numbers of the positions.
"""

from course_lib.config import BERTConfig
from course_lib.hub.fields import Fields
from course_lib.hub.plan import Arrays, Plan, within

ARCHITECTURES = ("BertModel", "BertForMaskedLM", "BertForSequenceClassification")

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


def plan(fields: Fields, architecture: str, names: set[str]) -> Plan:
    """Translate BERT's configuration.

    Args:
        fields: Its config.json.
        architecture: Which of `ARCHITECTURES`.
        names: What the checkpoint holds.

    Returns:
        How it becomes ours.

    Raises:
        ValueError: Our model cannot do what a field asks for.
    """
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
    # The first files describe a pooler that nobody has built.
    pooler_notes = ("fc_size", "num_attention_heads", "num_fc_layers", "size_per_head")
    fields.finish(
        silent=(
            *("attention_probs_dropout_prob", "classifier_dropout"),
            *("tie_word_embeddings", "pooler_type"),
            *(f"pooler_{note}" for note in pooler_notes),
        )
    )
    if architecture == "BertModel":
        pooler = any(name.removeprefix("bert.").startswith("pooler.") for name in names)
        return Plan(
            model="BERT",
            config=config,
            options={"pooler": pooler},
            prefix="bert.",
            table=_BODY | _POOLER,
            unused=_NUMBERS,
            prepare=_rename_norms,
        )
    if masked:
        return Plan(
            model="BERTForMaskedLM",
            config=config,
            prefix="bert.",
            table=within(_BODY, "bert") | _MASKED,
            unused=frozenset(_NUMBERS | _POOLER.keys() | {"cls.seq_relationship"}),
            prepare=_rename_norms,
        )
    return Plan(
        model="BERTForClassification",
        config=config,
        options={"n_classes": n_classes},
        prefix="bert.",
        table=within(_BODY | _POOLER, "bert") | _CLASSES,
        unused=_NUMBERS,
        prepare=_rename_norms,
    )


def _rename_norms(arrays: Arrays) -> Arrays:
    """Call gamma and beta what they are called today."""
    return {
        name.replace("LayerNorm.gamma", "LayerNorm.weight").replace(
            "LayerNorm.beta", "LayerNorm.bias"
        ): array
        for name, array in arrays.items()
    }
