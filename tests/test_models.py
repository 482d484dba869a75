"""What all models share: accuracy, wings that agree, dropout, fixed tables, errors."""

from types import SimpleNamespace

import numpy as np
import pytest
from models import (
    MODELS,
    assert_wings_agree,
    count,
    dropouts,
    randomize,
    rates_of,
    set_rates,
)
from wings import assert_close

from course_lib import oracle
from course_lib.config import (
    ADDED_POSITIONS,
    GRID_POSITIONS,
    POSITIONS,
    READINGS,
    BERTConfig,
    GPTConfig,
    ViTConfig,
)

APART = {"share_embeddings": False, "target_vocab_size": 17}
VARIANTS = [
    ("GPT", {}),
    ("GPT", {"position": "sinusoidal", "norm": "post", "activation": "relu"}),
    ("GPT", {"position": "rotary", "norm_kind": "rms", "activation": "swiglu"}),
    (
        "GPT",
        {"position": "alibi", "norm": "res_post", "n_kv_heads": 1, "tie_head": False},
    ),
    ("GPT", {"position": "none", "activation": "silu", "bias": False}),
    ("GPT", {"position": "relative"}),
    ("BERTForMaskedLM", {}),
    ("BERTForMaskedLM", {"norm": "pre", "position": "rotary"}),
    ("BERTForMaskedLM", {"position": "alibi", "activation": "swiglu"}),
    ("BERTForMaskedLM", {"position": "sinusoidal"}),
    ("BERTForMaskedLM", {"position": "relative"}),
    ("BERTForClassification", {}),
    ("Seq2Seq", {}),
    ("Seq2Seq", {"activation": "silu", "head_bias": True, "interleaved": False}),
    ("Seq2Seq", {"position": "relative"}),
    ("Seq2Seq", {**APART, "tie_head": False, "norm": "pre", "position": "learned"}),
    *[("ViT", {"position": position}) for position in GRID_POSITIONS],
    *[
        ("Forecaster", {"position": position, "reading": reading})
        for position in ADDED_POSITIONS
        for reading in READINGS
    ],
]


@pytest.mark.parametrize(
    ("name", "options", "padded"),
    [
        *[(name, options, False) for name, options in VARIANTS],
        *[(name, {}, True) for name, case in MODELS.items() if case.mask],
    ],
)
def test_wings_agree_forward_and_in_every_gradient(both, rng, name, options, padded):
    case = MODELS[name]
    inputs = case.draw(rng)
    assert_wings_agree(
        both,
        lambda wing: case.build(wing, **options),
        lambda wing, model: case.call(wing, model, inputs, padded=padded),
    )


@pytest.mark.parametrize("name", MODELS)
def test_in_32_bits_it_equals_the_oracle_too(wing, rng, name):
    case = MODELS[name]
    model, _ = randomize(wing, case.build(wing))
    wing.cast(model, "float32")
    inputs = [x.astype("float32") if x.dtype.kind == "f" else x for x in case.draw(rng)]
    got = wing.numpy(case.call(wing, model, inputs, dtype="float32"))
    assert str(got.dtype) == "float32"
    weights = wing.lib.get_weights(model)
    weights = {path: w.astype(np.float64) for path, w in weights.items()}
    assert_close(got, case.expected(weights, case.config, *inputs), "float32")


RATE = 0.3
# Each dropout layer, and how often a forward pass goes through it: a block has one for
# the outputs of all its parts, two in an encoder and three in a decoder.
BLOCK = {"attention.dropout": 1, "dropout": 2}
DECODER = {"attention.dropout": 1, "cross_attention.dropout": 1, "dropout": 3}


def stack(name, parts):
    return {
        f"{name}.{layer}.{part}": n for layer in range(2) for part, n in parts.items()
    }


BERT = {"bert.dropout": 1, **stack("bert.blocks", BLOCK)}
PLACES = {
    "GPT": {"dropout": 1, **stack("blocks", BLOCK)},
    "BERTForMaskedLM": BERT,
    "BERTForClassification": {"dropout": 1, **BERT},
    "Seq2Seq": {
        "dropout": 2,  # source and target
        **stack("encoder", BLOCK),
        **stack("decoder", DECODER),
    },
    "ViT": {"dropout": 1, **stack("blocks", BLOCK)},
    "Forecaster": {"dropout": 1, **stack("blocks", BLOCK)},
}


@pytest.mark.parametrize("name", MODELS)
def test_every_place_drops_at_the_models_rate(wing, name):
    rates = rates_of(wing, dropouts(wing, MODELS[name].build(wing, dropout=RATE)))
    in_use = {path: rate for path, rate in rates.items() if rate}
    assert in_use == dict.fromkeys(PLACES[name], RATE)


@pytest.mark.parametrize(
    ("name", "options"),
    # Blocks are "post" in BERT and Seq2Seq, "pre" in the others.
    [*[(name, {}) for name in MODELS], ("GPT", {"norm": "res_post"})],
)
def test_every_place_alone_drops_in_training_and_only_there(wing, rng, name, options):
    case, inputs = MODELS[name], MODELS[name].draw(rng)
    model, _ = randomize(wing, case.build(wing, dropout=RATE, **options))
    layers = dropouts(wing, model)

    def run():
        return wing.numpy(case.call(wing, model, inputs))

    exact = run()
    np.testing.assert_array_equal(run(), exact)
    model.train()
    set_rates(wing, layers, {})
    assert_close(run(), exact)
    for place in PLACES[name]:
        set_rates(wing, layers, {place: 0.5})
        assert np.abs(run() - exact).max() > 1e-3, f"{place} drops nothing"


@pytest.mark.parametrize("name", MODELS)
def test_a_layer_drops_as_often_as_it_stands_in_the_model(wing, rng, name, monkeypatch):
    """One layer serves several places; each has to go through it."""
    case = MODELS[name]
    model, _ = randomize(wing, case.build(wing, dropout=RATE))
    layers = dropouts(wing, model)
    calls = dict.fromkeys(layers, 0)
    paths = {id(layer): path for path, layer in layers.items()}
    forward = "forward" if wing.name == "torch" else "__call__"
    kind = type(next(iter(layers.values())))
    original = getattr(kind, forward)

    def counted(layer, x, **options):
        calls[paths[id(layer)]] += 1
        return original(layer, x, **options)

    monkeypatch.setattr(kind, forward, counted)
    model.train()
    case.call(wing, model, case.draw(rng))
    for path, expected in PLACES[name].items():
        # In PyTorch, the framework's attention drops the weights itself.
        if not path.endswith("attention.dropout"):
            assert calls[path] == expected, path


FIXED = ("sinusoidal", "rotary", "alibi", "none")  # positions that learn nothing


@pytest.mark.parametrize("position", POSITIONS)
def test_fixed_tables_are_no_weights(wing, rng, position):
    case = MODELS["GPT"]
    model = case.build(wing, position=position)
    inputs = case.draw(rng)
    case.call(wing, model, inputs)
    weights = set(wing.lib.get_weights(model))
    plain = set(wing.lib.get_weights(case.build(wing, position="none")))
    learned = {path for path in weights if path.startswith("positions.")}
    assert bool(learned) != (position in FIXED), "FIXED lists what learns nothing"
    assert weights == plain | learned
    if wing.name == "torch":
        assert set(model.state_dict()) == weights
        assert not list(model.buffers())
    else:
        from flax import nnx

        rest = nnx.state(model, nnx.Not(nnx.Any(nnx.Param, nnx.RngState)))
        assert not nnx.to_flat_state(rest)


@pytest.mark.parametrize("position", FIXED)
def test_a_table_first_made_elsewhere_can_train(wing, rng, position):
    """Tables are kept: one made in inference mode or while tracing serves later too."""
    case = MODELS["GPT"]
    # A size of its own for each case, so that no other test has made the table.
    model, _ = randomize(wing, case.build(wing, position=position, d_model=66))
    inputs = case.draw(rng)
    ids = wing.array(inputs[0])
    if wing.name == "torch":
        import torch

        with torch.inference_mode():
            first = wing.numpy(model(ids))
    else:
        from flax import nnx

        first = wing.numpy(nnx.jit(lambda m, i: m(i))(model, ids))
    assert_close(wing.numpy(model(ids)), first)
    grads = wing.parameter_grads(model, lambda m: (m(ids) ** 2).sum())
    assert all(np.isfinite(g).all() for g in grads.values())


PUBLISHED = [
    (GPTConfig.gpt2, "GPT", 124_439_808),
    (BERTConfig.base, "BERT", 109_482_240),
    (ViTConfig.b16, "ViT", 86_567_656),
]


@pytest.mark.parametrize(("preset", "name", "number"), PUBLISHED)
def test_presets_have_the_published_number_of_parameters(wing, preset, name, number):
    assert count(wing, name, preset()) == number


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"std": 0.0}, ["std must be positive", "0.0"]),
        ({"n_residual": 0}, ["n_residual"]),
    ],
)
def test_a_start_at_zero_is_refused(wing, options, words):
    model = MODELS["GPT"].build(wing)
    before = wing.lib.get_weights(model)
    if wing.name == "nnx":
        from flax import nnx

        options = {**options, "rngs": nnx.Rngs(0)}
    with pytest.raises(ValueError) as error:  # noqa: PT011 the words are checked below
        wing.lib.normal_start(model, **options)
    for word in words:
        assert word in str(error.value), str(error.value)
    for path, w in wing.lib.get_weights(model).items():
        np.testing.assert_array_equal(w, before[path])


def test_the_oracle_refuses_a_position_scheme_that_it_lacks():
    config = SimpleNamespace(position="kerple", d_model=4, scale_embeddings=False)
    with pytest.raises(ValueError, match="no position scheme 'kerple'"):
        oracle.gpt(np.zeros((1, 3), int), {"tokens.weight": np.zeros((5, 4))}, config)
