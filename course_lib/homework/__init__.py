"""Homework: a reader's own function or class, marked against the oracle.

    from course_lib.homework import check
    check(my_attention, "attention", wing="torch")

The report says whether the answer is right; if not, in which case it fails and which
slip would give exactly these numbers. It is true when the answer passed, so a grading
script writes `assert check(...)`.

An exercise is a few cases, the oracle's answer, and the slips worth naming, each one
the same equation with one mistake in it. They stand in this package, one file a topic.
"""

from course_lib.homework import (
    attention,
    bert,
    block,
    forecasting,
    gpt,
    kernel_regression,
    masks,
    multihead,
    peers,
    position,
    recurrent,
    sampling,
    seq2seq,
    tokens,
    vit,
)
from course_lib.homework.marking import Exercise, Report, mark

EXERCISES: dict[str, Exercise] = {
    **attention.EXERCISES,
    **bert.EXERCISES,
    **block.EXERCISES,
    **forecasting.EXERCISES,
    **gpt.EXERCISES,
    **kernel_regression.EXERCISES,
    **masks.EXERCISES,
    **multihead.EXERCISES,
    **peers.EXERCISES,
    **position.EXERCISES,
    **recurrent.EXERCISES,
    **sampling.EXERCISES,
    **seq2seq.EXERCISES,
    **tokens.EXERCISES,
    **vit.EXERCISES,
}


def check(answer, exercise: str, *, wing: str) -> Report:
    """Mark an answer to an exercise, and name the likely slip.

    Args:
        answer: The reader's function, or class if the exercise asks for one.
        exercise: The exercise's name, as the chapter gives it.
        wing: "torch" or "nnx": which kind of tensor the answer takes and returns.

    Returns:
        A report that prints as one sentence or two, and is true if the answer passed.

    Raises:
        ValueError: No exercise or wing of that name, or the answer can't be called. A
            wrong answer raises nothing, nor does one that raises errors of its own.
    """
    return mark(answer, exercise, EXERCISES, wing)


__all__ = ["EXERCISES", "Exercise", "Report", "check"]
