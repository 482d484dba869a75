"""Forecaster: what is its own beside `test_models`: patches and order."""

import numpy as np
from models import MODELS, B
from wings import assert_close

CASE = MODELS["Forecaster"]
CONFIG = CASE.config
C, H = CONFIG.n_series, CONFIG.horizon


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
