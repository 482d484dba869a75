"""Conditional logit by least squares: the truth is recovered, with its uncertainty."""

import sys

import numpy as np
import pytest

from course_lib import data
from course_lib.baselines import conditional_logit
from course_lib.baselines.conditional_logit import ConditionalLogit
from course_lib.data.firms import TRUE_THETA

pytest.importorskip("scipy")

Q, N, P = 13, 7, 3


def fit(e):
    return conditional_logit(e.inputs, e.pairs, e.last_return, e.next_return)


def chosen(pairs, theta):
    nothing = np.zeros(0)
    return ConditionalLogit(theta, 0.0, nothing, nothing).weights(pairs)


def test_weights_are_choice_probabilities_over_the_others(rng):
    pairs, theta = rng.standard_normal((Q, N, N, P)), rng.standard_normal(P)
    weights = chosen(pairs, theta)
    for q, i in np.ndindex(Q, N):
        heights = [np.exp(pairs[q, i, j] @ theta) * (i != j) for j in range(N)]
        np.testing.assert_allclose(weights[q, i], np.array(heights) / sum(heights))


def test_without_noise_the_coefficients_are_the_true_ones():
    e = data.economy(seed=3, n_quarters=31, n_firms=11, noise=0.0)
    found = fit(e)
    np.testing.assert_allclose(found.theta, TRUE_THETA, rtol=1e-5)
    assert found.gamma == pytest.approx(1.5)
    roa, leverage = (data.firms.FEATURES.index(name) for name in ("roa", "leverage"))
    expected = np.zeros(5)
    expected[roa], expected[leverage] = 0.4, -0.3
    np.testing.assert_allclose(found.beta[:5], expected, atol=1e-6)
    np.testing.assert_allclose(found.weights(e.pairs), e.relevance, atol=1e-5)


def test_estimates_scatter_around_the_truth_by_their_standard_errors():
    truth = np.array([*TRUE_THETA, 1.5])
    scores, distances = [], []
    for seed in range(24):
        found = fit(data.economy(seed=seed, n_quarters=61, n_firms=13))
        error = np.array([*found.theta, found.gamma]) - truth
        scores.append(error / found.standard_errors)
        distances.append(error @ np.linalg.solve(found.covariance, error))
    scores = np.array(scores)
    assert 0.85 < (np.abs(scores) < 2).mean() < 1
    # Together they are chi-squared with 5 degrees of freedom: mean 5, variance 10.
    assert np.mean(distances) == pytest.approx(5, abs=4 * np.sqrt(10 / 24))
    assert np.abs(scores.mean(axis=0)).max() < 4 / np.sqrt(24)
    assert 0.7 < np.sqrt((scores**2).mean()) < 1.3


@pytest.mark.parametrize(
    ("seed", "explained", "oracle"),
    [(0, 0.710, 0.711), (1, 0.736, 0.737), (2, 0.693, 0.696)],
)
def test_out_of_sample_it_comes_within_half_a_hundredth_of_the_oracle(
    seed, explained, oracle
):
    e = data.economy(seed=seed, n_quarters=240)
    train, test = e[:160], e[200:]
    found = fit(train)
    forecast = found.predict(test.inputs, test.pairs, test.last_return)
    assert data.r_squared(test.next_return, forecast) == pytest.approx(
        explained, abs=6e-4
    )
    assert data.r_squared(test.next_return, test.oracle) == pytest.approx(
        oracle, abs=6e-4
    )


def test_signed_weights_are_beyond_it():
    e = data.economy(seed=0, n_quarters=120, rivalry=1.5)
    train, test = e[:80], e[80:]
    found = fit(train)
    forecast = found.predict(test.inputs, test.pairs, test.last_return)
    explained = data.r_squared(test.next_return, forecast)
    assert explained < data.r_squared(test.next_return, test.oracle) - 0.2


def test_no_better_fit_is_found_around_the_solution(rng):
    e = data.economy(seed=7, n_quarters=31, n_firms=11)
    found = fit(e)
    best = (
        (found.predict(e.inputs, e.pairs, e.last_return) - e.next_return) ** 2
    ).sum()
    for _ in range(50):
        theta = found.theta + rng.normal(0, 0.05, 4)
        peers = np.einsum("qij,qj->qi", chosen(e.pairs, theta), e.last_return)
        x = np.concatenate([e.inputs, np.ones((31, 11, 1)), peers[..., None]], -1)
        x = x.reshape(31 * 11, -1)
        left = e.next_return.ravel() - x @ np.linalg.lstsq(x, e.next_return.ravel())[0]
        assert (left**2).sum() >= best * (1 - 1e-9)


def test_what_does_not_vary_over_peers_and_the_diagonal_change_nothing(rng):
    e = data.economy(seed=7, n_quarters=31, n_firms=11)
    pairs = e.pairs + rng.standard_normal((31, 11, 1, 4))  # the same for every peer j
    pairs[:, np.eye(11, dtype=bool)] = np.nan
    found = conditional_logit(e.inputs, pairs, e.last_return, e.next_return)
    np.testing.assert_allclose(found.theta, fit(e).theta, atol=1e-6)
    np.testing.assert_allclose(found.standard_errors, fit(e).standard_errors, rtol=1e-5)
    assert np.isfinite(found.predict(e.inputs, pairs, e.last_return)).all()


def test_shapes_that_do_not_fit_are_refused():
    e = data.economy(seed=7, n_quarters=3, n_firms=5)
    with pytest.raises(ValueError, match=r"got \(3, 5, 9\), \(3, 5, 5, 4\), \(3, 4\)"):
        conditional_logit(e.inputs, e.pairs, e.last_return[:, 1:], e.next_return)


def test_without_scipy_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy.optimize", None)
    e = data.economy(seed=7, n_quarters=3, n_firms=5)
    with pytest.raises(ImportError, match=r"its extra \[data\]"):
        fit(e)
