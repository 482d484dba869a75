"""Forecaster: against the oracle, patches, order, errors."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from models import randomize
from wings import assert_close

from course_lib import oracle
from course_lib.config import (
    ACTIVATIONS,
    ADDED_POSITIONS,
    NORMS,
    READINGS,
    ForecasterConfig,
)

B, C, P, H = 2, 3, 15, 7
CONFIG = ForecasterConfig(
    past=P,
    horizon=H,
    patch_size=5,
    n_series=C,
    d_model=12,
    n_layers=2,
    n_heads=3,
    d_ff=17,
)


def vary(**options):
    return dataclasses.replace(CONFIG, **options)


def draw(rng, config=CONFIG, b=B):
    return rng.standard_normal((b, config.past, config.n_series))


@settings(max_examples=10)
@given(
    st.integers(0, 2**32 - 1),
    st.fixed_dictionaries(
        {
            "position": st.sampled_from(ADDED_POSITIONS),
            "norm": st.sampled_from(NORMS),
            "activation": st.sampled_from(ACTIVATIONS),
            "reading": st.sampled_from(READINGS),
            "patch_size": st.sampled_from([1, 5, P]),
            "n_series": st.sampled_from([1, C]),
            "n_quantiles": st.sampled_from([None, 1, 2]),
            "horizon": st.sampled_from([1, H]),
        }
    ),
    st.sampled_from([1, B]),
)
def test_equals_the_oracle(wing, seed, options, b):
    config = vary(**options)
    past = draw(np.random.default_rng(seed), config, b)
    model, weights = randomize(wing, wing.make(wing.lib.Forecaster, config))
    got = wing.numpy(model(wing.array(past)))
    assert_close(got, oracle.forecaster(past, weights, config))


def test_without_positions_the_mean_of_the_tokens_knows_no_order(wing, rng):
    past = draw(rng)
    shuffled = past.reshape(B, 3, 5, C)[:, [2, 0, 1]].reshape(past.shape)
    for position in ADDED_POSITIONS:
        for reading in READINGS:
            config = vary(position=position, reading=reading)
            model, _ = randomize(wing, wing.make(wing.lib.Forecaster, config))
            before, after = (wing.numpy(model(wing.array(x))) for x in (past, shuffled))
            if position == "none" and reading == "mean":
                assert_close(after, before)
            else:
                assert np.abs(after - before).max() > 1e-3


def test_every_step_of_the_past_reaches_every_step_of_the_horizon(wing, rng):
    model, _ = randomize(wing, wing.make(wing.lib.Forecaster, CONFIG))
    for h in range(H):
        (grad,) = wing.grad(lambda x, h=h: model(x)[:, h].sum(), draw(rng))
        assert (grad != 0).all()


def test_windows_do_not_see_each_other(wing, rng):
    model, _ = randomize(wing, wing.make(wing.lib.Forecaster, CONFIG))
    past = draw(rng)
    together = wing.numpy(model(wing.array(past)))
    alone = [wing.numpy(model(wing.array(past[i : i + 1]))) for i in range(B)]
    assert_close(np.concatenate(alone), together)


def test_a_token_is_a_patch_of_all_series(wing, rng):
    model, _ = randomize(wing, wing.make(wing.lib.Forecaster, CONFIG))
    maps = wing.lib.attention_maps(model, wing.array(draw(rng)))
    assert [wing.numpy(m).shape for m in maps] == [(B, 3, 3, 3)] * 2
    assert wing.lib.get_weights(model)["patches.weight"].shape == (12, 5 * C)


@pytest.mark.parametrize(
    ("past", "words"),
    [
        (np.ones((B, C, P)), ["(batch, 15, 3)", "(2, 3, 15)", "time before series"]),
        (np.ones((B, P)), ["past[..., None]"]),
        (np.ones((B, P, C), int), ["floating-point", "int64"]),
    ],
)
def test_other_windows_are_refused(wing, no_hook, past, words):
    with pytest.raises(ValueError) as error:  # noqa: PT011 the words are checked below
        wing.make(wing.lib.Forecaster, CONFIG)(wing.array(past))
    for word in words:
        assert word in str(error.value), str(error.value)
