"""Every slip is named, and a right answer passes, however it is written.

That the usual right answer passes is shown by its page and its master, in both wings.
"""

import dataclasses
import functools

import numpy as np
import pytest
from students import LOOPS, WRONG, answer

from course_lib.homework import EXERCISES, PAGE_SEED, check
from course_lib.homework.marking import Marking
from course_lib.homework.running import Outcome, _to_wing, run, watching


@functools.cache
def marking(name, seed=PAGE_SEED):
    return Marking(name, EXERCISES[name], "torch", seed)


@pytest.mark.parametrize("name", LOOPS)
def test_a_right_answer_of_another_form_passes_and_calls_nothing_to_look_at(wing, name):
    report = check(answer(name, LOOPS[name], wing.name), name, wing=wing.name, seed=3)
    assert report, report
    assert report.called == ()
    assert report.points == report.out_of > 0


@pytest.mark.parametrize(("name", "words"), WRONG)
def test_a_wrong_answer_that_is_no_edit_is_called_by_its_slip(wing, name, words):
    (slip,) = [s for s in EXERCISES[name].slips if words in s]
    report = check(answer(name, WRONG[name, words], wing.name), name, wing=wing.name)
    assert not report
    assert slip in repr(report)
    assert all(case.passed or case.slip == slip for case in report.cases), report


def test_every_slip_that_is_no_edit_has_a_wrong_answer():
    for name, exercise in EXERCISES.items():
        for slip in (s for s, edit in exercise.slips.items() if callable(edit)):
            assert any(of == name and words in slip for of, words in WRONG), (
                f"students.py must have a wrong answer to {name!r}: {slip!r}"
            )


@pytest.mark.parametrize("name", EXERCISES)
def test_the_equation_that_slips_edit_is_right(name):
    """Up to NaN, where an exercise warns of 0/0 or of overflow."""
    exercise = EXERCISES[name]
    unguarded = dataclasses.replace(exercise, slips={"the equation": ""})
    marker = marking(name, seed=5)
    for case, due in zip(marker.cases.values(), marker.expected, strict=True):
        with np.errstate(all="ignore"):
            made = marker._arrays(unguarded.slip("the equation"), case)
        for got, right in zip(made, due, strict=True):
            agrees = np.isclose(got, right, atol=1e-6)
            assert (agrees | ("" in exercise.slips.values()) & np.isnan(got)).all()


@pytest.mark.parametrize("name", EXERCISES)
def test_slips_give_numbers_of_their_own_on_any_seed(name):
    for seed in (PAGE_SEED, 5):
        marker = marking(name, seed=seed)
        cases = list(marker.cases.values())

        def outcomes(equation, marker=marker, cases=cases):
            for case in cases:
                with np.errstate(all="ignore"):
                    try:
                        yield Outcome(tuple(marker._arrays(equation, case)))
                    except (ValueError, IndexError):
                        yield Outcome(trouble="it raised an error")

        assert marker.report(outcomes(EXERCISES[name].oracle))
        spoiled = set()
        for slip in EXERCISES[name].slips:
            report = marker.report(outcomes(EXERCISES[name].slip(slip)))
            assert not report
            assert slip in [case.slip for case in report.cases]
            spoiled |= {case.name for case in report.cases if not case.passed}
        # In any other case, each wrong answer would earn its share of the points.
        assert spoiled == set(marker.cases), "a case that no slip spoils"


@pytest.mark.parametrize(
    "name", [name for name in EXERCISES if not EXERCISES[name].weights]
)
def test_the_oracle_itself_passes(name):
    marker = marking(name, seed=5)
    due = iter(marker.expected)

    def oracle(*args, **kwargs):
        tensors = tuple(_to_wing(x, "torch") for x in next(due))
        return tensors if len(tensors) > 1 else tensors[0]

    task = marker.task()
    assert marker.report(run(oracle, task, watching(task, lambda *note: None)))
