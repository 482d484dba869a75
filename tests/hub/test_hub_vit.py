"""ViT's checkpoints, as `transformers` writes them, loaded into ours."""

import numpy as np
import pytest
from published import (
    BEFORE_5,
    assert_read_alike,
    assert_same_logits,
    edit,
    randomize,
    refuse,
    rewrite,
    save,
    transformers,
)
from wings import each

from course_lib.hub import load


def vit(seed=0, **options):
    sizes = {"hidden_size": 12, "num_hidden_layers": 2, "num_attention_heads": 3}
    sizes |= {"intermediate_size": 17, "image_size": 14, "patch_size": 7}
    config = transformers.ViTConfig(**({"num_labels": 5} | sizes | options))
    return randomize(transformers.ViTForImageClassification(config), seed)


FORMS = [
    {},
    {"image_size": [6, 15], "patch_size": [3, 3], "num_channels": 1},
    {"num_attention_heads": 5, "hidden_size": 35, "num_hidden_layers": 3},
    {"hidden_act": "gelu_pytorch_tanh", "layer_norm_eps": 0.1, "num_labels": 2},
    {"hidden_act": "relu", "num_hidden_layers": 1, "patch_size": 2},
]


@pytest.mark.parametrize("options", FORMS)
def test_both_wings_read_the_same(both, tmp_path, options):
    assert_read_alike(both, save(vit(**options), tmp_path))


@each("options", FORMS, nnx=FORMS[:1])
def test_vit_sees_the_same_classes(wing, rng, tmp_path, options):
    theirs = vit(**options)
    ours = load(save(theirs, tmp_path), wing.name)
    assert type(ours) is wing.lib.ViT
    shape = 2, ours.config.n_channels, *ours.config.image_shape
    assert_same_logits(wing, tmp_path, theirs, rng.standard_normal(shape, np.float32))


@pytest.mark.skipif(BEFORE_5, reason="transformers before 5 has the older names alone")
def test_vit_is_read_under_its_newer_names_too(wing, rng, tmp_path):
    theirs = vit()
    save(theirs, tmp_path)
    new = {name: p.detach().numpy() for name, p in theirs.named_parameters()}
    assert "vit.layers.0.attention.q_proj.weight" in new
    rewrite(tmp_path, lambda arrays: new)
    images = rng.standard_normal((2, 3, 14, 14), np.float32)
    assert_same_logits(wing, tmp_path, theirs, images)


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"qkv_bias": False}, "qkv_bias=False"),
        ({"patch_size": [7, 2]}, "patch_size=.7, 2.*squares"),
        ({"hidden_act": "quick_gelu"}, "hidden_act='quick_gelu'"),
        ({"head_dim": 5}, "head_dim=5"),
        ({"image_size": 15}, "patch"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_a_vit_that_is_none_of_ours_is_refused(tmp_path, changes, match):
    refuse(edit(save(vit(), tmp_path), **changes), match)


@pytest.mark.parametrize(
    "name", ["vit.embeddings.cls_token", "vit.embeddings.position_embeddings"]
)
def test_a_table_with_a_batch_in_it_is_refused(tmp_path, name):
    save(vit(), tmp_path)
    rewrite(tmp_path, lambda a: {**a, name: np.repeat(a[name], 2, axis=0)})
    refuse(tmp_path, r"\(2, \d, 12\)")
