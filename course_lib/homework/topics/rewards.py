"""Exercises on learning from rewards: the advantages of a group of answers.

Shao et al. 2024, section 4.1.2, arXiv:2402.03300.
"""

import numpy as np

from course_lib.homework.exercise import EXERCISES, Exercise


def _cases(rng):
    checked = np.array([[1.0, 0, 0, 1, 0], [1, 1, 1, 0, 1], [0, 0, 0, 1, 0]])
    return {
        "rewards of any size": (rng.standard_normal((3, 7)), 1e-4),
        "right and wrong": (checked, 1e-4),
        "a large eps": (rng.standard_normal((2, 5)), 0.5),
        "a group that agrees": (np.array([[1.0, 0, 1], [0, 0, 0], [1, 1, 1]]), 0.1),
    }


def _group_advantages(rewards, eps):
    gaps = rewards - rewards.mean(axis=-1, keepdims=True)
    return gaps / (rewards.std(axis=-1, keepdims=True) + eps)


EXERCISES["group_advantages"] = Exercise(
    call="f(rewards, eps)",
    cases=_cases,
    oracle=_group_advantages,
    slips={
        "the mean is not subtracted": "rewards - rewards -> rewards + 0 * rewards",
        "the mean is that of all rewards; each row is a group and has its own": (
            "rewards.mean(axis=-1, keepdims=True) -> rewards.mean()"
        ),
        "the gaps are not divided by the standard deviation": (
            " / (rewards.std(axis=-1, keepdims=True) + eps) ->"
        ),
        "the deviation is that of all rewards; each row is a group and has its own": (
            "rewards.std(axis=-1, keepdims=True) -> rewards.std()"
        ),
        "the gaps are divided by the variance; take its root": (
            "rewards.std( -> rewards.var("
        ),
        "the variance is divided by G - 1; divide by G": (
            "rewards.std(axis=-1, -> rewards.std(axis=-1, ddof=1,"
        ),
        "eps is not added to the standard deviation": " + eps ->",
        "the sign is reversed: better than the mean is positive": (
            "return gaps -> return -gaps"
        ),
    },
)
