"""ViT's checkpoints: `ViTForImageClassification` becomes `ViT`.

Files name the parts of a layer as BERT's do; a newer naming, that of the library's own
modules, is understood too. A pooler that is left over in a file is not used: the class
is read off [CLS] itself.
"""

from course_lib.config import ViTConfig
from course_lib.hub import bert
from course_lib.hub.conversion import Conversion, pairs
from course_lib.hub.fields import Fields

ARCHITECTURES: tuple[str, ...] = ("ViTForImageClassification",)

_NORMS = """
    layernorm_before  attention_norm
    layernorm_after   feed_forward_norm
"""
_LAYER = """
    attention.attention.query  attention.q_proj
    attention.attention.key    attention.k_proj
    attention.attention.value  attention.v_proj
"""
_NEW = """
    attention.q_proj  attention.q_proj
    attention.k_proj  attention.k_proj
    attention.v_proj  attention.v_proj
    attention.o_proj  attention.o_proj
    mlp.fc1           feed_forward.up_proj
    mlp.fc2           feed_forward.down_proj
"""
_FIELDS = """
    image_size           image_size  224
    num_channels         n_channels  3
    hidden_dropout_prob  dropout     0.0
"""
_TABLE = {
    "embeddings.cls_token": "cls",
    "embeddings.position_embeddings": "positions.table.weight",
    "embeddings.patch_embeddings.projection": "patches",
    **pairs(bert.LAYER + _LAYER + _NORMS, "encoder.layer.#.", "blocks.#."),
    **pairs(_NEW + _NORMS, "layers.#.", "blocks.#."),
    "layernorm": "norm",
    "classifier": "head",
}


def conversion(fields: Fields, architecture: str, names: set[str]) -> Conversion:
    """Translate ViT's configuration."""
    fields.must("qkv_bias", True, default=True)
    patch = fields.take("patch_size", 16)
    if isinstance(patch, list) and len(set(patch)) != 1:
        raise ValueError(
            f"{fields.where} asks for patch_size={patch}, which our model does not "
            "have: patches must be squares."
        )
    config = ViTConfig(
        **fields.read(bert.FIELDS + _FIELDS),
        patch_size=patch[0] if isinstance(patch, list) else patch,
        n_classes=fields.n_classes(),
    )
    # The stride is the masked-image head's; the pooler has no part in the classes.
    fields.finish(
        "attention_probs_dropout_prob encoder_stride pooler_act pooler_output_size "
        "tie_word_embeddings"
    )
    return Conversion(
        model="ViT",
        config=config,
        prefix="vit.",
        table=_TABLE,
        unused=frozenset({"pooler.dense"}),
        squeeze={
            "embeddings.cls_token": (0, 1),
            "embeddings.position_embeddings": (0,),
        },
    )
