"""Exercises on tokens: the pair to join next, and scores through a tied table."""

from collections import Counter
from itertools import pairwise

import numpy as np

from course_lib.homework.exercise import Exercise


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


_RANKS = {
    "smaller": lambda pair: pair,
    "first": lambda pair: 0,
    "larger": lambda pair: (-pair[0], -pair[1]),
    "larger right": lambda pair: (pair[0], -pair[1]),
}


def _best(ids, *, count="all", rank="smaller"):
    """The most frequent pair; `rank` says which of equals goes first."""
    pairs = [tuple(pair) for pair in pairwise(ids.tolist())]
    if count == "unordered":
        pairs = [tuple(sorted(pair)) for pair in pairs]
    if count == "apart":  # a pair that overlaps the one before it is left out
        kept: list = []
        for pair in pairs:
            kept.append(None if kept and kept[-1] == pair else pair)
        pairs = [pair for pair in kept if pair is not None]
    counts = Counter(pairs)
    best = min(counts, key=lambda pair: (-counts[pair], _RANKS[rank](pair)))
    return np.array(best)


def _most_frequent_tokens(ids):
    counts = Counter(ids.tolist())
    return np.array(sorted(counts, key=lambda i: (-counts[i], i))[:2])


MOST_FREQUENT_PAIR = Exercise(
    call="f(ids)",
    cases=_pair_cases,
    oracle=_best,
    mistaken=_best,
    slips={
        "left and right are not told apart: 4 1 is another pair than 1 4": {
            "count": "unordered"
        },
        "these are the two most frequent tokens; neighbors are asked for": (
            _most_frequent_tokens
        ),
        "only every other pair of a run is counted: in 5 5 5 there are two": {
            "count": "apart"
        },
        "of equals the first in the text is taken; it must be the smaller ids": {
            "rank": "first"
        },
        "of equals the larger ids are taken; it must be the smaller": {
            "rank": "larger"
        },
        "of equals that begin alike the larger right id is taken": {
            "rank": "larger right"
        },
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


def _scores(ids, table, w, bias, *, use="w", first=0, biased=True, scale=1.0, out="z"):
    w = {"w": w, "w.T": w.T, "1": np.eye(len(w))}[use]
    hidden = table[ids - first] @ w
    if out == "hidden":
        return hidden
    logits = hidden @ table.T * len(w) ** (scale - 1) + (bias if biased else 0)
    if out == "z":
        return logits
    exps = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return exps / exps.sum(axis=-1, keepdims=True)


TIED_LOGITS = Exercise(
    call="f(ids, table, w, bias)",
    cases=_score_cases,
    oracle=_scores,
    mistaken=_scores,
    slips={
        "the bias is missing": {"biased": False},
        "w is transposed": {"use": "w.T"},
        "w is not used": {"use": "1"},
        "ids are counted from 1; row 0 is the first": {"first": 1},
        "these are probabilities; logits are asked for": {"out": "probabilities"},
        "the scores are divided by the root of the width; only attention does that": {
            "scale": 0.5
        },
        "this is what comes out of w; it must still meet every row of the table": {
            "out": "hidden"
        },
    },
)

EXERCISES = {
    "most_frequent_pair": MOST_FREQUENT_PAIR,
    "tied_logits": TIED_LOGITS,
}
