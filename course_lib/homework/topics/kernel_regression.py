"""Exercises on kernel regression and the soft look-up, and a metric to be learned."""

import numpy as np

from course_lib import oracle
from course_lib.homework import exercise as piece
from course_lib.homework.challenge import CHALLENGES, Challenge, Draw
from course_lib.homework.exercise import EXERCISES, Exercise, softmax


def _cases(rng):
    def points(t, s, f, dv=1):
        return tuple(rng.standard_normal(shape) for shape in ((t, f), (s, f), (s, dv)))

    return {
        "several queries": (*points(3, 7, 1), 0.5),
        "one query": (*points(1, 5, 1), 1.3),
        "several features": (*points(3, 7, 2), 0.8),
        "several values": (*points(3, 7, 2, dv=5), 1.3),
    }


def _regression(queries, keys, values, h):
    distance = np.sqrt(((queries[:, None] - keys[None]) ** 2).sum(axis=-1))
    u = distance / h
    weights = np.exp(-(u**2) / 2)
    return weights / weights.sum(axis=1, keepdims=True) @ values


EXERCISES["kernel_regression"] = Exercise(
    call="f(queries, keys, values, bandwidth)",
    cases=_cases,
    oracle=lambda q, k, v, h: oracle.kernel_regression(q, k, v, h)[0],
    equation=(_regression,),
    slips={
        "the weights are not divided by their sum, so this is no average": (
            " / weights.sum(axis=1, keepdims=True) ->"
        ),
        "the weights sum to 1 over the queries; they must over the keys": (
            "sum(axis=1 -> sum(axis=0"
        ),
        "the ½ in exp(-u²/2) is missing": " / 2) -> )",
        "the distance is multiplied by the bandwidth, not divided": "/ h -> * h",
        "only the keys are divided by the bandwidth; put the difference in "
        "parentheses": "keys[None] -> keys[None] / h; distance / h -> distance",
        "the bandwidth is not squared: u = distance / h goes into u²": (
            "/ h -> / np.sqrt(h)"
        ),
        "the bandwidth is not used": " / h ->",
        "the distance is not squared": "(u**2) / 2 -> u",
        "the distance, not its square, is halved and exponentiated": "u**2 -> u",
        "the sign is missing: weight must fall with distance": "exp(- -> exp(",
        "all values count the same: this is their mean": "exp(- -> exp(0 *",
    },
)


def _sample(rng):
    def sample(s, f, dv, h):
        return rng.standard_normal((s, f)), rng.standard_normal((s, dv)), h

    return {
        "one feature": sample(7, 1, 1, 0.5),
        "several features": sample(11, 3, 1, 0.9),
        "several values": sample(5, 2, 3, 1.3),
    }


def _left_out(keys, values, h):
    u = (keys[:, None] - keys[None]) / h
    scores = -(u**2).sum(axis=-1) / 2
    np.fill_diagonal(scores, -np.inf)
    weights = softmax(scores)
    return weights @ values


def _too_late(keys, values, h):
    scores = -(((keys[:, None] - keys[None]) / h) ** 2).sum(axis=-1) / 2
    weights = softmax(scores)
    np.fill_diagonal(weights, 0)
    return weights @ values


EXERCISES["leave_one_out"] = Exercise(
    call="f(keys, values, bandwidth)",
    cases=_sample,
    oracle=lambda k, y, h: np.concatenate(
        [
            oracle.kernel_regression(
                k[i : i + 1], np.delete(k, i, 0), np.delete(y, i, 0), h
            )[0]
            for i in range(len(k))
        ]
    ),
    equation=(_left_out,),
    slips={
        "each point is on its own list: its score for itself must be -inf": (
            "scores, -np.inf -> scores, 0"
        ),
        "the point is struck out after the softmax: its weights sum to less than 1": (
            _too_late
        ),
        "the errors are returned; the predictions are asked for": (
            "weights @ values -> weights @ values - values"
        ),
        "the bandwidth is not used": " / h ->",
    },
)


def _in_groups(rng):
    def sample(sizes, f, dv, h):
        groups = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
        n = len(groups)
        return rng.standard_normal((n, f)), rng.standard_normal((n, dv)), groups, h

    return {
        "three groups": sample((4, 3, 4), 2, 1, 0.9),
        "groups of different sizes": sample((1, 5, 2, 5), 1, 1, 0.5),
        "several values": sample((3, 4), 3, 2, 1.3),
    }


def _group_left_out(keys, values, groups, h):
    u = (keys[:, None] - keys[None]) / h
    scores = -(u**2).sum(axis=-1) / 2
    scores = np.where(groups[:, None] == groups, -np.inf, scores)
    weights = softmax(scores)
    return weights @ values


def _group_too_late(keys, values, groups, h):
    scores = -(((keys[:, None] - keys[None]) / h) ** 2).sum(axis=-1) / 2
    return np.where(groups[:, None] == groups, 0, softmax(scores)) @ values


EXERCISES["leave_group_out"] = Exercise(
    call="f(keys, values, groups, bandwidth)",
    cases=_in_groups,
    oracle=lambda k, y, groups, h: np.concatenate(
        [
            oracle.kernel_regression(k[i : i + 1], k[groups != g], y[groups != g], h)[0]
            for i, g in enumerate(groups)
        ]
    ),
    equation=(_group_left_out,),
    slips={
        "only the point itself is left out; its whole group must be": (
            "groups[:, None] == groups -> np.eye(len(keys), dtype=bool)"
        ),
        "nothing is left out: the score of a point's own group must be -inf": (
            "-np.inf -> scores"
        ),
        "only the point's own group is asked; it is the one to leave out": "== -> !=",
        "the group is struck out after the softmax: weights sum to less than 1": (
            _group_too_late
        ),
        "the errors are returned; the predictions are asked for": (
            "weights @ values -> weights @ values - values"
        ),
        "the ½ in exp(-u²/2) is missing": "(axis=-1) / 2 -> (axis=-1)",
        "the bandwidth is not used": " / h ->",
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


def _lookup(query, keys, values, temperature):
    scores = keys @ query
    weights = softmax(scores / temperature)
    return weights @ values


EXERCISES["soft_lookup"] = Exercise(
    call="f(query, keys, values, temperature)",
    cases=_table,
    oracle=lambda query, keys, values, t: (
        oracle.softmax(keys @ query / t) @ values  # one row
    ),
    equation=(_lookup,),
    forbidden=(piece.PACKAGE, *piece.ATTENTION),
    slips={
        "this is the value of the best key alone, a look-up that is not soft": (
            "weights @ values -> values[weights.argmax()]"
        ),
        "the weights are not divided by their sum, so this is no average": (
            "softmax( -> np.exp("
        ),
        "these are the weights; the average of the values is asked for": " @ values ->",
        "all values count the same: this is their mean": (
            "weights @ values -> values.mean(axis=0)"
        ),
        "the temperature is not used": " / temperature ->",
        "the scores are multiplied by the temperature, not divided": (
            "/ temperature -> * temperature"
        ),
        "the weights are divided by the temperature after the softmax; divide the "
        "scores before it": (" / temperature ->; weights @ -> weights / temperature @"),
        "the score is minus the distance; the dot product is asked for": (
            "keys @ query -> -np.linalg.norm(keys - query, axis=-1)"
        ),
    },
)


def _economy(rng, *, n=200, n_new=500, n_features=12, noise=0.2):
    """Households described in their own units; two features of twelve matter."""
    features = rng.uniform(-1, 1, (n + n_new, n_features))
    pace, shift = rng.uniform(2, 3.5, 2), rng.uniform(0, 2 * np.pi, 2)
    truth = np.sin(pace * features[:, :2] + shift).sum(axis=1, keepdims=True)
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
    return oracle.kernel_regression(x_new, x, y, h)[0]


def _squared_error(predicted, values):
    return float(((predicted - values) ** 2).mean())


CHALLENGES["new_households"] = Challenge(
    call="f(x, y, x_new)",
    draw=lambda rng: {name: _economy(rng) for name in ("one economy", "another")},
    score=_squared_error,
    measure="mean squared error",
    baseline="one bandwidth for all features",
    bound="the true surface",
)
