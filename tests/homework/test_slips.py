"""Every slip is named, and every right answer passes, however it is written.

What names a slip is NumPy, and knows no framework: so nearly all is tried in PyTorch,
and one answer of each kind in NNX. WINGS=all tries everything in both, as `make weekly`
does. That forbidden pieces are noticed has its own tests, in `test_marking.py`.
"""

import dataclasses
import functools

import answers_architectures  # noqa: F401
import answers_similarity  # noqa: F401
import answers_transformer  # noqa: F401
import numpy as np
import pytest
from students import RIGHT, WRONG, answer
from wings import ALL as EVERYTHING

from course_lib.homework import EXERCISES, PAGE_SEED
from course_lib.homework.marking import Marking
from course_lib.homework.running import Outcome, _to_wing, run


@functools.cache
def marking(name, wing="torch", seed=PAGE_SEED):
    exercise = dataclasses.replace(EXERCISES[name], forbidden=())
    return Marking(name, exercise, wing, seed)


def mark(name, f, wing, seed=PAGE_SEED):
    marker = marking(name, wing, seed)
    return marker.report(run(answer(name, f, wing), marker.task()))


@pytest.mark.parametrize("name", EXERCISES)
def test_right_answers_pass_on_the_page_and_on_fresh_cases(wing, name):
    assert len(RIGHT[name]) >= 2, f"two answers with @right({name!r}) are due"
    whole = EVERYTHING or wing.name == "torch"
    for f in RIGHT[name][: None if whole else 1]:
        for seed in (PAGE_SEED, 3, 71)[: 3 if EVERYTHING else 1 + whole]:
            report = mark(name, f, wing.name, seed)
            assert report, f"{f.__name__}: {report}"
            assert report.points == report.out_of > 0


WRONGS = [(name, words) for name in EXERCISES for words in WRONG[name]]


@pytest.mark.parametrize(("name", "words"), WRONGS)
def test_a_wrong_answer_is_called_by_its_slip(wing, name, words):
    if wing.name == "nnx" and not EVERYTHING and words != next(iter(WRONG[name])):
        return
    slips = [s for s in EXERCISES[name].slips if words in s]
    assert len(slips) == 1, f"{words!r} must be words of one slip: they are of {slips}"
    (slip,) = slips
    report = mark(name, WRONG[name][words], wing.name)
    assert not report
    assert slip in repr(report)
    # In every case that it spoils; an answer may raise where the slip fits no shape.
    for case in report.cases:
        assert case.passed or case.slip == slip or "it raised" in case.message, case


@pytest.mark.parametrize("name", EXERCISES)
def test_an_exercise_has_a_wrong_answer_and_so_has_a_slip_that_is_no_edit(name):
    """The numbers of an edit are looked at below, all of them."""
    due = [slip for slip, edit in EXERCISES[name].slips.items() if callable(edit)]
    for slip in due or [""]:
        assert any(words in slip or not slip for words in WRONG[name]), (
            f"wrong({name!r}, words, f) is due, in answers_*.py, with words of "
            f"{slip or 'one of its slips'!r}"
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

    assert marker.report(run(oracle, marker.task()))
