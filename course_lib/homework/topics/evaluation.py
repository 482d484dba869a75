"""An exercise on evaluation: of several tries at a question, is one right?

Chen et al. 2021, section 2.1, arXiv:2107.03374.
"""

import math

import numpy as np

from course_lib.homework.exercise import EXERCISES, Exercise


def _cases(rng):
    return {
        "two of seven": (7, rng.permutation(7), 2),
        "more tries than wrong ones": (11, rng.integers(2, 11, 5), 9),
        "three of nineteen": (19, rng.permutation(19)[:13], 3),
    }


def _counted(n, c, k):
    none_right = [math.comb(n - right, k) for right in c]
    return 1 - np.array(none_right) / math.comb(n, k)


def _pass_at_k(n, c, k):
    j = np.arange(k)  # those drawn before
    return 1 - ((n - c[:, None] - j) / (n - j)).prod(axis=-1)


EXERCISES["pass_at_k"] = Exercise(
    call="f(n, c, k)",
    cases=_cases,
    oracle=_counted,
    equation=(_pass_at_k,),
    slips={
        "this is 1 - (1 - c/n)^k, which is too low on average; draw k of the n tries "
        "without putting any back": "j = np.arange(k) -> j = np.zeros(k)",
        "this is the chance that none of the k is right; take it from 1": "1 - ( -> (",
        "this is the chance that all k are right; one is enough": (
            "1 - ((n - c[:, None] - j) -> ((c[:, None] - j).clip(0)"
        ),
        "this is c / n, the chance of a single try": "np.arange(k) -> np.arange(1)",
        "k - 1 tries are drawn; draw k": "np.arange(k) -> np.arange(k - 1)",
        "the first try is not drawn from n: begin with (n - c) / n": (
            "np.arange(k) -> np.arange(1, k)"
        ),
        "the wrong tries get fewer with each one drawn, and so do all tries": (
            "(n - j)) -> n)"
        ),
    },
)
