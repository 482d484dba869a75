"""Exercises on forecasting: scaling windows without look-ahead, marking intervals."""

import numpy as np

from course_lib.homework.exercise import EXERCISES, Exercise


def _cases(rng):
    def case(n, p, h):
        level = 5 * rng.standard_normal((n, 1))
        return level + rng.standard_normal((n, p)), level + rng.standard_normal((n, h))

    return {
        "two windows": case(2, 5, 3),
        "one step ahead": case(3, 7, 1),
        "seven windows": case(7, 4, 11),
    }


def _scaled(past, future):
    seen = past
    axis = 1
    mean = seen.mean(axis, keepdims=True)
    deviation = seen.std(axis, ddof=0, keepdims=True)
    return (future - mean) / deviation


EXERCISES["scale_by_past"] = Exercise(
    call="f(past, future)",
    cases=_cases,
    oracle=_scaled,
    slips={
        "past and future are in the moments; only the past may be": (
            "seen = past -> seen = np.concatenate([past, future], axis=1)"
        ),
        "these are the future's own moments; the past's are asked for": (
            "seen = past -> seen = future"
        ),
        "all windows share one mean and deviation; each has its own": (
            "axis = 1 -> axis = None"
        ),
        "the moments run over the windows; they must run over the steps": (
            "axis = 1 -> axis = 0; return -> mean, deviation = mean.mean(), "
            "deviation.mean()\n    return"
        ),
        "the deviation divides by n - 1, as torch.std does unless told otherwise": (
            "ddof=0 -> ddof=1"
        ),
        "this divides by the variance; its root is asked for": (
            "/ deviation -> / deviation**2"
        ),
        "the mean is not taken off": "- mean ->",
        "the deviation is not divided by": " / deviation ->",
        "this takes the last value off, not the mean of the past": (
            "- mean -> - seen[:, -1:]"
        ),
        "this is the past, scaled; the future is asked for": "(future - -> (past -",
    },
)


def _intervals(rng):
    def case(*shape):
        middle, width = rng.standard_normal(shape), 0.2 + rng.random(shape)
        # One forecast in three is missed, on either side.
        actual = middle + 2 * width * rng.choice([-1, 0.3, 1], shape)
        actual.flat[:2] = (middle - 2 * width).flat[:2]
        actual.flat[2:4] = (middle + 2 * width).flat[2:4]
        return middle - width, middle + width, actual

    return {
        "an 80% interval": (*case(11), 0.8),
        "a 50% interval": (*case(7), 0.5),
        "two series, 95%": (*case(5, 2), 0.95),
    }


def _interval_score(low, high, actual, share):
    outside = 1 - share
    below = np.maximum(low - actual, 0)
    above = np.maximum(actual - high, 0)
    score = (high - low) + 2 / outside * (below + above)
    return score.mean()


EXERCISES["interval_score"] = Exercise(
    call="f(low, high, actual, share)",
    cases=_intervals,
    oracle=_interval_score,
    slips={
        "the width of the interval is not counted": "(high - low) + ->",
        "the width counts as a reward; it is a cost": "(high - low) -> (low - high)",
        "a miss costs 1 / (1 - share) here; it costs 2 / (1 - share)": "2 / -> 1 /",
        "a miss costs 2 / share here; it costs 2 / (1 - share)": (
            "= 1 - share -> = share"
        ),
        "a miss is multiplied by 2 (1 - share), which is divided by": (
            "2 / outside -> 2 * outside"
        ),
        "what falls below the interval costs nothing here": "(below + above) -> above",
        "what falls above the interval costs nothing here": "(below + above) -> below",
        "misses are counted; their size is asked for": (
            "below + above) -> (below > 0) * 1.0 + (above > 0))"
        ),
        "misses are squared; their size is asked for": (
            "below + above) -> below**2 + above**2)"
        ),
        "this is the sum; the mean over all intervals is asked for": (
            "score.mean() -> score.sum()"
        ),
        "this is a score for each interval; their mean is asked for": (
            "score.mean() -> score"
        ),
    },
)
