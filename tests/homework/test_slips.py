"""Every slip is named, and every right answer passes, however it is written."""

import dataclasses

import answers_architectures  # noqa: F401
import answers_similarity  # noqa: F401
import answers_transformer  # noqa: F401
import numpy as np
import pytest
from students import RIGHT, WRONG, answer

from course_lib.homework import EXERCISES, check
from course_lib.homework.marking import Marking
from course_lib.homework.running import Outcome, run, to_wing


@pytest.mark.parametrize("name", EXERCISES)
def test_right_answers_pass_on_the_page_and_on_fresh_cases(wing, name):
    assert len(RIGHT[name]) >= 2, f"two answers with @right({name!r}) are due"
    for f in RIGHT[name]:
        for seed in ({}, {"seed": 3}, {"seed": 71}):
            report = check(answer(name, f, wing.name), name, wing=wing.name, **seed)
            assert report, f"{f.__name__}: {report}"
            assert report.points == report.out_of > 0


@pytest.mark.parametrize(
    ("name", "words"), [(name, words) for name in EXERCISES for words in WRONG[name]]
)
def test_a_wrong_answer_is_called_by_its_slip(wing, name, words):
    slips = [s for s in EXERCISES[name].slips if words in s]
    assert len(slips) == 1, f"{words!r} must be words of one slip: they are of {slips}"
    (slip,) = slips
    report = check(answer(name, WRONG[name][words], wing.name), name, wing=wing.name)
    assert not report
    assert slip in repr(report)
    # In every case that it spoils; an answer may raise where the slip fits no shape.
    for case in report.cases:
        assert case.passed or case.slip == slip or "it raised" in case.message, case


@pytest.mark.parametrize("name", EXERCISES)
def test_every_slip_has_a_wrong_answer_of_its_own(name):
    for slip in EXERCISES[name].slips:
        assert any(words in slip for words in WRONG[name]), (
            f"wrong({name!r}, words, f) is due, in answers_*.py, with words of {slip!r}"
        )


@pytest.mark.parametrize("name", EXERCISES)
def test_the_equation_that_slips_edit_is_right(name):
    """Up to NaN, where an exercise warns of 0/0 or of overflow."""
    exercise = EXERCISES[name]
    unguarded = dataclasses.replace(exercise, slips={"the equation": ""})
    marking = Marking(name, exercise, "torch", 5)
    for case, due in zip(marking.cases.values(), marking.expected, strict=True):
        with np.errstate(all="ignore"):
            made = marking._arrays(unguarded.slip("the equation"), case)
        for got, right in zip(made, due, strict=True):
            agrees = np.isclose(got, right, atol=1e-6)
            assert (agrees | ("" in exercise.slips.values()) & np.isnan(got)).all()


@pytest.mark.parametrize("name", EXERCISES)
def test_slips_give_numbers_of_their_own_on_any_seed(name):
    for seed in (1964, 5):
        marking = Marking(name, EXERCISES[name], "torch", seed)
        cases = list(marking.cases.values())

        def outcomes(equation, marking=marking, cases=cases):
            for case in cases:
                with np.errstate(all="ignore"):
                    try:
                        yield Outcome(tuple(marking._arrays(equation, case)))
                    except (ValueError, IndexError):
                        yield Outcome(trouble="it raised an error")

        assert marking.report(outcomes(EXERCISES[name].oracle))
        spoiled = set()
        for slip in EXERCISES[name].slips:
            report = marking.report(outcomes(EXERCISES[name].slip(slip)))
            assert not report
            assert slip in [case.slip for case in report.cases]
            spoiled |= {case.name for case in report.cases if not case.passed}
        # In any other case, each wrong answer would earn its share of the points.
        assert spoiled == set(marking.cases), "a case that no slip spoils"


@pytest.mark.parametrize(
    "name", [name for name in EXERCISES if not EXERCISES[name].weights]
)
def test_the_oracle_itself_passes(wing, name):
    exercise = dataclasses.replace(EXERCISES[name], forbidden=())
    marking = Marking(name, exercise, wing.name, 2)
    due = iter(marking.expected)

    def oracle(*args, **kwargs):
        tensors = tuple(to_wing(x, wing.name) for x in next(due))
        return tensors if len(tensors) > 1 else tensors[0]

    assert marking.report(run(oracle, marking.task()))
