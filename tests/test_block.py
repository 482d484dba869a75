"""The block and its parts: dropout, far means, refusals."""

import numpy as np
import pytest
from wings import assert_refused

from course_lib import oracle

B, T, S, D, H, F = 2, 3, 5, 14, 7, 11


def test_the_width_between_is_four_times_the_models(wing):
    shapes = {
        n: w.shape
        for n, w in wing.lib.get_weights(wing.make(wing.lib.FeedForward, D)).items()
    }
    assert shapes["up_proj.weight"] == (4 * D, D)


def test_a_far_mean_costs_layer_norm_few_digits(wing, rng):
    x = (1000 + rng.standard_normal((T, D))).astype("float32")
    got = wing.numpy(wing.make(wing.lib.norm_layer, D)(wing.array(x)))
    ones, zeros = np.ones(D), np.zeros(D)
    expected = oracle.layer_norm(x.astype(np.float64), ones, zeros, 1e-5)
    np.testing.assert_allclose(got, expected, atol=2e-4)


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
