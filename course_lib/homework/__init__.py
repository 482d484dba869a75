"""Homework: a student's own function or class, marked against the oracle.

    from course_lib.homework import check
    check(my_attention, "attention", wing="torch")

The report says whether the answer is right; if not, in which case it fails and which
slip would give exactly these numbers. It is true when the answer passed, so a test is
`assert check(...)`, and `report.as_dict()` has every case for a machine to read.

`check` runs the answer here and now. A class is marked by `make grade`, in sandboxes
and on cases drawn afresh. A challenge is an open-ended task, whose answer has a score
between a baseline and a known bound instead of right or wrong.

Exercises stand in `course_lib.homework.topics`, one file a topic.
`course_lib.homework.exercise` shows how to add one of your own in ten lines.
"""

from course_lib.checks import check_choice
from course_lib.homework import topics  # noqa: F401 (they add what they hold)
from course_lib.homework.challenge import CHALLENGES, Challenge, Trial
from course_lib.homework.exercise import EXERCISES, Exercise
from course_lib.homework.marking import Marking, check_wing
from course_lib.homework.report import CaseMark, Marker, Report
from course_lib.homework.running import run, watching

PAGE_SEED = 1964  # Nadaraya, Watson


def make_marker(name: str, wing: str, seed: int) -> Marker:
    """What an answer is marked by: the cases of an exercise, the data of a challenge.

    Args:
        name: One of `EXERCISES` or `CHALLENGES`.
        wing: "torch" or "nnx".
        seed: Draws the cases.

    Returns:
        The task for the student's side, and the report on what came of it.
    """
    check_choice("exercise", name, (*EXERCISES, *CHALLENGES))
    if name in CHALLENGES:
        return Trial(name, CHALLENGES[name], wing, seed)
    return Marking(name, EXERCISES[name], wing, seed)


def check(
    answer, exercise: str, *, wing: str, seed: int = PAGE_SEED, seconds: float = 30.0
) -> Report:
    """Mark an answer to an exercise, and name the likely slip.

    Args:
        answer: The student's function, or class if the exercise asks for one.
        exercise: The exercise's or challenge's name, as the chapter gives it.
        wing: "torch" or "nnx": which kind of tensor the answer takes and returns.
        seed: Draws the cases. The default gives the same ones every time.
        seconds: Python code that runs longer in one case is interrupted. A challenge
            has its own limit.

    Returns:
        A report that prints as one sentence or two, and is true if the answer passed.

    Raises:
        ValueError: No exercise or wing of that name. A wrong answer raises nothing, nor
            does one that raises errors of its own.
        ImportError: The wing's framework is not installed.
    """
    check_choice("wing", wing, ("torch", "nnx"))
    check_wing(wing)
    marker = make_marker(exercise, wing, seed)
    notes: list[tuple[str, str]] = []
    task = marker.task(seconds=seconds)
    watched = watching(task, lambda *note: notes.append(note))
    outcomes = list(run(answer, task, watched))
    return marker.report(outcomes, notes)


__all__ = [
    "CHALLENGES",
    "EXERCISES",
    "CaseMark",
    "Challenge",
    "Exercise",
    "Report",
    "check",
]
