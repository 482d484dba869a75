"""BERT's checkpoints: `BertModel`, `BertForMaskedLM`, `BertForSequenceClassification`.

A file of the masked-language-model head may also hold what was trained beside it, the
pooler and the next-sentence head: neither has a part in that head's logits. Old files
call a norm's weight and bias gamma and beta, and hold the numbers of the positions.
"""

from functools import partial

from course_lib.config import BERTConfig
from course_lib.hub.conversion import Arrays, Conversion, pairs, within
from course_lib.hub.fields import Fields

ARCHITECTURES: tuple[str, ...] = (
    "BertModel",
    "BertForMaskedLM",
    "BertForSequenceClassification",
)

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
_BODY = pairs(LAYER + _OWN_LAYER, "encoder.layer.#.", "blocks.#.") | {
    "embeddings.word_embeddings": "tokens",
    "embeddings.position_embeddings": "positions.table",
    "embeddings.token_type_embeddings": "token_types",
    "embeddings.LayerNorm": "embedding_norm",
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
    config = BERTConfig(**fields.read(FIELDS + _OWN_FIELDS))
    n_classes = fields.n_classes()
    # The first files describe a pooler that was never built.
    fields.finish(
        "attention_probs_dropout_prob classifier_dropout tie_word_embeddings "
        "pooler_type pooler_fc_size pooler_num_attention_heads pooler_num_fc_layers "
        "pooler_size_per_head"
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
    for old, new in (("Norm.gamma", "Norm.weight"), ("Norm.beta", "Norm.bias")):
        arrays = {name.replace(old, new): array for name, array in arrays.items()}
    return arrays
