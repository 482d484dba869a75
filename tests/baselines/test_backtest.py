"""Back-tests: nothing after the origin is seen, and the rivals are statsmodels' own."""

import sys
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from course_lib import data
from course_lib.baselines import (
    autoregression,
    backtest,
    diebold_mariano,
    random_walk,
    vector_autoregression,
)

pytest.importorskip("statsmodels")

H = 5
METHODS = {
    "random walk": random_walk,
    "AR": autoregression(),
    "VAR": vector_autoregression(),
}


@pytest.fixture(scope="module")
def series():
    """Two series that drive each other: a VAR(2)."""
    rng = np.random.default_rng(7)
    y = np.zeros((149, 2))
    one, two = np.array([[0.5, 0.3], [-0.2, 0.6]]), np.array([[0.0, 0.0], [0.3, -0.4]])
    for t in range(2, len(y)):
        y[t] = 1 + one @ y[t - 1] + two @ y[t - 2] + rng.standard_normal(2)
    return y


@pytest.mark.parametrize("refit_every", [1, 3])
@pytest.mark.parametrize("name", METHODS)
def test_the_future_changes_no_forecast(series, name, refit_every):
    at = np.arange(101, len(series) - H, 5)
    before = backtest(METHODS[name], series, at, H, refit_every=refit_every)
    for i in (0, 3, 4):
        changed = series.copy()
        changed[at[i] + 1 :] += 97.0
        after = backtest(METHODS[name], changed, at, H, refit_every=refit_every)
        np.testing.assert_array_equal(
            before.forecasts[: i + 1], after.forecasts[: i + 1]
        )
        assert (before.actual[i] != after.actual[i]).all()


def test_a_method_is_handed_what_it_may_know_and_no_more(series):
    seen = []

    def fit(known):
        seen.append(("fit", len(known)))
        known[:] = 0.0  # what a method does to its copy concerns no one else

        def forecast(past, horizon):
            seen.append(("forecast", len(past)))
            assert past.base is None  # not a view, whose base would hold the future
            np.testing.assert_array_equal(past, series[: len(past)])
            return np.zeros((horizon, 2))

        return forecast

    backtest(fit, series, [100, 103, 107], H, refit_every=2)
    assert seen == [
        *(("fit", 101), ("forecast", 101), ("forecast", 104)),
        *(("fit", 108), ("forecast", 108)),
    ]


def test_errors_are_those_of_the_steps_that_followed(series):
    at = [100, 117]
    walk = backtest(random_walk, series, at, H)
    for h in range(1, H + 1):
        errors = np.array([series[t + h] - series[t] for t in at])
        np.testing.assert_allclose(walk.mse[h - 1], (errors**2).mean(0))
        np.testing.assert_allclose(walk.rmse[h - 1], np.sqrt((errors**2).mean(0)))
        for k in range(2):
            np.testing.assert_allclose(walk.losses(h, k), errors[:, k] ** 2)
    ar = backtest(METHODS["AR"], series, at, H)
    np.testing.assert_allclose(ar.relative_to(walk), ar.mse / walk.mse)


def by_least_squares(past, p, horizon):
    """An iterated VAR(p), or AR(p) for one series, by normal equations."""
    rows = [np.append(1, past[t - p : t][::-1].ravel()) for t in range(p, len(past))]
    b = np.linalg.lstsq(np.array(rows), past[p:])[0]
    known = list(past)
    for _ in range(horizon):
        known.append(np.append(1, np.array(known[len(known) - p :])[::-1].ravel()) @ b)
    return np.array(known[len(past) :])


def chosen_order(past, largest):
    """Order by BIC, all candidates on the same steps."""
    scores = []
    for p in range(largest + 1):
        rows = [
            np.append(1, past[t - p : t][::-1].ravel())
            for t in range(largest, len(past))
        ]
        x, y = np.array(rows), past[largest:]
        left = y - x @ np.linalg.lstsq(x, y)[0]
        size = np.linalg.slogdet(left.T @ left / len(y)).logabsdet
        scores.append(len(y) * size + np.log(len(y)) * x.shape[1] * y.shape[1])
    return int(np.argmin(scores))


def test_the_var_equals_least_squares_with_the_order_of_bic(series):
    p = chosen_order(series[:121], 3)
    assert p > 0
    made = backtest(METHODS["VAR"], series, [120], H).forecasts[0]
    np.testing.assert_allclose(made, by_least_squares(series[:121], p, H), rtol=1e-8)


def test_the_ar_equals_least_squares_with_the_order_of_bic(series):
    made = backtest(METHODS["AR"], series, [120], H).forecasts[0]
    for k in range(2):
        past = series[:121, [k]]
        p = chosen_order(past, 3)
        assert p > 0
        expected = by_least_squares(past, p, H)[:, 0]
        np.testing.assert_allclose(made[:, k], expected, rtol=1e-8)


def test_between_refits_the_coefficients_stay_and_the_past_goes_on(series):
    made = backtest(METHODS["VAR"], series, [100, 120], H, refit_every=2)
    forecast = METHODS["VAR"](series[:101])
    np.testing.assert_array_equal(made.forecasts[1], forecast(series[:121], H))
    anew = backtest(METHODS["VAR"], series, [120], H).forecasts[0]
    assert np.abs(made.forecasts[1] - anew).max() > 1e-3


def test_noise_without_memory_is_forecast_by_its_mean():
    noise = np.random.default_rng(0).standard_normal((101, 2))
    for name in ("AR", "VAR"):
        made = backtest(METHODS[name], noise, [80], 3).forecasts[0]
        np.testing.assert_allclose(made, np.tile(noise[:81].mean(0), (3, 1)))


def test_the_true_model_wins_and_the_test_says_so(series):
    at = np.arange(60, len(series) - 1)
    walk, var = (backtest(METHODS[m], series, at, 1) for m in ("random walk", "VAR"))
    assert (var.relative_to(walk) < 0.9).all()
    found = diebold_mariano(var.losses(1), walk.losses(1), lags=1)
    assert found.statistic < -2
    assert found.p_value < 0.05


def test_diebold_mariano_equals_its_formula(rng):
    ours, theirs = rng.random((2, 31))
    d = ours - theirs
    for lags in (0, 1, 7):
        centered = d - d.mean()
        variance = centered @ centered / 31
        for j in range(1, lags + 1):
            gamma = centered[j:] @ centered[:-j] / 31
            variance += 2 * (1 - j / (lags + 1)) * gamma
        found = diebold_mariano(ours, theirs, lags=lags)
        assert found.statistic == pytest.approx(d.mean() / np.sqrt(variance / 31))
        back = diebold_mariano(theirs, ours, lags=lags)
        assert back.statistic == pytest.approx(-found.statistic)
        assert back.p_value == pytest.approx(found.p_value)


def test_diebold_mariano_has_its_size_under_equal_accuracy():
    rng = np.random.default_rng(3)
    found = [diebold_mariano(*rng.random((2, 97)), lags=1).p_value for _ in range(400)]
    assert np.mean(np.array(found) < 0.05) == pytest.approx(0.05, abs=0.035)


def test_in_small_samples_the_statistic_is_that_of_harvey_and_others(rng):
    n, h = 37, 4
    y, one, two = rng.standard_normal((3, n))
    losses = (one - y) ** 2, (two - y) ** 2
    plain = diebold_mariano(*losses, lags=h - 1)
    found = diebold_mariano(*losses, lags=h - 1, small_sample=True)
    factor = np.sqrt((n + 1 - 2 * h + h * (h - 1) / n) / n)
    assert found.statistic == pytest.approx(factor * plain.statistic)
    tail = 2 * stats.t.sf(abs(found.statistic), n - 1)
    assert found.p_value == pytest.approx(tail)
    assert found.p_value > plain.p_value
    back = diebold_mariano(*losses[::-1], lags=h - 1, small_sample=True)
    assert back.p_value == pytest.approx(tail)  # whichever of the two is ahead


def normal_quantiles(known):
    """The band of a random walk with normal steps, of levels 0.1, 0.5 and 0.9."""
    spread = np.diff(known, axis=0).std(0)

    def forecast(past, horizon):
        roots = np.sqrt(np.arange(1, horizon + 1))[:, None, None]
        return past[-1][:, None] + roots * spread[:, None] * stats.norm.ppf(LEVELS)

    return forecast


LEVELS = (0.1, 0.5, 0.9)


def test_quantiles_are_marked_by_the_pinball_loss(series):
    at = np.arange(60, len(series) - H)
    made = backtest(normal_quantiles, series, at, H)
    assert made.forecasts.shape == (len(at), H, 2, 3)
    by_hand = np.mean(
        [
            np.where(u > 0, level * u, (level - 1) * u)
            for i, level in enumerate(LEVELS)
            for u in [made.actual - made.forecasts[..., i]]
        ],
        axis=0,
    )
    np.testing.assert_allclose(made.pinball(LEVELS), by_hand)
    inside = made.actual >= made.forecasts[..., 0]
    inside &= made.actual <= made.forecasts[..., 2]
    np.testing.assert_array_equal(made.inside, inside)


def test_a_random_walks_own_quantiles_cover_what_they_say():
    y = np.random.default_rng(5).standard_normal((2003, 1)).cumsum(0)
    at = np.arange(500, len(y) - 3, 3)
    made = backtest(normal_quantiles, y, at, 3)
    assert made.inside.mean(0)[:, 0] == pytest.approx([0.8] * 3, abs=0.05)
    middle = made.forecasts[..., 1:2]
    for stretch in (0.5, 1.5):
        worse = replace(made, forecasts=middle + stretch * (made.forecasts - middle))
        assert (worse.pinball(LEVELS).mean(0) > made.pinball(LEVELS).mean(0)).all()


def test_growth_from_1985_to_2007_is_forecast_better_by_an_autoregression():
    macro = data.macro()
    first, last = (macro.quarters.index(quarter) for quarter in ("1985Q1", "2007Q3"))
    at = np.arange(first, last + 1)
    assert len(at) == 91
    growth = macro.values[:, :1]
    walk, ar = (backtest(m, growth, at, 8) for m in (random_walk, autoregression()))
    found = ar.relative_to(walk)[[0, 3, 7], 0]
    np.testing.assert_allclose(found, [0.61, 0.64, 0.63], atol=0.006)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda y: backtest(random_walk, y[:13], [3, 10], 3), "from 0 to 9.*to 10"),
        (lambda y: backtest(random_walk, y, [-1], 3), "got -1 to -1"),
        (lambda y: backtest(random_walk, y, [9], 0), "horizon must be"),
        (lambda y: backtest(random_walk, y[:, 0], [9], 2), "series must be T C"),
        (lambda y: backtest(random_walk, y, [len(y) - 2], 2), "steps are left"),
        (lambda y: backtest(random_walk, y, [9], 2, refit_every=0), "refit_every"),
        (
            lambda y: backtest(lambda known: lambda past, h: past[:1], y, [9], 2),
            r"here \(2, 2\): got \(1, 2\)",
        ),
        (
            lambda y: backtest(normal_quantiles, y, [99], 2).mse,
            r"\(1, 2, 2, 3\). Their loss is pinball",
        ),
        (
            lambda y: backtest(normal_quantiles, y, [99], 2).pinball((0.1, 0.9)),
            "got 2 levels for quantiles of shape \\(3,\\)",
        ),
        (lambda y: backtest(random_walk, y, [99], 2).pinball((0.5,)), "got 1 levels"),
        (lambda y: diebold_mariano(y[:, 0], y[:, 0], lags=1), "different losses"),
        (lambda y: diebold_mariano(y[:3, 0], y[:4, 0], lags=1), "same origins"),
    ],
)
def test_refusals_say_the_rule(series, call, words):
    with pytest.raises(ValueError, match=words):
        call(series)


def test_other_origins_are_no_comparison(series):
    one, other = (backtest(random_walk, series, [t], 2) for t in (50, 51))
    with pytest.raises(ValueError, match="same origins"):
        one.relative_to(other)


@pytest.mark.parametrize(
    ("module", "call"),
    [
        ("statsmodels.tsa.ar_model", autoregression),
        ("statsmodels.tsa.api", vector_autoregression),
        ("statsmodels.api", lambda: diebold_mariano([1.0, 2], [2.0, 1], lags=1)),
    ],
)
def test_without_statsmodels_the_error_names_the_extra(monkeypatch, module, call):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=r"its extra \[data\]"):
        call()
