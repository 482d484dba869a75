"""What all models share: one function in both wings, causality, padding, counts."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from models import MODELS, THREE, B, S, T, V, assert_wings_agree, count
from wings import ALL, assert_close, assert_refused, each, few

from course_lib.config import (
    POSITIONS,
    BERTConfig,
    GPTConfig,
    Seq2SeqConfig,
    ViTConfig,
)

MASKED = [name for name, case in MODELS.items() if case.mask]
CAUSAL = ["GPT", "Seq2Seq"]


def placed(names):
    """Each of the models with each scheme of positions."""
    return [(name, position) for name in names for position in POSITIONS]


ONE_EACH = [*(("GPT", position) for position in THREE), ("Seq2Seq", "sinusoidal")]


@pytest.mark.parametrize("name", MODELS)
@settings(max_examples=12 if ALL else 5)
@given(st.integers(0, 2**32 - 1), st.booleans(), st.data())
def test_the_wings_agree_whatever_the_options(both, name, seed, padded, data):
    case, rng = MODELS[name], np.random.default_rng(seed)
    options = {
        field: data.draw(st.sampled_from(values), field)
        for field, values in case.choices.items()
    }
    options |= case.small if ALL and data.draw(st.booleans(), "small") else {}
    config = replace(case.config, **options)
    inputs = case.inputs(rng, config, bool(options.keys() & case.small.keys()))
    mask = rng.random((len(inputs[0]), 1, 1, inputs[0].shape[1])) < 0.7
    mask = mask if padded and case.mask else None
    assert_close(
        *(
            wing.numpy(case.call(wing, case.random(wing, **options), inputs, mask=mask))
            for wing in both
        )
    )


VARIANTS = [
    ("GPT", {}),
    ("GPT", {"position": "rotary", "norm_kind": "rms", "activation": "swiglu"}),
    ("BERTForMaskedLM", {}),
    ("BERTForClassification", {}),
    ("Seq2Seq", {**MODELS["Seq2Seq"].small, "tie_head": False, "position": "learned"}),
    ("ViT", {"position": "learned_2d"}),
    ("Forecaster", {}),
]
OTHERS = [
    (name, {field: value})
    for name, case in MODELS.items()
    for field, values in case.choices.items()
    for value in values
]


@pytest.mark.parametrize(
    ("name", "options", "padded"),
    [
        *[(name, {}, True) for name in few(MASKED[::-1], 1)],
        *[(name, options, False) for name, options in [*VARIANTS, *few(OTHERS, 0)]],
    ],
)
def test_wings_agree_forward_and_in_every_gradient(both, rng, name, options, padded):
    case = MODELS[name]
    inputs = case.draw(rng)
    length = inputs[0].shape[1]
    mask = np.arange(length) < np.array([3, length])[:, None, None, None]
    assert_wings_agree(
        both,
        lambda wing: case.build(wing, **{"n_layers": 1} | options),
        lambda wing, model: case.call(
            wing, model, inputs, mask=mask if padded else None
        ),
    )


@each("name", MODELS, nnx=["Seq2Seq"])
def test_32_bits_change_nothing_but_the_last_digits(wing, rng, name):
    case = MODELS[name]
    model = case.random(wing)
    inputs = case.draw(rng)
    exact = wing.numpy(case.call(wing, model, inputs))
    wing.cast(model, "float32")
    inputs = [x.astype("float32") if x.dtype.kind == "f" else x for x in inputs]
    got = wing.numpy(case.call(wing, model, inputs, dtype="float32"))
    assert str(got.dtype) == "float32"
    assert_close(got, exact, "float32")


@each(("name", "position"), placed(CAUSAL), nnx=ONE_EACH)
def test_the_past_cannot_see_the_future(wing, rng, name, position):
    case = MODELS[name]
    model = case.random(wing, position=position)
    inputs = case.draw(rng)
    before = wing.numpy(case.call(wing, model, inputs))
    inputs[-1][:, 3] = (inputs[-1][:, 3] + 1) % V
    after = wing.numpy(case.call(wing, model, inputs))
    np.testing.assert_array_equal(after[:, :3], before[:, :3])
    assert (np.abs(after[:, 3:] - before[:, 3:]).max(axis=(0, 2)) > 1e-6).all()


@each(
    ("name", "position"),
    placed(MASKED),
    nnx=[*ONE_EACH, ("BERTForMaskedLM", "learned")],
)
def test_padding_at_the_end_changes_nothing(wing, rng, name, position):
    case = MODELS[name]
    model = case.random(wing, position=position)
    inputs = case.draw(rng)
    length = inputs[0].shape[1]
    short = [x[:, :3] if x.shape[1] == length else x for x in inputs]
    alone = wing.numpy(case.call(wing, model, short))
    mask = np.arange(length)[None, None, None] < 3
    padded = wing.numpy(case.call(wing, model, inputs, mask=np.repeat(mask, B, axis=0)))
    assert_close(padded[:, : alone.shape[1]], alone)


@each(
    ("name", "position"),
    placed(["GPT", "BERTForMaskedLM"]),
    nnx=[("GPT", "learned"), ("GPT", "sinusoidal"), ("BERTForMaskedLM", "relative")],
)
def test_padding_in_front_changes_nothing(wing, rng, name, position):
    """With a cache neither, which begins with the padding."""
    case = MODELS[name]
    model = case.random(wing, position=position)
    ids = case.draw(rng)[0]
    alone = [wing.numpy(model(wing.array(ids[b : b + 1, 3 * b :])))[0] for b in (0, 1)]
    mask = np.arange(ids.shape[1]) >= np.array([0, 3])[:, None, None, None]
    found = wing.numpy(model(wing.array(ids), mask=wing.array(mask)))
    for b in (0, 1):
        assert_close(found[b, 3 * b :], alone[b])
    if name == "GPT":
        cache = model.begin(2, ids.shape[1])
        begun = mask[..., :4] if wing.name == "torch" else mask  # of the whole room
        model(wing.array(ids[:, :4]), mask=wing.array(begun), cache=cache)
        rest = model(wing.array(ids[:, 4:]), mask=wing.array(mask), cache=cache)
        assert_close(wing.numpy(rest), found[:, 4:])


@each("name", MASKED, nnx=["Seq2Seq"])
def test_a_sequence_of_nothing_but_padding_is_finite(wing, rng, name):
    case = MODELS[name]
    model = case.random(wing)
    inputs = case.draw(rng)
    mask = np.arange(inputs[0].shape[1]) < np.array([0, S])[:, None, None, None]

    def run(model):
        return case.call(wing, model, inputs, mask=mask)

    assert np.isfinite(wing.numpy(run(model))).all()
    grads = wing.parameter_grads(model, lambda model: (run(model) ** 2).sum())
    assert all(np.isfinite(g).all() for g in grads.values())


@each(
    ("name", "position", "n_kv_heads"),
    [(*case, n) for case in placed(CAUSAL) for n in (None, 1)],
    nnx=[*((*case, None) for case in ONE_EACH), ("GPT", "alibi", 1)],
)
def test_a_cache_changes_nothing(wing, rng, name, position, n_kv_heads):
    case = MODELS[name]
    model = case.random(wing, position=position, n_kv_heads=n_kv_heads)
    inputs = case.draw(rng)
    whole = wing.numpy(case.call(wing, model, inputs))
    first = B if name == "GPT" else model.encode(wing.array(inputs[0]))
    cache = model.begin(first, 7)
    ids = inputs[-1]
    parts = [
        wing.numpy(model.read(wing.array(ids[:, start:stop]), cache))
        for start, stop in ((0, 2), (2, 3), (3, 4), (4, T))
    ]
    assert_close(np.concatenate(parts, axis=1), whole)
    assert int(cache.length) == T


# Positions that look and that are looked at, layer by layer; True looks back only.
MAPS = {
    "GPT": [(T, T, True)] * 2,
    "BERTForMaskedLM": [(T, T, False)] * 2,
    "Seq2Seq": [(S, S, False)] * 2 + [(T, T, True), (T, S, False)] * 2,
    "ViT": [(7, 7, False)] * 2,  # a row for the class, and six patches
    "Forecaster": [(3, 3, False)] * 2,  # a token is a patch of all series
}


@pytest.mark.parametrize("name", MAPS)
def test_maps_come_layer_by_layer_own_before_cross(wing, rng, name):
    case = MODELS[name]
    first = case.draw(rng)[: 2 if name == "Seq2Seq" else 1]
    model = case.random(wing)
    maps = wing.lib.attention_maps(model, *map(wing.array, first))
    for found, (n_queries, n_keys, causal) in zip(maps, MAPS[name], strict=True):
        weights = wing.numpy(found)
        assert weights.shape == (B, case.config.n_heads, n_queries, n_keys)
        np.testing.assert_allclose(weights.sum(-1), 1)
        seen = np.tri(n_queries, n_keys, dtype=bool) | (not causal)
        np.testing.assert_array_equal((weights > 0).all((0, 1)), seen)


@pytest.mark.parametrize("name", ["GPT", "BERTForMaskedLM"])
def test_starts_as_its_paper_says(wing, name):
    apart = {"tie_head": False} if name == "GPT" else {}
    sizes = {"vocab_size": 1009, "d_model": 90, "d_ff": 210, "n_layers": 3}
    model = MODELS[name].build(wing, **sizes, **apart)
    for path, w in wing.lib.get_weights(model).items():
        if path.endswith("bias"):
            assert (w == 0).all(), path
        elif "norm" in path:
            assert (w == 1).all(), path
        else:
            residual = path.endswith(("o_proj.weight", "down_proj.weight"))
            std = 0.02 / np.sqrt(6) if residual and name == "GPT" else 0.02
            # A sample's deviation errs by about 1 / sqrt(2 n); seven of these.
            assert np.isclose(w.std(), std, rtol=5 / np.sqrt(w.size)), path
            assert abs(w.mean()) < 5 * std / np.sqrt(w.size), path


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
    layers = wing.dropouts(MODELS[name].build(wing, dropout=RATE))
    rates = {path: wing.rate(layer) for path, layer in layers.items()}
    in_use = {path: rate for path, rate in rates.items() if rate}
    assert in_use == dict.fromkeys(PLACES[name], RATE)


@each(
    ("name", "options"),
    # Blocks are "post" in BERT and Seq2Seq, "pre" in the others.
    [*[(name, {}) for name in MODELS], ("GPT", {"norm": "res_post"})],
    nnx=[("GPT", {}), ("Seq2Seq", {})],
)
def test_every_place_alone_drops_in_training_and_only_there(wing, rng, name, options):
    case, inputs = MODELS[name], MODELS[name].draw(rng)
    model = case.random(wing, dropout=RATE, **options)
    layers = wing.dropouts(model)

    def run():
        return wing.numpy(case.call(wing, model, inputs))

    exact = run()
    np.testing.assert_array_equal(run(), exact)
    model.train()
    for layer in layers.values():
        wing.rate(layer, 0.0)
    assert_close(run(), exact)
    for place in PLACES[name]:
        for path, layer in layers.items():
            wing.rate(layer, 0.5 if path == place else 0.0)
        assert np.abs(run() - exact).max() > 1e-3, f"{place} drops nothing"


@pytest.mark.parametrize("name", MODELS)
def test_a_layer_drops_as_often_as_it_stands_in_the_model(wing, rng, name, monkeypatch):
    """One layer serves several places; each has to go through it."""
    case = MODELS[name]
    model = case.random(wing, dropout=RATE)
    layers = wing.dropouts(model)
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


@pytest.mark.parametrize("position", ["sinusoidal", "rotary"])
def test_a_table_first_made_elsewhere_serves_later_too(wing, rng, position):
    """Tables are kept: one may have been made in inference mode, or while tracing."""
    case = MODELS["GPT"]
    # A size of its own for each case, so that no other test has made the table.
    model = case.build(wing, position=position, d_model=66, n_layers=1)
    ids = wing.array(case.draw(rng)[0])
    if wing.name == "torch":
        import torch

        with torch.inference_mode():
            first = wing.numpy(model(ids))
        grads = wing.parameter_grads(model, lambda m: (m(ids) ** 2).sum())
        assert all(np.isfinite(g).all() for g in grads.values())
        np.testing.assert_array_equal(wing.numpy(model(ids)), first)
    else:
        from flax import nnx

        first = wing.numpy(nnx.jit(lambda m, i: m(i))(model, ids))
        # Here a tracer that was left behind is an error.
        assert_close(wing.numpy(nnx.jit(lambda m, i: m(i))(model, ids)), first)


PRESETS = [
    ("GPT", GPTConfig.gpt2, (), 124_439_808),
    ("GPT", GPTConfig.gpt2_medium, (), 354_823_168),
    ("GPT", GPTConfig.gpt2_large, (), 774_030_080),
    ("GPT", GPTConfig.gpt2_xl, (), 1_557_611_200),
    ("GPT", GPTConfig.llama_3_2_1b, (), 1_235_814_400),
    ("GPT", GPTConfig.llama_3_1_8b, (), 8_030_261_248),
    ("GPT", GPTConfig.qwen3_0_6b, (), 596_049_920),
    ("GPT", GPTConfig.qwen3_30b_a3b, (), 30_532_122_624),
    ("GPT", GPTConfig.gemma3_1b, (), 999_885_952),
    ("BERT", BERTConfig.base, (), 109_482_240),
    ("BERT", BERTConfig.large, (), 335_141_888),
    ("BERTForMaskedLM", BERTConfig.base, (), 109_514_298),
    ("BERTForMaskedLM", BERTConfig.large, (), 335_174_458),
    ("BERTForClassification", BERTConfig.base, (2,), 109_483_778),
    ("ViT", ViTConfig.b16, (), 86_567_656),
    # PyTorch's own nn.Transformer, which has two norms more than the paper's figure 1,
    # and the table. Table 3 says 65 million.
    ("Seq2Seq", Seq2SeqConfig.base, (), 44_140_544 - 2 * 2 * 512 + 37000 * 512),
]


@each(("name", "preset", "more", "number"), PRESETS, nnx=PRESETS[:1])
def test_presets_have_the_published_number_of_parameters(
    wing, name, preset, more, number
):
    assert count(wing, name, preset(), *more) == number


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
    assert_refused(lambda: wing.lib.normal_start(model, **options), words)
    for path, w in wing.lib.get_weights(model).items():
        np.testing.assert_array_equal(w, before[path])
