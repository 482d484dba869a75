"""Exercises on kernel regression and the soft look-up, and a metric to be learned."""

import numpy as np

from course_lib import oracle
from course_lib.data.households import spending
from course_lib.homework import exercise as piece
from course_lib.homework.challenge import Challenge, Draw
from course_lib.homework.exercise import Exercise


def _cases(rng):
    def points(t, s, f, dv=1):
        return tuple(rng.standard_normal(shape) for shape in ((t, f), (s, f), (s, dv)))

    return {
        "several queries": (*points(3, 7, 1), 0.5),
        "one query": (*points(1, 5, 1), 1.3),
        "several features": (*points(3, 7, 2), 0.8),
        "several values": (*points(3, 7, 2, dv=5), 1.3),
    }


_BANDWIDTHS = {
    "h": lambda h: h,
    "no half": lambda h: h / np.sqrt(2),
    "1 / h": lambda h: 1 / h,
    "sqrt(h)": np.sqrt,
    "1": lambda h: 1.0,
}


def _regression(queries, keys, values, h, *, width="h", form="gauss", axis=-1, sign=-1):
    h = _BANDWIDTHS[width](h)
    squared = ((queries[:, None] - keys[None]) ** 2).sum(axis=-1)
    exponent = {
        "gauss": squared / (2 * h**2),
        "distance": np.sqrt(squared) / h,
        "half a distance": np.sqrt(squared) / (2 * h),
        "flat": 0 * squared,
    }[form]
    weights = np.exp(sign * exponent)
    if axis is None:
        return weights @ values
    return weights / weights.sum(axis=axis, keepdims=True) @ values


NADARAYA_WATSON = Exercise(
    call="f(queries, keys, values, bandwidth)",
    cases=_cases,
    oracle=lambda q, k, v, h: oracle.nadaraya_watson(q, k, v, h)[0],
    mistaken=_regression,
    slips={
        "the weights are not divided by their sum, so this is no average": {
            "axis": None
        },
        "the weights sum to 1 over the queries; they must over the keys": {"axis": 0},
        "the ½ in exp(-u²/2) is missing": {"width": "no half"},
        "the distance is multiplied by the bandwidth, not divided": {"width": "1 / h"},
        "the bandwidth is not squared: u = distance / h goes into u²": {
            "width": "sqrt(h)"
        },
        "the bandwidth is not used": {"width": "1"},
        "the distance is not squared": {"form": "distance"},
        "the distance, not its square, is halved and exponentiated": {
            "form": "half a distance"
        },
        "the sign is missing: weight must fall with distance": {"sign": 1},
        "all values count the same: this is their mean": {"form": "flat"},
    },
)


def _table(rng):
    def case(s, d, dv, temperature):
        shapes = ((d,), (s, d), (s, dv))
        return (*(rng.standard_normal(shape) for shape in shapes), temperature)

    return {
        "five keys": case(5, 3, 2, 1.0),
        "a low temperature": case(7, 2, 3, 0.3),
        "a high temperature": case(3, 5, 1, 4.0),
    }


def _lookup(query, keys, values, t, *, scores="dot", use="soft", heat="divide"):
    if scores == "dot":
        s = keys @ query
    else:
        s = -np.sqrt(((keys - query) ** 2).sum(axis=-1))
    s = {"divide": s / t, "multiply": s * t, "none": s}[heat]
    if use == "hard":
        return values[s.argmax()]
    w = np.exp(s - s.max())
    if use == "sum":
        return np.exp(s) @ values
    if use == "weights":
        return w / w.sum()
    if use == "flat":
        return values.mean(axis=0)
    return w / w.sum() @ values


SOFT_LOOKUP = Exercise(
    call="f(query, keys, values, temperature)",
    cases=_table,
    oracle=lambda query, keys, values, t: (
        oracle.softmax(keys @ query / t) @ values  # one row
    ),
    forbidden=(piece.PACKAGE, *piece.ATTENTION),
    mistaken=_lookup,
    slips={
        "this is the value of the best key alone, a look-up that is not soft": {
            "use": "hard"
        },
        "the weights are not divided by their sum, so this is no average": {
            "use": "sum"
        },
        "these are the weights; the average of the values is asked for": {
            "use": "weights"
        },
        "all values count the same: this is their mean": {"use": "flat"},
        "the temperature is not used": {"heat": "none"},
        "the scores are multiplied by the temperature, not divided": {
            "heat": "multiply"
        },
        "the score is minus the distance; the dot product is asked for": {
            "scores": "distance"
        },
    },
)

EXERCISES = {"nadaraya_watson": NADARAYA_WATSON, "soft_lookup": SOFT_LOOKUP}


def _economy(rng, *, n=200, n_new=500, n_features=12, noise=0.2):
    """Households described in their own units; two features of twelve matter."""
    features = rng.uniform(-1, 1, (n + n_new, n_features))
    truth = spending(features)
    values = truth + noise * rng.standard_normal(truth.shape)
    units = np.exp(rng.uniform(-3, 3, n_features))
    features = (features * units)[:, rng.permutation(n_features)]
    x, y, x_new, y_new = features[:n], values[:n], features[n:], values[n:]
    return Draw(
        arguments=(x, y, x_new),
        truth=y_new,
        shape=y_new.shape,
        baseline=_squared_error(_one_bandwidth(x, y, x_new), y_new),
        bound=_squared_error(truth[n:], y_new),
    )


def _one_bandwidth(x, y, x_new):
    """Standardize, then take the bandwidth with the smallest leave-one-out error."""
    mean, scale = x.mean(axis=0), x.std(axis=0)
    x, x_new = (x - mean) / scale, (x_new - mean) / scale
    squared = ((x[:, None] - x[None]) ** 2).sum(axis=-1)
    np.fill_diagonal(squared, np.inf)  # leave one out

    def error(h):
        kernel = np.exp(-squared / (2 * h**2))
        return _squared_error(kernel @ y / kernel.sum(axis=1, keepdims=True), y)

    h = min(np.geomspace(0.5, 10, 15), key=error)
    return oracle.nadaraya_watson(x_new, x, y, h)[0]


def _squared_error(predicted, values):
    return float(((predicted - values) ** 2).mean())


NEW_HOUSEHOLDS = Challenge(
    call="f(x, y, x_new)",
    draw=lambda rng: {name: _economy(rng) for name in ("one economy", "another")},
    score=_squared_error,
    measure="mean squared error",
    baseline="one bandwidth for all features",
    bound="the true surface",
)

CHALLENGES = {"new_households": NEW_HOUSEHOLDS}
