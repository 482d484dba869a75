"""GPT: against the oracle, causality, positions, its start."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from models import count, randomize
from wings import assert_close

from course_lib import oracle
from course_lib.config import (
    ACTIVATIONS,
    NORM_KINDS,
    NORMS,
    POSITIONS,
    ROTARY_SCALINGS,
    GPTConfig,
    RotaryScaling,
)

B, T, V, MAX = 2, 5, 13, 11
CONFIG = GPTConfig(
    vocab_size=V, max_len=MAX, d_model=12, n_layers=2, n_heads=3, d_ff=17
)

UNBOUNDED = [p for p in POSITIONS if p not in ("learned", "sinusoidal")]

OPTIONS = st.fixed_dictionaries(
    {
        "position": st.sampled_from(POSITIONS),
        "norm": st.sampled_from(NORMS),
        "norm_kind": st.sampled_from(NORM_KINDS),
        "activation": st.sampled_from(ACTIVATIONS),
        "n_kv_heads": st.sampled_from([None, 1]),
        "bias": st.booleans(),
        "tie_head": st.booleans(),
    }
)


def vary(**options):
    return dataclasses.replace(CONFIG, **options)


def draw(rng, b=B, t=T):
    return rng.integers(0, V, (b, t))


@settings(max_examples=15)
@given(
    st.integers(0, 2**32 - 1), OPTIONS, st.sampled_from([(B, T), (1, 1)]), st.booleans()
)
def test_equals_the_oracle(wing, seed, options, sizes, padded):
    config = vary(**options)
    rng = np.random.default_rng(seed)
    ids = draw(rng, *sizes)
    mask = rng.random((sizes[0], 1, 1, sizes[1])) < 0.7 if padded else None
    model, weights = randomize(wing, wing.make(wing.lib.GPT, config))
    got = model(wing.array(ids), mask=None if mask is None else wing.array(mask))
    assert_close(wing.numpy(got), oracle.gpt(ids, weights, config, mask))


@pytest.mark.parametrize("position", POSITIONS)
def test_the_past_cannot_see_the_future(wing, rng, position):
    model, _ = randomize(wing, wing.make(wing.lib.GPT, vary(position=position)))
    ids = draw(rng)
    before = wing.numpy(model(wing.array(ids)))
    ids[:, 3] = (ids[:, 3] + 1) % V
    after = wing.numpy(model(wing.array(ids)))
    np.testing.assert_array_equal(after[:, :3], before[:, :3])
    assert (np.abs(after[:, 3:] - before[:, 3:]).max(axis=(0, 2)) > 1e-6).all()


def test_no_gradient_comes_from_the_future(wing):
    """Each token stands at one place only, so its row's gradient is that place's."""
    model, _ = randomize(wing, wing.make(wing.lib.GPT, vary(tie_head=False)))
    ids, t = np.array([[7, 2, 11, 5, 3]]), 2
    grads = wing.parameter_grads(model, lambda m: (m(wing.array(ids))[:, t] ** 2).sum())
    reached = np.abs(grads["tokens.weight"][ids[0]]).max(axis=1) > 0
    np.testing.assert_array_equal(reached, [True, True, True, False, False])
    reached = np.abs(grads["positions.table.weight"]).max(axis=1) > 0
    np.testing.assert_array_equal(reached, np.arange(MAX) <= t)


@pytest.mark.parametrize("position", POSITIONS)
def test_every_position_at_once_equals_one_after_the_other(wing, rng, position):
    model, _ = randomize(wing, wing.make(wing.lib.GPT, vary(position=position)))
    ids = draw(rng)
    whole = wing.numpy(model(wing.array(ids)))
    for t in (1, 3):
        assert_close(wing.numpy(model(wing.array(ids[:, :t])))[:, -1], whole[:, t - 1])


@pytest.mark.parametrize("position", POSITIONS)
def test_padding_at_the_end_changes_nothing(wing, rng, position):
    model, _ = randomize(wing, wing.make(wing.lib.GPT, vary(position=position)))
    ids = draw(rng)
    alone = wing.numpy(model(wing.array(ids[:, :3])))
    mask = wing.lib.padding_mask([3, 3], T)
    assert_close(wing.numpy(model(wing.array(ids), mask=mask))[:, :3], alone)


@pytest.mark.parametrize("position", UNBOUNDED)
def test_padding_in_front_changes_nothing_where_only_distance_counts(
    wing, rng, position
):
    model, _ = randomize(wing, wing.make(wing.lib.GPT, vary(position=position)))
    ids = draw(rng)
    alone = wing.numpy(model(wing.array(ids[:, 2:])))
    mask = np.arange(T)[None, None, None] >= 2
    padded = wing.numpy(model(wing.array(ids), mask=wing.array(mask)))
    assert_close(padded[:, 2:], alone)
    assert np.isfinite(padded).all()  # the padding itself may attend to nothing


@pytest.mark.parametrize("n_kv_heads", [None, 1])
@pytest.mark.parametrize("position", POSITIONS)
def test_a_cache_changes_nothing(wing, rng, position, n_kv_heads):
    config = vary(position=position, n_kv_heads=n_kv_heads)
    model, _ = randomize(wing, wing.make(wing.lib.GPT, config))
    ids = draw(rng, t=7)
    whole = wing.numpy(model(wing.array(ids)))
    cache = wing.lib.KVCache(
        config.n_layers,
        B,
        n_kv_heads or config.n_heads,
        MAX,
        config.d_head,
        like=wing.array(np.ones(1)),
    )
    parts = [
        wing.numpy(model(wing.array(ids[:, start:stop]), cache=cache))
        for start, stop in ((0, 3), (3, 4), (4, 5), (5, 7))
    ]
    assert_close(np.concatenate(parts, axis=1), whole)
    assert int(cache.length) == 7


def test_maps_of_every_layer_look_back_only(wing, rng):
    model, _ = randomize(wing, wing.make(wing.lib.GPT, CONFIG))
    maps = wing.lib.attention_maps(model, wing.array(draw(rng)))
    assert len(maps) == CONFIG.n_layers
    for layer in map(wing.numpy, maps):
        assert layer.shape == (B, CONFIG.n_heads, T, T)
        np.testing.assert_allclose(layer.sum(-1), 1)
        assert (np.triu(layer, 1) == 0).all()


def test_starts_as_gpt_2_does(wing):
    config = vary(vocab_size=1009, d_model=90, d_ff=210, n_layers=3, tie_head=False)
    model = wing.make(wing.lib.GPT, config)
    for name, w in wing.lib.get_weights(model).items():
        if name.endswith("bias"):
            assert (w == 0).all()
        elif "norm" in name:
            assert (w == 1).all()
        else:
            small = name.endswith(("o_proj.weight", "down_proj.weight"))
            std = 0.02 / np.sqrt(6) if small else 0.02
            # A sample's deviation errs by about 1 / sqrt(2 n); seven of these.
            assert np.isclose(w.std(), std, rtol=5 / np.sqrt(w.size)), name
            assert abs(w.mean()) < 5 * std / np.sqrt(w.size), name


def test_an_untrained_model_knows_nothing(wing, rng):
    logits = wing.numpy(wing.make(wing.lib.GPT, CONFIG)(wing.array(draw(rng))))
    loss = np.log(np.exp(logits).sum(-1)) - logits.mean(-1)
    np.testing.assert_allclose(loss, np.log(V), atol=0.05)


TODAY = {
    **{"head_dim": 6, "gated": True, "norm_kind": "rms", "position": "rotary"},
    **{"qkv_bias": True, "bias": False, "qk_norm": True, "rope_base": 50.0},
}
STRETCHED = {"factor": 3.0, "original_len": 40}
FORMS = [
    {"rope_scaling": RotaryScaling(kind=kind, **STRETCHED)} for kind in ROTARY_SCALINGS
] + [
    {"window": 2, "layer_pattern": ("global", "window"), "local_rope_base": 7.0},
    {"score_cap": 0.7, "logit_cap": 0.9, "attention_scale": 0.3},
    {"norm": "sandwich", "scale_embeddings": True, "activation": "gelu_tanh"},
    {"n_experts": 5, "activation": "silu", "norm": "sandwich"},
    {
        **{"n_experts": 5, "experts_per_token": 3, "n_shared_experts": 2},
        **{"expert_gate": "sigmoid", "normalize_gates": False, "balance_bias": True},
    },
]


@pytest.mark.parametrize("form", FORMS, ids=lambda form: "-".join(form))
def test_the_forms_of_today_equal_the_oracle(wing, rng, form):
    config, ids = vary(**(TODAY | form)), draw(rng)
    model, weights = randomize(wing, wing.make(wing.lib.GPT, config))
    mask = rng.random((B, 1, 1, T)) < 0.7
    got = model(wing.array(ids), mask=wing.array(mask))
    assert_close(wing.numpy(got), oracle.gpt(ids, weights, config, mask))
    cache = model.begin(B, MAX)
    parts = [model(wing.array(ids[:, s:e]), cache=cache) for s, e in ((0, 3), (3, T))]
    read = np.concatenate([wing.numpy(part) for part in parts], axis=1)
    assert_close(read, oracle.gpt(ids, weights, config))


@pytest.mark.parametrize(
    ("preset", "published"),
    [
        ("gpt2_medium", 354_823_168),
        ("gpt2_large", 774_030_080),
        ("gpt2_xl", 1_557_611_200),
        ("llama_3_2_1b", 1_235_814_400),
        ("llama_3_1_8b", 8_030_261_248),
        ("qwen3_0_6b", 596_049_920),
        ("qwen3_30b_a3b", 30_532_122_624),
        ("gemma3_1b", 999_885_952),
    ],
)
def test_larger_presets_have_the_published_number_too(both, preset, published):
    config = getattr(GPTConfig, preset)()
    assert count(both[0], "GPT", config) == published


@pytest.mark.parametrize(
    ("ids", "words"),
    [
        (np.ones((2, 12), int), ["max_len=11", "got 0 to 11", "Shorten"]),
        (np.ones(5, int), ["batch of token ids", "(5,)", "ids[None]"]),
        (np.ones((2, 0), int), ["neither of them 0", "(2, 0)"]),
        (np.ones((2, 5)), ["whole numbers", "float64"]),
    ],
)
def test_ids_that_are_none_are_refused(wing, no_hook, ids, words):
    with pytest.raises(ValueError) as error:  # noqa: PT011 the words are checked below
        wing.make(wing.lib.GPT, CONFIG)(wing.array(ids))
    for word in words:
        assert word in str(error.value), str(error.value)


@pytest.mark.parametrize("position", UNBOUNDED)
def test_without_a_table_no_length_is_too_long(wing, rng, position):
    model = wing.make(wing.lib.GPT, vary(position=position))
    logits = model(wing.array(draw(rng, t=2 * MAX)))
    assert np.isfinite(wing.numpy(logits)).all()
