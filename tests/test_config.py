"""Configurations: frozen, named, checked when made, and what presets say."""

import dataclasses

import pytest
from wings import assert_refused

from course_lib.config import (
    BERTConfig,
    ForecasterConfig,
    GPTConfig,
    Seq2SeqConfig,
    TrainConfig,
    ViTConfig,
)

SIZES = {"d_model": 12, "n_layers": 2, "n_heads": 3}
WORDS = {"vocab_size": 13, "max_len": 11}
MODELS = {
    GPTConfig: {**SIZES, **WORDS},
    BERTConfig: {**SIZES, **WORDS},
    Seq2SeqConfig: {**SIZES, **WORDS},
    ViTConfig: {**SIZES, "image_size": 8, "patch_size": 2, "n_classes": 5},
    ForecasterConfig: {**SIZES, "past": 6, "horizon": 5, "patch_size": 2},
}


@pytest.mark.parametrize("config", MODELS)
def test_a_configuration_is_frozen_named_and_hashable(config):
    options = MODELS[config]
    made = config(**options)
    with pytest.raises(dataclasses.FrozenInstanceError):
        made.d_model = 5
    with pytest.raises(TypeError):
        config(*options.values())
    assert made == config(**options)
    assert hash(made) == hash(config(**options))
    assert made != dataclasses.replace(made, n_layers=3)
    assert config(**dataclasses.asdict(made)) == made  # as it goes into a file


# What no model takes, and what one of them does not.
NONE = [
    ({"n_heads": 5}, ["n_heads must divide d_model", "n_heads=4"]),
    ({"n_kv_heads": 2}, ["n_kv_heads must divide n_heads"]),
    ({"dropout": 1.0}, ["dropout must be at least 0"]),
    ({"activation": "elu"}, ["activation must be one of relu", "'elu'"]),
    ({"activation": "geluu"}, ["got 'geluu'. Did you mean 'gelu'?"]),
    ({"norm": "none"}, ["norm must be one of pre, post, res_post"]),
    ({"norm_kind": "batch"}, ["norm_kind must be one of layer, rms"]),
    ({"norm_eps": 0.0}, ["norm_eps must be positive"]),
    ({"position": "2d"}, ["position must be one of learned", "'2d'"]),
]
REFUSED = [(config, bad, words) for config in MODELS for bad, words in NONE] + [
    (GPTConfig, {"d_model": 9, "position": "rotary"}, ["n_heads must be even", "3"]),
    (GPTConfig, {"d_model": 9, "position": "sinusoidal"}, ["d_model must be even"]),
    (GPTConfig, {"layer_pattern": ()}, ["length of layer_pattern must be a whole"]),
    (GPTConfig, {"rope_pattern": ()}, ["length of rope_pattern must be a whole"]),
    (ViTConfig, {"patch_size": 3}, ["must divide the image's height", "patch_size=2"]),
    (ViTConfig, {"image_size": (8, 9)}, ["divide the image's width", "patch_size=1"]),
    (ViTConfig, {"image_size": (8,)}, ["one number, or height"]),
    (ViTConfig, {"image_size": (0, 8)}, ["height must be a whole"]),
    (ViTConfig, {"position": "rotary"}, ["learned_2d, none"]),
    (
        ForecasterConfig,
        {"patch_size": 4},
        ["must divide past", "past=6", "patch_size=3"],
    ),
    (ForecasterConfig, {"position": "rotary"}, ["learned, sinusoidal, none"]),
    (
        Seq2SeqConfig,
        {"target_vocab_size": 17},
        ["one vocabulary", "vocab_size=13", "target_vocab_size=17"],
    ),
]


@pytest.mark.parametrize(("config", "bad", "words"), REFUSED)
def test_nonsense_is_refused(config, bad, words):
    assert_refused(lambda: config(**MODELS[config] | bad), words)


@pytest.mark.parametrize("bad", [0, -1, 1.5, True])
@pytest.mark.parametrize(
    ("config", "name"),
    [
        (config, field.name)
        for config in MODELS
        for field in dataclasses.fields(config)
        if field.name.startswith(
            ("vocab_", "target_v", "max_", "n_", "d_", "past", "horiz")
        )
    ],
)
def test_every_size_is_a_whole_number_of_at_least_1(config, name, bad):
    with pytest.raises(ValueError, match=rf"{name} must be a whole number of at leas"):
        config(**MODELS[config] | {name: bad})


GPT2 = {"norm": "pre", "norm_eps": 1e-5, "activation": "gelu_tanh"}
BERT = {"norm": "post", "norm_eps": 1e-12, "activation": "gelu"}
FIRST = {"norm": "post", "activation": "relu", "position": "sinusoidal"}
FIRST |= {"share_embeddings": True, "tie_head": True, "scale_embeddings": True}


@pytest.mark.parametrize(
    ("preset", "sizes", "form"),
    [  # d_model, n_layers, n_heads, as their papers and model cards give them
        (GPTConfig.gpt2, (768, 12, 12), GPT2),
        (GPTConfig.gpt2_medium, (1024, 24, 16), GPT2),
        (GPTConfig.gpt2_large, (1280, 36, 20), GPT2),
        (GPTConfig.gpt2_xl, (1600, 48, 25), GPT2),
        (BERTConfig.base, (768, 12, 12), BERT),
        (BERTConfig.large, (1024, 24, 16), BERT),
        (ViTConfig.b16, (768, 12, 12), BERT | {"norm": "pre", "grid": (14, 14)}),
        (Seq2SeqConfig.base, (512, 6, 8), FIRST),
    ],
)
def test_presets_are_the_published_ones(preset, sizes, form):
    config = preset()
    assert (config.d_model, config.n_layers, config.n_heads) == sizes
    assert config.d_head == 64
    assert config.d_ff in (None, 4 * config.d_model)
    assert {name: getattr(config, name) for name in form} == form


# Whoever leaves an argument out relies on what it is.
COMMON = {
    **{"n_kv_heads": None, "d_ff": None, "dropout": 0.0, "activation": "gelu"},
    **{"norm": "pre", "norm_kind": "layer", "norm_eps": 1e-5, "bias": True},
    "position": "learned",
}
DEFAULTS = {
    GPTConfig: {
        **COMMON,
        **{"tie_head": True, "head_dim": None, "gated": False, "qkv_bias": None},
        **{"o_bias": None, "qk_norm": False, "whole_qk_norm": False},
        **{"rope_base": 10000.0, "rope_scaling": None, "local_rope_base": None},
        **{"window": None, "layer_pattern": ("window",), "rope_pattern": (True,)},
        "attention_scale": None,
        **{"score_cap": None, "logit_cap": None, "scale_embeddings": False},
        "experts": None,
    },
    BERTConfig: {
        **COMMON,
        **{"norm": "post", "norm_eps": 1e-12, "n_token_types": 2},
        "relu_pooler": False,
    },
    ViTConfig: COMMON | {"norm_eps": 1e-12, "n_channels": 3},
    ForecasterConfig: {
        **COMMON,
        **{"patch_size": 1, "n_series": 1, "n_quantiles": None},
    },
    Seq2SeqConfig: {
        **COMMON,
        **{"activation": "relu", "norm": "post", "position": "sinusoidal"},
        **{"target_vocab_size": None, "n_decoder_layers": None},
        **{"share_embeddings": True, "tie_head": True, "head_bias": False},
        **{"scale_embeddings": True, "interleaved": True},
    },
    TrainConfig: {
        **{"steps": 1000, "learning_rate": 1e-3, "schedule": "constant"},
        **{"warmup": 0, "betas": (0.9, 0.999), "eps": 1e-8},
        **{"weight_decay": 0.01, "clip": 1.0, "accumulate": 1},
        **{"precision": "float32", "seed": 0, "evaluate_every": None},
        **{"patience": None, "checkpoint_every": None, "chunk": 8},
    },
}


@pytest.mark.parametrize("config", DEFAULTS)
def test_defaults_stay_what_they_are(config):
    fields = dataclasses.fields(config)
    given = {f.name: f.default for f in fields if f.default is not dataclasses.MISSING}
    assert given == DEFAULTS[config]
