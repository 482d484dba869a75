"""An exercise on labels that a model guesses and a person checks in part."""

import numpy as np

from course_lib.homework.exercise import EXERCISES, Exercise


def _cases(rng):
    def sample(n_rows, n_checked, bias=0.0):
        truth = rng.standard_normal(n_rows) + 2
        guesses = truth + 0.5 * rng.standard_normal(n_rows) + bias
        checked = rng.permutation(n_rows)[:n_checked]
        return guesses, checked, truth[checked]

    return {
        "five of thirteen checked": sample(13, 5),
        "guesses that are too high": sample(11, 7, bias=3.0),
        "two checked": sample(17, 2, bias=-1.0),
    }


def _corrected_mean(guesses, checked, labels):
    n = len(labels)
    missed = labels - guesses[checked]
    variance = missed.var(ddof=1) / n
    error = np.sqrt(variance * (1 - n / len(guesses)))
    return guesses.mean() + missed.mean(), error


def _by_sums(guesses, checked, labels):
    """The same by the formulas of survey sampling, row by row."""
    rows, n = len(guesses), len(labels)
    missed = [y - guesses[i] for i, y in zip(checked, labels, strict=True)]
    total = sum(guesses) + rows / n * sum(missed)
    squares = sum((one - sum(missed) / n) ** 2 for one in missed) / (n - 1)
    variance_of_total = rows * (rows - n) * squares / n
    return np.array(total / rows), np.array(variance_of_total**0.5 / rows)


EXERCISES["corrected_mean"] = Exercise(
    call="f(guesses, checked, labels)",
    cases=_cases,
    oracle=_by_sums,
    equation=(_corrected_mean,),
    slips={
        "the sign of the correction is wrong: add label minus guess": (
            "guesses.mean() + -> guesses.mean() -"
        ),
        "the guesses alone are averaged; nothing is corrected": (
            "guesses.mean() + missed.mean() -> guesses.mean()"
        ),
        "the checked labels alone are averaged; the other guesses are not used": (
            "guesses.mean() + missed.mean() -> labels.mean()"
        ),
        "the variance is not divided by the number of checked rows": (
            "missed.var(ddof=1) / n -> missed.var(ddof=1)"
        ),
        "the variance is divided by n; n - 1 is asked for": "ddof=1 -> ddof=0",
        "rows are drawn without replacement: 1 minus the checked share is missing": (
            " * (1 - n / len(guesses)) ->"
        ),
        "this is the variance; the standard error is its square root": (
            "np.sqrt( -> np.asarray("
        ),
        "this is the standard error of the labels, not of label minus guess": (
            "missed.var( -> labels.var("
        ),
        "it is divided by the number of all rows, not of the checked ones": (
            "(ddof=1) / n -> (ddof=1) / len(guesses)"
        ),
    },
)
