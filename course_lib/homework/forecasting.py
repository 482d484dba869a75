"""Exercises on forecasting: scaling windows and back-tests without look-ahead."""

import numpy as np

from course_lib import baselines
from course_lib.homework.exercise import Exercise


def _cases(rng):
    def case(n, p, h):
        level = 5 * rng.standard_normal((n, 1))
        return level + rng.standard_normal((n, p)), level + rng.standard_normal((n, h))

    return {
        "two windows": case(2, 5, 3),
        "one step ahead": case(3, 7, 1),
        "seven windows": case(7, 4, 11),
    }


def _scaled(past, future, *, seen="past", over="each", ddof=0, by="std", center="mean"):
    both = np.concatenate([past, future], axis=1)
    seen = {"past": past, "both": both, "future": future}[seen]
    mean, deviation = seen.mean(1, keepdims=True), seen.std(1, keepdims=True, ddof=ddof)
    if over == "all":
        mean, deviation = seen.mean(), seen.std(ddof=ddof)
    if over == "windows":
        mean, deviation = seen.mean(0).mean(), seen.std(0, ddof=ddof).mean()
    center = {"mean": mean, "none": 0, "last": seen[:, -1:]}[center]
    return (future - center) / {"std": deviation, "var": deviation**2, "none": 1}[by]


SCALE_BY_PAST = Exercise(
    call="f(past, future)",
    cases=_cases,
    oracle=_scaled,
    mistaken=_scaled,
    slips={
        "past and future are in the moments; only the past may be": {"seen": "both"},
        "these are the future's own moments; the past's are asked for": {
            "seen": "future"
        },
        "all windows share one mean and deviation; each has its own": {"over": "all"},
        "the moments run over the windows; they must run over the steps": {
            "over": "windows"
        },
        "the deviation divides by n - 1, as torch.std does unless told otherwise": {
            "ddof": 1
        },
        "this divides by the variance; its root is asked for": {"by": "var"},
        "the mean is not taken off": {"center": "none"},
        "the deviation is not divided by": {"by": "none"},
        "this takes the last value off, not the mean of the past": {"center": "last"},
        "this is the past, scaled; the future is asked for": (
            lambda p, f: _scaled(p, p)
        ),
    },
)


def _series_cases(rng):
    def case(steps, first, horizon):
        return rng.standard_normal(steps).cumsum(), first, horizon

    return {
        "one step ahead": case(11, 4, 1),
        "three steps ahead": case(17, 5, 3),
        "two origins": case(7, 3, 2),
    }


def _walk(known):
    return lambda past, horizon: np.repeat(past[-1:], horizon, axis=0)


def _oracle(series, first, horizon):
    origins = baselines.rolling_origins(len(series), horizon=horizon, first=first)
    return baselines.backtest(_walk, series[:, None], origins, horizon).mse[:, 0]


def _backtest(y, first, horizon, *, by="last", loss="squares", over="mean", drop=0):
    origins = np.arange(first, len(y) - horizon - drop)
    forecast = {
        "last": lambda t: y[t],
        "late": lambda t: y[t - 1],
        "ahead": lambda t: y[t + 1],
        "previous": lambda t: y[t : t + horizon],
        "mean": lambda t: y[: t + 1].mean(),
        "all": lambda t: y.mean(),
        "fixed": lambda t: y[first],
    }[by]
    errors = np.array([y[t + 1 : t + 1 + horizon] - forecast(t) for t in origins])
    errors = errors.reshape(-1, horizon)
    losses = {"squares": errors**2, "absolute": np.abs(errors), "errors": errors}[loss]
    return {
        "mean": lambda: losses.mean(axis=0),
        "sum": lambda: losses.sum(axis=0),
        "root": lambda: np.sqrt(losses.mean(axis=0)),
        "steps": lambda: losses.mean(axis=1),
        "all": lambda: losses.mean(),
    }[over]()


BACKTEST = Exercise(
    call="f(series, first, horizon), the mean squared errors of the random walk",
    cases=_series_cases,
    oracle=_oracle,
    mistaken=_backtest,
    slips={
        "the forecast is the value after the origin, which is not known yet": {
            "by": "ahead"
        },
        "each step is forecast by the value before it; at the origin only values up to "
        "the origin are known": {"by": "previous"},
        "the mean of the whole series looks ahead, and the forecast is the last "
        "value": {"by": "all"},
        "the forecast is the mean of what is known; the last value is asked for": {
            "by": "mean"
        },
        "the value before the origin is used; the origin itself is known": {
            "by": "late"
        },
        "every origin uses the first origin's value": {"by": "fixed"},
        "the last origin is missing: its horizon ends at the last value": {"drop": 1},
        "these are sums over the origins; the mean is asked for": {"over": "sum"},
        "these are roots of the mean squared errors": {"over": "root"},
        "the mean runs over the steps; it must run over the origins": {"over": "steps"},
        "this is one number; each step ahead has its own": {"over": "all"},
        "these are absolute errors; squares are asked for": {"loss": "absolute"},
        "the errors are not squared": {"loss": "errors"},
    },
)

EXERCISES = {"scale_by_past": SCALE_BY_PAST, "backtest": BACKTEST}
