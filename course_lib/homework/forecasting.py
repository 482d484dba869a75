"""Exercises on forecasting: putting windows on a scale without looking ahead."""

import numpy as np

from course_lib.homework.marking import Exercise


def _cases(rng):
    def case(n, p, h):
        level = 5 * rng.standard_normal((n, 1))
        return level + rng.standard_normal((n, p)), level + rng.standard_normal((n, h))

    return {
        "two windows": case(2, 5, 3),
        "one step ahead": case(3, 7, 1),
        "seven windows": case(7, 4, 11),
    }


def _by(seen, future):
    return (future - seen.mean(axis=1, keepdims=True)) / seen.std(axis=1, keepdims=True)


SCALE_BY_PAST = Exercise(
    call="f(past, future)",
    cases=_cases,
    oracle=_by,
    slips={
        "past and future are in the moments; only the past may be": (
            lambda p, f: _by(np.concatenate([p, f], axis=1), f)
        ),
        "these are the future's own moments; the past's are asked for": (
            lambda p, f: _by(f, f)
        ),
        "all windows share one mean and deviation; each has its own": (
            lambda p, f: (f - p.mean()) / p.std()
        ),
        "the moments run over the windows; they must run over the steps": (
            lambda p, f: (f - p.mean(axis=0).mean()) / p.std(axis=0).mean()
        ),
        "the deviation divides by n - 1, as torch.std does unless told otherwise": (
            lambda p, f: (
                (f - p.mean(axis=1, keepdims=True))
                / (p.std(axis=1, ddof=1, keepdims=True))
            )
        ),
        "this divides by the variance; its root is asked for": (
            lambda p, f: (
                (f - p.mean(axis=1, keepdims=True)) / p.var(axis=1, keepdims=True)
            )
        ),
        "the mean is not taken off": (lambda p, f: f / p.std(axis=1, keepdims=True)),
        "the deviation is not divided by": (
            lambda p, f: f - p.mean(axis=1, keepdims=True)
        ),
        "this takes the last value off, not the mean of the past": (
            lambda p, f: (f - p[:, -1:]) / p.std(axis=1, keepdims=True)
        ),
        "this is the past, scaled; the future is asked for": (lambda p, f: _by(p, p)),
    },
)

EXERCISES = {"scale_by_past": SCALE_BY_PAST}
