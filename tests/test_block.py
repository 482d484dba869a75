"""The block and its parts: against the oracle, the built-ins, its forms, refusals."""

from itertools import product

import numpy as np
import pytest
from hypothesis import strategies as st
from models import assert_wings_agree, randomize
from wings import assert_close, assert_refused, drawn, each, few

from course_lib import oracle
from course_lib.config import ACTIVATIONS, NORM_KINDS, NORMS

B, T, S, D, H, F = 2, 3, 5, 14, 7, 11


def build_norm(wing, kind, eps=1e-5):
    if wing.name == "torch":
        return wing.lib.norm_layer(D, kind=kind, eps=eps)
    from flax import nnx

    return wing.lib.norm_layer(D, kind=kind, eps=eps, rngs=nnx.Rngs(0))


@pytest.mark.parametrize("name", ACTIVATIONS[:-1])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_activations_equal_the_oracle(wing, rng, name, dtype):
    x = (3 * rng.standard_normal((B, D))).astype(dtype)
    got = wing.numpy(wing.lib.activate(wing.array(x), name))
    assert str(got.dtype) == dtype
    assert_close(got, oracle.activate(x.astype(np.float64), name), dtype)


def test_the_two_gelus_differ(wing):
    x = wing.array(np.array([2.0]))
    exact, tanh = (wing.numpy(wing.lib.activate(x, n)) for n in ("gelu", "gelu_tanh"))
    assert 1e-5 < abs(exact - tanh)[0] < 1e-3
    assert_close(exact, [2 * 0.9772498680518208])  # 2 times the normal's probability


@drawn(
    st.integers(0, 2**32 - 1),
    st.sampled_from(ACTIVATIONS),
    st.sampled_from(
        [((B, T, D), "float64"), ((B, T, D), "float32"), ((1, 1, 1), "float64")]
    ),
    st.booleans(),
)
def test_feed_forward_equals_the_oracle(wing, seed, activation, sizes, bias):
    shape, dtype = sizes
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape).astype(dtype)
    model = wing.make(
        wing.lib.FeedForward, shape[-1], F, activation=activation, bias=bias
    )
    model, _ = randomize(wing, model)
    wing.cast(model, dtype)
    got = wing.numpy(model(wing.array(x)))
    expected = oracle.feed_forward(x, wing.lib.get_weights(model), activation)
    assert str(got.dtype) == dtype
    if dtype == "float32":  # one number may be a small difference of large ones
        np.testing.assert_allclose(got, expected, atol=1e-4, rtol=1e-4)
    else:
        np.testing.assert_allclose(got, expected, atol=1e-10, rtol=1e-10)


def test_the_width_between_is_four_times_the_models(wing):
    shapes = {
        n: w.shape
        for n, w in wing.lib.get_weights(wing.make(wing.lib.FeedForward, D)).items()
    }
    assert shapes["up_proj.weight"] == (4 * D, D)


def test_feed_forward_looks_at_each_position_alone(wing, rng):
    x = rng.standard_normal((B, T, D))
    model, _ = randomize(wing, wing.make(wing.lib.FeedForward, D, F))
    before = wing.numpy(model(wing.array(x)))
    x[:, 1] += 1
    after = wing.numpy(model(wing.array(x)))
    changed = np.abs(after - before).max(axis=(0, 2)) > 0
    np.testing.assert_array_equal(changed, [False, True, False])


@pytest.mark.parametrize("kind", NORM_KINDS)
@each(
    ("eps", "dtype"),
    list(product([1e-12, 1e-5, 0.1], ["float32", "float64"])),
    nnx=[(1e-12, "float32"), (0.1, "float64")],
)
def test_norms_equal_the_oracle(wing, rng, kind, eps, dtype):
    x = 2 + rng.standard_normal((B, T, D))
    x[0, 0] *= 1e-3  # small enough that eps shows, and where it stands
    x = x.astype(dtype)
    norm, _ = randomize(wing, build_norm(wing, kind, eps))
    wing.cast(norm, dtype)
    w = wing.lib.get_weights(norm)
    if kind == "layer":
        expected = oracle.layer_norm(x.astype(np.float64), w["weight"], w["bias"], eps)
    else:
        expected = oracle.rms_norm(x.astype(np.float64), w["weight"], eps)
    got = wing.numpy(norm(wing.array(x)))
    assert str(got.dtype) == dtype
    # The small vector lies near its own mean: 32 bits of it hold fewer digits.
    tolerance = {"float32": 1e-5, "float64": 1e-12}[dtype]
    np.testing.assert_allclose(got[1], expected[1], atol=tolerance)
    np.testing.assert_allclose(got[0], expected[0], atol=10 * tolerance)


def test_a_norm_forgets_shift_and_scale(wing, rng):
    x = rng.standard_normal((B, T, D))
    norm = wing.cast(build_norm(wing, "layer", 1e-12), "float64")
    y = wing.numpy(norm(wing.array(x)))
    np.testing.assert_allclose(y.mean(-1), 0, atol=1e-12)
    np.testing.assert_allclose(y.std(-1), 1, rtol=1e-10)
    np.testing.assert_allclose(wing.numpy(norm(wing.array(5 + 3 * x))), y, rtol=1e-9)


def test_a_far_mean_costs_layer_norm_few_digits(wing, rng):
    x = (1000 + rng.standard_normal((T, D))).astype("float32")
    got = wing.numpy(build_norm(wing, "layer")(wing.array(x)))
    ones, zeros = np.ones(D), np.zeros(D)
    expected = oracle.layer_norm(x.astype(np.float64), ones, zeros, 1e-5)
    np.testing.assert_allclose(got, expected, atol=2e-4)


OPTIONS = st.fixed_dictionaries(
    {
        "norm": st.sampled_from(NORMS),
        "norm_kind": st.sampled_from(NORM_KINDS),
        "activation": st.sampled_from(ACTIVATIONS),
        "bias": st.booleans(),
        "n_kv_heads": st.sampled_from([None, 1]),
        "cross_attention": st.booleans(),
    }
)


@drawn(
    st.integers(0, 2**32 - 1),
    OPTIONS,
    st.sampled_from([(1, 1, 1, 1), (2, 3, 5, 2)]),
    st.booleans(),
    st.booleans(),
    examples=20,
)
def test_equals_the_oracle(wing, seed, options, sizes, masked, turned):
    b, t, s, h = sizes
    d = 4 * h
    rng = np.random.default_rng(seed)
    x, memory = rng.standard_normal((b, t, d)), rng.standard_normal((b, s, d))
    mask = rng.random((b, 1, t, t)) < 0.6 if masked else None
    memory_mask = rng.random((b, 1, 1, s)) < 0.6 if masked else None
    bias = rng.standard_normal((h, t, t)) if masked else None
    rotary = wing.lib.Rotary(4) if turned else None
    model = wing.make(wing.lib.Block, d, h, F, norm_eps=1e-3, rotary=rotary, **options)
    model, weights = randomize(wing, model)
    cross = options["cross_attention"]

    def give(a, wanted=True):
        return None if a is None or not wanted else wing.array(a)

    got = model(
        wing.array(x),
        give(memory, cross),
        mask=give(mask),
        memory_mask=give(memory_mask, cross),
        score_bias=give(bias),
    )
    expected = oracle.block(
        x,
        weights,
        h,
        n_kv_heads=options["n_kv_heads"],
        form=options["norm"],
        activation=options["activation"],
        eps=1e-3,
        mask=mask,
        bias=bias,
        rotary_base=10000.0 if turned else None,
        memory=memory if cross else None,
        memory_mask=memory_mask,
    )
    assert_close(wing.numpy(got), expected)


@pytest.mark.parametrize("norm", few(NORMS, 2))
def test_wings_agree_in_every_gradient(both, rng, norm):
    x, memory = rng.standard_normal((B, T, D)), rng.standard_normal((B, S, D))
    assert_wings_agree(
        both,
        lambda w: w.make(w.lib.Block, D, H, F, norm=norm, cross_attention=True),
        lambda w, block: block(w.array(x), w.array(memory), causal=True),
    )


@pytest.mark.parametrize("norm", NORMS)
def test_a_block_that_says_nothing(wing, rng, norm):
    """With the last maps at 0, what is left is the bypass (and post's two norms)."""
    x = rng.standard_normal((B, T, D))
    model = wing.cast(wing.make(wing.lib.Block, D, H, F, norm=norm), "float64")
    weights = wing.lib.get_weights(model)
    for name in weights:
        if name.startswith(("attention.o_proj", "feed_forward.down_proj")):
            weights[name] = np.zeros_like(weights[name])
    wing.lib.set_weights(model, weights)
    expected = x
    if norm == "post":
        for _ in range(2):
            expected = oracle.layer_norm(expected, np.ones(D), np.zeros(D), 1e-5)
    assert_close(wing.numpy(model(wing.array(x))), expected)


def test_the_past_cannot_see_the_future(wing, rng):
    x = rng.standard_normal((B, T, D))
    model, _ = randomize(wing, wing.make(wing.lib.Block, D, H, F))
    before = wing.numpy(model(wing.array(x), causal=True))
    x[:, 1] += 1
    after = wing.numpy(model(wing.array(x), causal=True))
    np.testing.assert_array_equal(after[:, 0], before[:, 0])
    assert np.abs(after[:, 1:] - before[:, 1:]).max() > 1e-3


PLACES = ("attention.dropout", "cross_attention.dropout", "dropout")


def test_every_dropout_has_the_blocks_rate_but_the_mlps_whose_output_is_the_blocks(
    wing,
):
    block = wing.make(wing.lib.Block, D, H, F, dropout=0.3, cross_attention=True)
    rates = {name: wing.rate(part) for name, part in wing.dropouts(block).items()}
    assert rates == dict.fromkeys(PLACES, 0.3) | {"feed_forward.dropout": 0.0}
    mlp = wing.make(wing.lib.FeedForward, D, F, dropout=0.3)
    assert [wing.rate(part) for part in wing.dropouts(mlp).values()] == [0.3]


@pytest.mark.parametrize("place", PLACES)
def test_each_dropout_alone_acts_in_training_and_not_in_evaluation(wing, rng, place):
    x, memory = (wing.array(rng.standard_normal((B, n, D))) for n in (T, S))
    block = wing.make(wing.lib.Block, D, H, F, dropout=0.5, cross_attention=True)
    wing.cast(block, "float64")
    for name, part in wing.dropouts(block).items():
        wing.rate(part, 0.5 if name == place else 0.0)
    once = wing.numpy(block(x, memory))
    block.train()
    first, second = (wing.numpy(block(x, memory)) for _ in range(2))
    assert np.abs(first - once).max() > 1e-3
    assert np.abs(first - second).max() > 1e-3
    block.eval()
    np.testing.assert_array_equal(wing.numpy(block(x, memory)), once)


@pytest.mark.parametrize("part", ["attention", "cross_attention", "feed_forward"])
def test_what_a_part_adds_is_dropped_entry_by_entry(wing, rng, part):
    """With the other parts silent, an entry is kept and doubled, or it is dropped."""
    x, memory = (rng.standard_normal((B, n, D)) for n in (T, S))
    block = wing.make(wing.lib.Block, D, H, F, dropout=0.5, cross_attention=True)
    wing.cast(block, "float64")
    weights = wing.lib.get_weights(block)
    for name in weights:
        last = "down_proj" if name.startswith("feed_forward") else "o_proj"
        if last in name and not name.startswith(f"{part}."):
            weights[name] = np.zeros_like(weights[name])
    wing.lib.set_weights(block, weights)
    for name, dropout in wing.dropouts(block).items():
        wing.rate(dropout, 0.5 if name == "dropout" else 0.0)
    added = wing.numpy(block(wing.array(x), wing.array(memory))) - x
    block.train()
    trained = wing.numpy(block(wing.array(x), wing.array(memory))) - x
    kept = np.abs(trained) > 1e-9
    np.testing.assert_allclose(trained[kept], 2 * added[kept], atol=1e-9)
    assert 0.2 < kept.mean() < 0.8


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda w: w.make(w.lib.Block, D, H, norm="middle"),
            ["norm must be one of pre, post, res_post", "'middle'"],
        ),
        (
            lambda w: w.make(w.lib.Block, D, H, norm_kind="batch"),
            ["kind must be one of layer, rms", "'batch'"],
        ),
        (
            lambda w: w.make(w.lib.Block, D, H, norm_eps=0.0),
            ["eps must be positive", "0.0"],
        ),
        (
            lambda w: w.make(w.lib.FeedForward, D, activation="elu"),
            ["activation must be one of relu, gelu", "'elu'"],
        ),
        (
            lambda w: w.lib.activate(w.array(np.ones(3)), "swiglu"),
            ["name must be one of", "'swiglu'"],
        ),
        (
            lambda w: w.make(w.lib.Block, D, H, cross_attention=True)(
                w.array(np.ones((B, T, D), "float32"))
            ),
            ["must be given a memory", "encoder's output"],
        ),
        (
            lambda w: w.make(w.lib.Block, D, H)(
                *(w.array(np.ones((B, T, D), "float32")) for _ in range(2))
            ),
            ["cross_attention=False"],
        ),
        (
            lambda w: w.make(w.lib.Block, D, H, rotary=w.lib.Rotary(4)),
            ["d_head=4"],
        ),
    ],
)
def test_nonsense_is_refused(wing, call, words):
    assert_refused(lambda: call(wing), words)
