"""Sinusoids: the floor by a second method, by regression, and by sampling."""

import math

import numpy as np
import pytest

from course_lib import data

FEW = {"past": 23, "horizon": 7, "periods": (5.0, 7.0, 11.0)}


def test_the_floor_equals_bayesian_regression_on_amplitudes():
    """Another road to the same number: the posterior of the amplitudes, then t + h."""
    d = data.sinusoids(3, seed=1, **FEW)
    angles = np.arange(30)[:, None] * d.frequencies
    basis = np.concatenate([np.sin(angles), np.cos(angles)], axis=1) / math.sqrt(3)
    seen, ahead = basis[:23], basis[23:]
    posterior = np.linalg.inv(seen.T @ seen / d.noise**2 + np.eye(6))
    variance = np.diag(ahead @ posterior @ ahead.T) + d.noise**2
    np.testing.assert_allclose(d.floor, variance, rtol=1e-9)
    mean = d.past @ seen @ posterior.T @ ahead.T / d.noise**2
    np.testing.assert_allclose(d.best()[0], mean, atol=1e-9)
    np.testing.assert_allclose(d.past @ d.linear[0].T, mean, atol=1e-9)


def test_with_all_frequencies_the_best_forecast_is_linear():
    d = data.sinusoids(5, seed=1, **FEW)
    mean, variance = d.best()
    np.testing.assert_allclose(mean, d.past @ d.linear[0].T, atol=1e-9)
    np.testing.assert_allclose(variance, np.tile(d.linear[1], (5, 1)))
    assert (d.floor > d.noise**2).all()


@pytest.mark.parametrize("n_active", [1, 2, 3])
def test_the_best_forecast_pays_the_floor_and_the_linear_one_its_own(n_active):
    d = data.sinusoids(5003, seed=3, n_active=n_active, **FEW)
    mean, variance = d.best()
    errors = ((d.future - mean) ** 2).mean(1)
    gap = errors - variance.mean(1)  # 0 on average if the variance is right
    assert abs(gap.mean()) < 4 * gap.std() / np.sqrt(len(gap))
    linear = ((d.future - d.past @ d.linear[0].T) ** 2).mean(1)
    error = linear.std() / np.sqrt(len(linear))
    assert abs(linear.mean() - d.linear[1].mean()) < 4 * error
    if n_active < 3:
        # What is missed beyond the noise is smaller by a quarter at least.
        best, line = d.floor.mean() - d.noise**2, d.linear[1].mean() - d.noise**2
        assert best < 0.75 * line


@pytest.mark.parametrize("n_active", [2, 3])
def test_no_regression_beats_the_best_linear_forecast(n_active):
    train = data.sinusoids(20011, seed=5, n_active=n_active, **FEW)
    test = data.sinusoids(20011, seed=6, n_active=n_active, **FEW)
    coefficients = np.linalg.lstsq(train.past, train.future, rcond=None)[0]
    mse = ((test.future - test.past @ coefficients) ** 2).mean()
    assert mse == pytest.approx(test.linear[1].mean(), rel=0.02)


def test_the_mixture_equals_bayes_rule_with_densities_written_out():
    d = data.sinusoids(4, seed=7, n_active=1, **FEW)
    mean, _ = d.best()
    for row in range(4):
        densities, means = [], []
        for w in d.frequencies:
            angles = np.arange(30) * w
            basis = np.stack([np.sin(angles), np.cos(angles)], axis=1)
            whole = basis @ basis.T + d.noise**2 * np.eye(30)
            past = whole[:23, :23]
            inverse = np.linalg.inv(past)
            power = d.past[row] @ inverse @ d.past[row]
            densities.append(np.exp(-power / 2) / np.sqrt(np.linalg.det(past)))
            means.append(whole[23:, :23] @ inverse @ d.past[row])
        weights = np.array(densities) / np.sum(densities)
        np.testing.assert_allclose(mean[row], weights @ np.array(means), atol=1e-9)


def test_little_noise_leaves_little_to_miss():
    d = data.sinusoids(3, seed=9, noise=1e-3, **FEW)
    assert d.floor.max() < 3 * d.noise**2


def test_the_signal_has_variance_one_and_the_noise_its_own():
    for n_active in (1, 3):
        d = data.sinusoids(5003, seed=11, n_active=n_active, **FEW)
        assert d.clean.var() == pytest.approx(1, rel=0.05)
        assert (d.future - d.clean).std() == pytest.approx(d.noise, rel=0.02)


def test_a_series_is_a_sum_of_its_active_sinusoids():
    d = data.sinusoids(7, seed=13, n_active=1, **FEW)
    angles = np.arange(23, 30)[:, None] * d.frequencies
    for row in d.clean:
        errors = []
        for k in range(3):
            basis = np.stack([np.sin(angles[:, k]), np.cos(angles[:, k])], axis=1)
            fitted = basis @ np.linalg.lstsq(basis, row, rcond=None)[0]
            errors.append(np.abs(fitted - row).max())
        assert min(errors) < 1e-9


def test_other_windows_may_be_forecast():
    d = data.sinusoids(7, seed=13, n_active=2, **FEW)
    mean, variance = d.best(d.past[2:5])
    np.testing.assert_allclose(mean, d.best()[0][2:5])
    assert variance.shape == (3, 7)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"periods": (2.0,)}, "longer than 2 steps"),
        ({"n_active": 5}, "from 1 to the number of periods, 4: got 5"),
        ({"noise": 0.0}, "above 0"),
        ({"past": 0}, "past"),
    ],
)
def test_refusals_say_what_came(settings, words):
    with pytest.raises(ValueError, match=words):
        data.sinusoids(3, seed=0, **settings)
