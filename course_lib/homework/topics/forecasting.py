"""An exercise on forecasting: scaling windows without look-ahead."""

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
