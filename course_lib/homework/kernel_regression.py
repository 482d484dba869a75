"""Exercises on kernel regression."""

import numpy as np

from course_lib import oracle
from course_lib.homework.marking import Exercise


def _cases(rng):
    def points(t, s, f, dv=1):
        return tuple(rng.standard_normal(shape) for shape in ((t, f), (s, f), (s, dv)))

    return {
        "several queries": (*points(3, 7, 1), 0.5),
        "one query": (*points(1, 5, 1), 1.3),
        "several features": (*points(3, 7, 2), 0.8),
        "several values": (*points(3, 7, 2, dv=5), 1.3),
    }


def _weights(queries, keys, bandwidth):
    squared = ((queries[:, None] - keys[None]) ** 2).sum(axis=-1)
    return np.exp(-squared / (2 * bandwidth**2))


def _average(weights, values, axis=-1):
    return weights / weights.sum(axis=axis, keepdims=True) @ values


def _distance(queries, keys):
    return np.sqrt(((queries[:, None] - keys[None]) ** 2).sum(axis=-1))


NADARAYA_WATSON = Exercise(
    call="f(queries, keys, values, bandwidth)",
    cases=_cases,
    oracle=lambda q, k, v, h: oracle.nadaraya_watson(q, k, v, h)[0],
    slips={
        "the weights are not divided by their sum, so this is no average": (
            lambda q, k, v, h: _weights(q, k, h) @ v
        ),
        "the weights sum to 1 over the queries; they must over the keys": (
            lambda q, k, v, h: _average(_weights(q, k, h), v, axis=0)
        ),
        "the ½ in exp(-u²/2) is missing": (
            lambda q, k, v, h: _average(_weights(q, k, h / np.sqrt(2)), v)
        ),
        "the distance is multiplied by the bandwidth, not divided": (
            lambda q, k, v, h: _average(_weights(q, k, 1 / h), v)
        ),
        "the bandwidth is not squared: u = distance / h goes into u²": (
            lambda q, k, v, h: _average(_weights(q, k, np.sqrt(h)), v)
        ),
        "the bandwidth is not used": (
            lambda q, k, v, h: _average(_weights(q, k, 1.0), v)
        ),
        "the distance is not squared": (
            lambda q, k, v, h: _average(np.exp(-_distance(q, k) / h), v)
        ),
        "the distance, not its square, is halved and exponentiated": (
            lambda q, k, v, h: _average(np.exp(-_distance(q, k) / (2 * h)), v)
        ),
        "the sign is missing: weight must fall with distance": (
            lambda q, k, v, h: _average(1 / _weights(q, k, h), v)
        ),
        "all values count the same: this is their mean": (
            lambda q, k, v, h: np.tile(v.mean(axis=0), (len(q), 1))
        ),
    },
)

EXERCISES = {"nadaraya_watson": NADARAYA_WATSON}
