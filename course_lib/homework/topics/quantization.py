"""Exercises on quantization: a matrix rounded to few marks."""

import numpy as np

from course_lib.homework.exercise import EXERCISES, Exercise


def _cases(rng):
    return {
        "a step for each row": (rng.standard_normal((3, 5)), 7, 5),
        "groups": (rng.standard_normal((5, 12)), 7, 3),
        "an outlier in one group": (
            rng.standard_normal((2, 12)) + 40 * np.eye(2, 12),
            127,
            4,
        ),
        "negative weights alone": (-rng.random((3, 6)), 3, 2),
    }


def _absmax(w, q, group):
    groups = w.reshape(len(w), -1, group)
    step = np.abs(groups).max(axis=-1, keepdims=True) / q
    return (np.round(groups / step) * step).reshape(w.shape)


EXERCISES["absmax"] = Exercise(
    call="f(w, q, group)",
    cases=_cases,
    oracle=_absmax,
    slips={
        "a row has one step here: each of its groups needs a step of its own": (
            "reshape(len(w), -1, group) -> reshape(len(w), 1, -1)"
        ),
        "the whole matrix shares one step: take the largest of each group": (
            "max(axis=-1, keepdims=True) -> max()"
        ),
        "the largest weight counts by its size: take absolute values first": (
            "np.abs(groups).max -> groups.max"
        ),
        "these are the codes: multiply them by the step": (" * step ->"),
        "codes are cut off toward zero: round to the nearest": "np.round -> np.trunc",
        "codes are rounded down: round to the nearest": "np.round -> np.floor",
        "the step is the largest weight itself: divide it by q": " / q ->",
        "the step is twice too small: q marks lie on each side of zero": (
            " / q -> / (2 * q)"
        ),
        "the step is cut into q + 1 parts: the largest weight lands on q": (
            " / q -> / (q + 1)"
        ),
    },
)
