"""Configurations: frozen, named, checked when made, and what presets say."""

import dataclasses

import pytest

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
IMAGE = {"image_size": 8, "patch_size": 2, "n_classes": 5}
WINDOW = {"past": 6, "horizon": 5, "patch_size": 2}
MODELS = [
    (GPTConfig, {**SIZES, **WORDS}),
    (BERTConfig, {**SIZES, **WORDS}),
    (Seq2SeqConfig, {**SIZES, **WORDS}),
    (ViTConfig, {**SIZES, **IMAGE}),
    (ForecasterConfig, {**SIZES, **WINDOW}),
]


@pytest.mark.parametrize(("config", "options"), MODELS)
def test_a_configuration_is_frozen_named_and_hashable(config, options):
    made = config(**options)
    with pytest.raises(dataclasses.FrozenInstanceError):
        made.d_model = 5
    with pytest.raises(TypeError):
        config(*options.values())
    assert made == config(**options)
    assert hash(made) == hash(config(**options))
    assert made != dataclasses.replace(made, n_layers=3)
    assert config(**dataclasses.asdict(made)) == made  # as it goes into a file


@pytest.mark.parametrize(("config", "options"), MODELS)
@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ({"n_heads": 5}, ["n_heads must divide d_model", "n_heads=4"]),
        ({"n_kv_heads": 2}, ["n_kv_heads must divide n_heads"]),
        ({"dropout": 1.0}, ["dropout must be at least 0"]),
        ({"activation": "elu"}, ["activation must be one of relu", "'elu'"]),
        ({"activation": "geluu"}, ["got 'geluu'. Did you mean 'gelu'?"]),
        ({"norm": "none"}, ["norm must be one of pre, post, res_post"]),
        ({"norm_kind": "batch"}, ["norm_kind must be one of layer, rms"]),
        ({"norm_eps": 0.0}, ["norm_eps must be positive"]),
        ({"position": "2d"}, ["position must be one of learned", "'2d'"]),
    ],
)
def test_nonsense_is_refused(config, options, bad, words):
    with pytest.raises(ValueError) as error:  # noqa: PT011 the words are checked below
        config(**{**options, **bad})
    for word in words:
        assert word in str(error.value), str(error.value)


@pytest.mark.parametrize("bad", [0, -1, 1.5, True])
@pytest.mark.parametrize(
    ("config", "options", "name"),
    [
        (config, options, name)
        for config, options in MODELS
        for name in [f.name for f in dataclasses.fields(config)]
        if name.startswith(("vocab_", "target_v", "max_", "n_", "d_", "past", "horiz"))
    ],
)
def test_every_size_is_a_whole_number_of_at_least_1(config, options, name, bad):
    with pytest.raises(ValueError, match=rf"{name} must be a whole number of at leas"):
        config(**{**options, name: bad})


@pytest.mark.parametrize(
    ("config", "options", "words"),
    [
        (
            GPTConfig,
            {**SIZES, **WORDS, "d_model": 9, "position": "rotary"},
            ["d_head = d_model / n_heads must be even", "3"],
        ),
        (
            GPTConfig,
            {**SIZES, **WORDS, "d_model": 9, "position": "sinusoidal"},
            ["d_model must be even", "9"],
        ),
        (
            ViTConfig,
            {**SIZES, **IMAGE, "patch_size": 3},
            ["patch_size must divide the image's height", "patch_size=2"],
        ),
        (
            ViTConfig,
            {**SIZES, **IMAGE, "image_size": (8, 9)},
            ["patch_size must divide the image's width", "patch_size=1"],
        ),
        (ViTConfig, {**SIZES, **IMAGE, "image_size": (8,)}, ["one number, or height"]),
        (
            ViTConfig,
            {**SIZES, **IMAGE, "image_size": (0, 8)},
            ["height must be a whole"],
        ),
        (ViTConfig, {**SIZES, **IMAGE, "position": "rotary"}, ["learned_2d, none"]),
        (
            ForecasterConfig,
            {**SIZES, **WINDOW, "patch_size": 4},
            ["patch_size must divide past", "past=6", "patch_size=3"],
        ),
        (ForecasterConfig, {**SIZES, **WINDOW, "reading": "last"}, ["all, mean"]),
        (
            ForecasterConfig,
            {**SIZES, **WINDOW, "position": "rotary"},
            ["learned, sinusoidal, none"],
        ),
        (
            Seq2SeqConfig,
            {**SIZES, **WORDS, "target_vocab_size": 17},
            ["one vocabulary", "vocab_size=13", "target_vocab_size=17"],
        ),
    ],
)
def test_what_one_model_refuses(config, options, words):
    with pytest.raises(ValueError) as error:  # noqa: PT011 the words are checked below
        config(**options)
    for word in words:
        assert word in str(error.value), str(error.value)


@pytest.mark.parametrize(
    ("preset", "sizes"),
    [  # d_model, n_layers, n_heads, as their papers and model cards give them
        (GPTConfig.gpt2, (768, 12, 12)),
        (GPTConfig.gpt2_medium, (1024, 24, 16)),
        (GPTConfig.gpt2_large, (1280, 36, 20)),
        (GPTConfig.gpt2_xl, (1600, 48, 25)),
        (BERTConfig.base, (768, 12, 12)),
        (BERTConfig.large, (1024, 24, 16)),
        (ViTConfig.b16, (768, 12, 12)),
        (Seq2SeqConfig.base, (512, 6, 8)),
    ],
)
def test_presets_have_the_published_sizes(preset, sizes):
    config = preset()
    assert (config.d_model, config.n_layers, config.n_heads) == sizes
    assert config.d_head == 64
    assert config.d_ff in (None, 4 * config.d_model)


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
        **{"o_bias": None, "qk_norm": False, "rope_base": 10000.0},
        **{"rope_scaling": None, "local_rope_base": None, "window": None},
        **{"layer_pattern": ("window",), "attention_scale": None},
        **{"score_cap": None, "logit_cap": None, "scale_embeddings": False},
        **{"n_experts": None, "experts_per_token": 2, "n_shared_experts": None},
        **{"expert_gate": "softmax", "normalize_gates": True, "balance_bias": False},
    },
    BERTConfig: COMMON | {"norm": "post", "norm_eps": 1e-12, "n_token_types": 2},
    ViTConfig: COMMON | {"norm_eps": 1e-12, "n_channels": 3},
    ForecasterConfig: {
        **COMMON,
        **{"patch_size": 1, "n_series": 1, "n_quantiles": None, "reading": "all"},
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
        **{"warmup": 0, "floor": 0.0, "betas": (0.9, 0.999), "eps": 1e-8},
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


def test_presets_have_the_published_forms():
    gpt, bert, vit = GPTConfig.gpt2(), BERTConfig.base(), ViTConfig.b16()
    assert (gpt.norm, gpt.norm_eps, gpt.activation) == ("pre", 1e-5, "gelu_tanh")
    assert (bert.norm, bert.norm_eps, bert.activation) == ("post", 1e-12, "gelu")
    assert (vit.norm, vit.norm_eps, vit.activation) == ("pre", 1e-12, "gelu")
    assert vit.grid == (14, 14)
    first = Seq2SeqConfig.base()
    assert (first.norm, first.activation, first.position) == (
        "post",
        "relu",
        "sinusoidal",
    )
    assert first.share_embeddings
    assert first.tie_head
    assert first.scale_embeddings
