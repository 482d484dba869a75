"""ViT's checkpoints: `ViTForImageClassification` becomes `ViT`.

Files name the parts of a layer as BERT's do; a newer naming, that of the library's own
modules, is understood too. A pooler that is left over in a file is not used: the class
is read off [CLS] itself.
"""

from typing import Any

from course_lib.config import ViTConfig
from course_lib.hub.conversion import Arrays, Conversion
from course_lib.hub.fields import Fields

ARCHITECTURES: tuple[str, ...] = ("ViTForImageClassification",)

_LAYER, _NEW = "encoder.layer.#.", "layers.#."
_TABLE = {
    "embeddings.cls_token": "cls",
    "embeddings.position_embeddings": "positions.table.weight",
    "embeddings.patch_embeddings.projection": "patches",
    _LAYER + "layernorm_before": "blocks.#.attention_norm",
    _LAYER + "attention.attention.query": "blocks.#.attention.q_proj",
    _LAYER + "attention.attention.key": "blocks.#.attention.k_proj",
    _LAYER + "attention.attention.value": "blocks.#.attention.v_proj",
    _LAYER + "attention.output.dense": "blocks.#.attention.o_proj",
    _LAYER + "layernorm_after": "blocks.#.feed_forward_norm",
    _LAYER + "intermediate.dense": "blocks.#.feed_forward.up_proj",
    _LAYER + "output.dense": "blocks.#.feed_forward.down_proj",
    _NEW + "layernorm_before": "blocks.#.attention_norm",
    _NEW + "attention.q_proj": "blocks.#.attention.q_proj",
    _NEW + "attention.k_proj": "blocks.#.attention.k_proj",
    _NEW + "attention.v_proj": "blocks.#.attention.v_proj",
    _NEW + "attention.o_proj": "blocks.#.attention.o_proj",
    _NEW + "layernorm_after": "blocks.#.feed_forward_norm",
    _NEW + "mlp.fc1": "blocks.#.feed_forward.up_proj",
    _NEW + "mlp.fc2": "blocks.#.feed_forward.down_proj",
    "layernorm": "norm",
    "classifier": "head",
}


def conversion(fields: Fields, architecture: str, names: set[str]) -> Conversion:
    """Translate ViT's configuration."""
    fields.must("qkv_bias", True, default=True)
    config = ViTConfig(
        image_size=_pair(fields.take("image_size", 224)),
        patch_size=_square(fields, fields.take("patch_size", 16)),
        n_channels=fields.take("num_channels", 3),
        n_classes=fields.n_classes(),
        d_model=fields.take("hidden_size"),
        n_layers=fields.take("num_hidden_layers"),
        n_heads=fields.take("num_attention_heads"),
        d_ff=fields.take("intermediate_size"),
        dropout=fields.take("hidden_dropout_prob", 0.0),
        activation=fields.activation("hidden_act", "gelu"),
        norm_eps=fields.take("layer_norm_eps", 1e-12),
    )
    # The stride is the masked-image head's; the pooler has no part in the classes.
    fields.finish(
        silent=(
            "attention_probs_dropout_prob",
            "encoder_stride",
            "pooler_act",
            "pooler_output_size",
            "tie_word_embeddings",
        )
    )
    return Conversion(
        model="ViT",
        config=config,
        prefix="vit.",
        table=_TABLE,
        unused=frozenset({"pooler.dense"}),
        prepare=_flatten,
    )


def _pair(size: Any) -> Any:
    return tuple(size) if isinstance(size, list) else size


def _square(fields: Fields, size: Any) -> Any:
    if isinstance(size, list):
        if len(set(size)) != 1:
            raise ValueError(
                f"{fields.where} asks for patch_size={size}, which our model does not "
                "have: patches must be squares."
            )
        return size[0]
    return size


def _flatten(arrays: Arrays) -> Arrays:
    """Drop the batch axes, of size 1, from [CLS] and the positions."""
    axes = {"embeddings.cls_token": (0, 1), "embeddings.position_embeddings": (0,)}
    found = {}
    for name, array in arrays.items():
        drop = axes.get(name.removeprefix("vit."), ())
        fits = array.ndim == 3 and all(array.shape[axis] == 1 for axis in drop)
        found[name] = array.squeeze(drop) if drop and fits else array
    return found
