"""Exercises on tokens: a blank's loss, the pair to join, scores by a tied table."""

from collections import Counter
from itertools import pairwise

import numpy as np

from course_lib.homework import exercise as piece
from course_lib.homework.exercise import EXERCISES, Exercise


def _loss_cases(rng):
    def case(*shape, v, size=1.0):
        return size * rng.standard_normal((*shape, v)), rng.integers(0, v, shape)

    return {
        "five blanks": case(5, v=7),
        "texts of three blanks": case(2, 3, v=5),
        "large logits": case(4, v=3, size=200.0),
    }


def _cross_entropy(logits, targets):  # right as long as nothing overflows
    exps = np.exp(logits.astype(np.float32))
    p = exps / exps.sum(axis=-1, keepdims=True)
    chosen = np.take_along_axis(p, targets[..., None], axis=-1)
    return -np.log(chosen).mean()


def _stable(logits, targets):
    z = logits - logits.max(axis=-1, keepdims=True)
    log_p = z - np.log(np.exp(z).sum(axis=-1, keepdims=True))
    return -np.take_along_axis(log_p, targets[..., None], axis=-1).mean()


EXERCISES["cross_entropy"] = Exercise(
    call="f(logits, targets)",
    cases=_loss_cases,
    oracle=_stable,
    equation=(_cross_entropy,),
    forbidden=(piece.PACKAGE, *piece.CROSS_ENTROPY, *piece.SOFTMAX),
    slips={
        "exp overflows; subtract each row's largest logit first": "",
        "a probability that is rounded to 0 has no logarithm; write log P as the logit "
        "minus the logarithm of the sum": (
            "logits.astype -> (logits - logits.max(axis=-1, keepdims=True)).astype"
        ),
        "the sign is wrong: a loss is minus a log probability": "return - -> return ",
        "this is the sum of the losses; their mean is asked for": (".mean() -> .sum()"),
        "these are the losses of all blanks; their mean is asked for": (
            "-np.log(chosen).mean() -> -np.log(chosen)[..., 0]"
        ),
        "this is in bits; nats are asked for": "np.log( -> np.log2(",
        "the logarithm is missing: this is minus the mean probability": (
            "np.log(chosen) -> chosen"
        ),
        "this is minus the logarithm of the mean probability; each blank has a "
        "logarithm of its own": "np.log(chosen).mean() -> np.log(chosen.mean())",
        "the logits are not turned into probabilities": (
            "p = exps / exps.sum(axis=-1, keepdims=True) -> p = logits; "
            "np.log(chosen) -> chosen"
        ),
        "the probabilities are not divided by their sum": (
            " / exps.sum(axis=-1, keepdims=True) ->"
        ),
        "the exponentials are added up over all blanks; each blank has its own sum": (
            "exps.sum(axis=-1 -> exps.sum(axis=None"
        ),
        "this is the entropy of the probabilities, whatever the word was": (
            "np.take_along_axis(p, targets[..., None], axis=-1) -> p; "
            "-np.log(chosen).mean() -> -(p * np.log(p)).sum(axis=-1).mean()"
        ),
    },
)


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
