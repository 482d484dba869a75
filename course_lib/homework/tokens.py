"""Exercises on tokens: the pair to join next, and scores through a tied table."""

from collections import Counter
from itertools import pairwise

import numpy as np

from course_lib.homework.marking import Exercise


def _row(*ids):
    return (np.array(ids, dtype=np.int64),)


def _pair_cases(rng):
    return {
        "one pair leads": _row(4, 1, 0, 3, 0, 2, 0, 4, 1, 5, 0, 4, 1),
        "a run of one token": _row(5, 5, 5, 5, 0, 2, 3, 1, 2, 3),
        "a tie": _row(3, 4, 1, 2, 6, 7, 5, 0, 3, 4, 8, 2, 6, 9, 5, 0),
        "a tie between pairs that begin alike": _row(1, 6, 0, 1, 2, 5, 1, 6, 3, 1, 2),
    }


def _best(counts, rank=lambda pair: pair):
    """The most frequent pair; `rank` says which of equals goes first."""
    pair = min(counts, key=lambda p: (-counts[p], rank(p)))
    return np.array([int(i) for i in pair])


def _pairs(ids):
    return Counter(pairwise(ids.tolist()))


def _without_overlap(ids):
    counts, last = Counter(), None
    for here, pair in enumerate(pairwise(ids.tolist())):
        if last == (here - 1, pair):
            last = None
            continue
        counts[pair] += 1
        last = (here, pair)
    return counts


def _most_frequent_tokens(ids):
    counts = Counter(ids.tolist())
    return np.array(sorted(counts, key=lambda i: (-counts[i], i))[:2])


def _unordered(ids):
    return Counter(tuple(sorted(pair)) for pair in pairwise(ids.tolist()))


MOST_FREQUENT_PAIR = Exercise(
    call="f(ids)",
    cases=_pair_cases,
    oracle=lambda ids: _best(_pairs(ids)),
    slips={
        "left and right are not told apart: 4 1 is another pair than 1 4": (
            lambda ids: _best(_unordered(ids))
        ),
        "these are the two most frequent tokens; neighbors are asked for": (
            _most_frequent_tokens
        ),
        "only every other pair of a run is counted: in 5 5 5 there are two": (
            lambda ids: _best(_without_overlap(ids))
        ),
        "of equals the first in the text is taken; it must be the smaller ids": (
            lambda ids: _best(_pairs(ids), rank=lambda pair: 0)
        ),
        "of equals the larger ids are taken; it must be the smaller": (
            lambda ids: _best(_pairs(ids), rank=lambda pair: (-pair[0], -pair[1]))
        ),
        "of equals that begin alike the larger right id is taken": (
            lambda ids: _best(_pairs(ids), rank=lambda pair: (pair[0], -pair[1]))
        ),
    },
)


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


def _softmax(scores):
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def _scores(ids, table, w, bias):
    return table[ids] @ w @ table.T + bias


TIED_LOGITS = Exercise(
    call="f(ids, table, w, bias)",
    cases=_score_cases,
    oracle=_scores,
    slips={
        "the bias is missing": lambda i, t, w, b: _scores(i, t, w, 0 * b),
        "w is transposed": lambda i, t, w, b: _scores(i, t, w.T, b),
        "w is not used": lambda i, t, w, b: _scores(i, t, np.eye(len(w)), b),
        "ids are counted from 1; row 0 is the first": (
            lambda i, t, w, b: _scores(i - 1, t, w, b)
        ),
        "these are probabilities; logits are asked for": (
            lambda i, t, w, b: _softmax(_scores(i, t, w, b))
        ),
        "the scores are divided by the root of the width; only attention does that": (
            lambda i, t, w, b: _scores(i, t, w, 0 * b) / np.sqrt(len(w)) + b
        ),
        "this is what comes out of w; it must still meet every row of the table": (
            lambda i, t, w, b: t[i] @ w
        ),
    },
)

EXERCISES = {
    "most_frequent_pair": MOST_FREQUENT_PAIR,
    "tied_logits": TIED_LOGITS,
}
