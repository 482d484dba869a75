"""Exercises on tokens: the pair to join next, and scores through a tied table."""

from collections import Counter
from itertools import pairwise

import numpy as np

from course_lib.homework.exercise import EXERCISES, Exercise


def _row(*ids):
    return (np.array(ids, dtype=np.int64),)


def _pair_cases(rng):
    return {
        "one pair leads": _row(4, 1, 0, 3, 0, 2, 0, 4, 1, 5, 0, 4, 1),
        "a run of one token": _row(5, 5, 5, 5, 0, 2, 3, 1, 2, 3),
        "a tie": _row(3, 4, 1, 2, 6, 7, 5, 0, 3, 4, 8, 2, 6, 9, 5, 0),
        "a tie between pairs that begin alike": _row(1, 6, 0, 1, 2, 5, 1, 6, 3, 1, 2),
        "a long text": (rng.integers(0, 5, 60),),
    }


def _best(ids):
    counts = Counter(pairwise(ids.tolist()))
    return np.array(min(counts, key=lambda p: (-counts[p], p[0], p[1])))


EXERCISES["most_frequent_pair"] = Exercise(
    call="f(ids)",
    cases=_pair_cases,
    oracle=_best,
    slips={
        "left and right are not told apart: 4 1 is another pair than 1 4": (
            "pairwise(ids.tolist()) -> tuple(sorted(p)) for p in pairwise(ids.tolist())"
        ),
        "these are the two most frequent tokens; neighbors are asked for": (
            "pairwise(ids.tolist()) -> ids.tolist(); "
            "min(counts, key=lambda p: (-counts[p], p[0], p[1])) -> "
            "sorted(counts, key=lambda i: (-counts[i], i))[:2]"
        ),
        "only every other pair of a run is counted: in 5 5 5 there are two": (
            "pairwise(ids -> _apart(ids"
        ),
        "of equals the first in the text is taken; it must be the smaller ids": (
            ", p[0], p[1] -> ,"
        ),
        "of equals the larger ids are taken; it must be the smaller": (
            "p[0], p[1] -> -p[0], -p[1]"
        ),
        "of equals that begin alike the larger right id is taken": "p[1] -> -p[1]",
    },
)


def _apart(ids):  # a pair that overlaps the one before it is left out
    kept: list = [None]
    for pair in pairwise(ids):
        kept.append(None if kept[-1] == pair else pair)
    return [pair for pair in kept if pair]


def _score_cases(rng):
    def case(ids, v, d):
        shapes = ((v, d), (d, d), (v,))
        drawn = (rng.standard_normal(shape) for shape in shapes)
        return (np.array(ids, dtype=np.int64), *drawn)

    return {
        "one sequence": case([3, 0, 6, 3, 1], 7, 3),
        "a batch": case([[4, 0, 2], [1, 1, 3]], 5, 2),
        "one token": case([2], 3, 5),
    }


def _scores(ids, table, w, bias):
    hidden = table[ids] @ w
    logits = hidden @ table.T
    logits += bias
    return logits


EXERCISES["tied_logits"] = Exercise(
    call="f(ids, table, w, bias)",
    cases=_score_cases,
    oracle=_scores,
    slips={
        "the bias is missing": "+= bias -> += 0",
        "w is transposed": "@ w -> @ w.T",
        "w is not used": " @ w ->",
        "ids are counted from 1; row 0 is the first": "[ids] -> [ids - 1]",
        "these are probabilities; logits are asked for": (
            "return logits -> return softmax(logits)"
        ),
        "the scores are divided by the root of the width; only attention does that": (
            "table.T -> table.T / math.sqrt(len(w))"
        ),
        "this is what comes out of w; it must still meet every row of the table": (
            "return logits -> return hidden"
        ),
    },
)
