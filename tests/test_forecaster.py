"""Forecaster: what is its own beside `test_models`: patches and order."""

from itertools import product

import numpy as np
from models import MODELS, B
from wings import assert_close, each

from course_lib.config import ADDED_POSITIONS, READINGS

CASE = MODELS["Forecaster"]
CONFIG = CASE.config
C, H = CONFIG.n_series, CONFIG.horizon


@each(
    ("position", "reading"),
    list(product(ADDED_POSITIONS, READINGS)),
    nnx=[("none", "mean"), ("none", "all"), ("learned", "mean")],
)
def test_only_without_positions_the_mean_of_the_tokens_knows_no_order(
    wing, rng, position, reading
):
    (past,) = CASE.draw(rng)
    shuffled = past.reshape(B, 3, 5, C)[:, [2, 0, 1]].reshape(past.shape)
    model = CASE.random(wing, position=position, reading=reading)
    before, after = (wing.numpy(model(wing.array(x))) for x in (past, shuffled))
    if position == "none" and reading == "mean":
        assert_close(after, before)
    else:
        assert np.abs(after - before).max() > 1e-3


def test_every_step_of_the_past_reaches_every_step_of_the_horizon(wing, rng):
    model, (past,) = CASE.random(wing), CASE.draw(rng)
    for h in range(H):
        (grad,) = wing.grad(lambda x, h=h: model(x)[:, h].sum(), past)
        assert (grad != 0).all()


def test_windows_do_not_see_each_other(wing, rng):
    model = CASE.random(wing)
    (past,) = CASE.draw(rng)
    together = wing.numpy(model(wing.array(past)))
    alone = [wing.numpy(model(wing.array(past[i : i + 1]))) for i in range(B)]
    assert_close(np.concatenate(alone), together)
