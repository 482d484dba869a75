"""Mixture of experts: nothing dropped, how it is balanced, and how it trains."""

import numpy as np
import pytest
from models import randomize
from wings import assert_close

from course_lib.config import Experts, TrainConfig

N, D, F, E = 11, 5, 7, 3


def make(wing, **options):
    experts = Experts(n_experts=E, **options)
    return wing.make(wing.lib.MixtureOfExperts, D, F, experts=experts)


def build(wing, **options):
    return randomize(wing, make(wing, **options))


def test_no_token_is_dropped_when_all_want_one_expert(wing, rng):
    """The output of a token does not depend on its company."""
    model, weights = build(wing, top_k=1)
    weights["router.weight"][:] = 0
    wing.lib.set_weights(model, weights)
    x = rng.standard_normal((N, D))
    together = wing.numpy(model(wing.array(x)))
    alone = [wing.numpy(model(wing.array(row[None])))[0] for row in x]
    assert_close(together, np.stack(alone))
    assert (np.abs(together).max(axis=1) > 1e-6).all()


def test_the_loss_is_one_in_balance_and_grows_to_the_number_of_experts(wing):
    even = wing.array(np.full((6, E), 1 / E))
    chosen = wing.array(np.arange(6)[:, None] % E)
    assert_close(wing.numpy(wing.lib.balance_loss(even, chosen)), 1.0)
    alone = wing.array(np.eye(E)[[0] * 6])
    none = wing.array(np.zeros((6, 1), int))
    assert_close(wing.numpy(wing.lib.balance_loss(alone, none)), float(E))


def test_the_loss_counts_more_choices_than_16_bits_can_hold(wing):
    alone = wing.array(np.eye(E, dtype=np.float16)[[0] * 70_000])
    loss = wing.lib.balance_loss(alone, wing.array(np.zeros((70_000, 1), int)))
    assert "float16" in str(loss.dtype)
    assert float(loss) == E


def test_the_bias_brings_idle_experts_to_work_and_leaves_the_gates(wing, rng):
    model, weights = build(wing, top_k=1, normalize=True, balance_bias=True)
    weights["balance"] = np.array([3.0, 0.0, 0.0])
    wing.lib.set_weights(model, weights)
    x = wing.array(rng.standard_normal((101, D)))
    assert (wing.numpy(model.route(x)[1]) == 0).all()
    for rate in [0.1] * 40 + [0.005] * 60:  # the last steps are small: no swings
        wing.lib.rebalance(model, model.route(x)[1], rate=rate)
    gates, chosen, shares = (wing.numpy(a) for a in model.route(x))
    assert np.bincount(chosen.ravel(), minlength=E).min() > 15
    assert_close(gates, np.ones_like(gates))  # of one expert, divided by itself
    assert_close(shares.sum(axis=-1), np.ones(101))


@pytest.mark.parametrize("top_k", [1, 2])
def test_a_router_learns_and_of_equals_takes_the_first(wing, rng, top_k):
    model, weights = build(wing, top_k=top_k)
    x = wing.array(rng.standard_normal((N, D)))
    grads = wing.parameter_grads(model, lambda model: (model(x) ** 2).sum())
    assert np.abs(grads["router.weight"]).max() > 1e-3
    weights["router.weight"][:] = 0
    wing.lib.set_weights(model, weights)
    assert (wing.numpy(model.route(x)[1]) == np.arange(top_k)).all()


def test_experts_train_in_mixed_precision(wing, rng):
    model = make(wing)
    x = rng.standard_normal((N, D)).astype("float32")

    def loss(model, x, y):
        return ((model(x) - y) ** 2).mean()

    config = TrainConfig(steps=9, learning_rate=0.01, precision="bfloat16")
    losses = wing.lib.fit(model, [(x, x)], loss, config=config).losses
    assert losses[-1] < losses[0]


def test_what_no_router_can_do_is_refused(wing):
    with pytest.raises(ValueError, match=r"top_k must be at most n_experts.*top_k=3"):
        build(wing, top_k=4)
    model, _ = build(wing)
    with pytest.raises(ValueError, match="balance_bias=True"):
        wing.lib.rebalance(model, wing.array(np.zeros((2, 1), int)))
