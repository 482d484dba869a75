"""Exercises on quantization: a matrix rounded to few marks."""

import numpy as np

from course_lib.homework.exercise import EXERCISES, Exercise


def _weights(rng, rows, groups, group, q, signs=(-1, 1)):
    """Steps and q are powers of two.

    However a framework divides, the largest weight of a group then stands on the last
    mark, and an answer that rounds down leaves it there.
    """
    steps = 2.0 ** rng.integers(-3, 3, (rows, groups, 1))
    marks = rng.uniform(0, q, (rows, groups, group))
    marks[..., 0] = q
    marks *= rng.choice(signs, marks.shape)
    return (steps * rng.permuted(marks, axis=-1)).reshape(rows, -1)


def _cases(rng):
    outlier = _weights(rng, 2, 3, 4, 64)
    outlier[:, :4] *= 32
    return {
        "a step for each row": (_weights(rng, 3, 1, 5, 8), 8, 5),
        "groups": (_weights(rng, 5, 4, 3, 8), 8, 3),
        "an outlier in one group": (outlier, 64, 4),
        "negative weights alone": (_weights(rng, 3, 3, 2, 4, (-1,)), 4, 2),
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
