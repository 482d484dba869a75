"""Exercises on masks: which positions a query may attend to, and the softmax."""

import numpy as np

from course_lib import oracle
from course_lib.homework.exercise import Exercise


def _sizes(rng):
    return {
        "as many queries as keys": (5, 5),
        "fewer queries than keys": (3, 7),
        "one query": (1, 5),
    }


CAUSAL = Exercise(
    call="f(n_queries, n_keys)",
    cases=_sizes,
    oracle=oracle.causal_mask,
    slips={
        "the first query is lined up with the first key; the last query must stand at "
        "the last key": lambda t, s: np.tri(t, s) > 0,
        "the mask has a row for each key; it must have one for each query": (
            lambda t, s: np.tri(s) > 0
        ),
        "a position may not see itself; it may": (
            lambda t, s: np.tri(t, s, s - t - 1) > 0
        ),
        "the mask is the wrong way round: True means may attend": (
            lambda t, s: np.tri(t, s, s - t) == 0
        ),
        "the future is allowed and the past is not; queries go down, keys across": (
            lambda t, s: np.tri(t, s, s - t - 1) == 0
        ),
        "these are numbers to be added to the scores; return booleans": (
            lambda t, s: np.where(oracle.causal_mask(t, s), 0.0, -np.inf)
        ),
        "every pair is allowed": lambda t, s: np.ones((t, s), dtype=bool),
    },
)


def _padding_cases(rng):
    return {
        "two sequences": (np.array([2, 5]), 5),
        "room left over": (np.array([1, 4, 3]), 7),
        "an empty sequence": (np.array([0, 3]), 3),
    }


def _padding(lengths, n, *, last=False, flipped=False, shape=True, right=False):
    place = np.arange(n)[::-1] if right else np.arange(n)
    mask = place < lengths[:, None] + last
    mask = ~mask if flipped else mask
    return mask[:, None, None] if shape else mask


PADDING = Exercise(
    call="f(lengths, n_keys)",
    cases=_padding_cases,
    oracle=oracle.padding_mask,
    mistaken=_padding,
    slips={
        "one key too many: positions are counted from 0": {"last": True},
        "the mask is the wrong way round: True means may attend": {"flipped": True},
        "the shape is B S; heads and queries need axes of 1, B 1 1 S": {"shape": False},
        "the padding is on the left; sequences start at the first key": {"right": True},
        "these are numbers to be added to the scores; return booleans": (
            lambda lengths, n: np.where(_padding(lengths, n), 0.0, -np.inf)
        ),
    },
)


def _masked_cases(rng):
    def scores(*shape):
        return rng.standard_normal(shape)

    some = rng.random((3, 7)) < 0.5
    some[:, 2], some[:, 4] = True, False
    nothing = some.copy()
    nothing[1] = False
    per_sequence = np.ones((2, 1, 1, 7), dtype=bool)
    per_sequence[1, ..., 4:] = False
    return {
        "a mask of its own for each row": (scores(3, 7), some),
        "a mask for each sequence": (scores(2, 3, 5, 7), per_sequence),
        # Eighths stay exact in 32 bits, so far from 0.
        "very negative scores": (np.round(8 * scores(3, 7)) / 8 - 5e4, some),
        "large scores": (100 * scores(3, 7), some),
        "a row that may attend to nothing": (scores(3, 7), nothing),
    }


def _masked(scores, mask, *, fill=-np.inf, axis=-1, stable=True, use="before"):
    """Right up to NaN, in a row without keys, if nothing is switched."""
    mask = ~mask if use == "flipped" else mask
    if use == "added":
        scores = scores + np.where(mask, 0, fill)
    elif use in ("before", "flipped"):
        scores = np.where(mask, scores, fill)
    scores = scores.astype(np.float32)  # large numbers must swallow small ones here too
    exps = np.exp(scores - (scores.max(axis=axis, keepdims=True) if stable else 0))
    weights = exps / exps.sum(axis=axis, keepdims=True)
    return np.where(mask, weights, 0) if use == "after" else weights


MASKED_SOFTMAX = Exercise(
    call="f(scores, mask)",
    cases=_masked_cases,
    oracle=lambda scores, mask: np.apply_along_axis(
        oracle.softmax, -1, np.where(mask, scores, -np.inf)
    ),
    mistaken=_masked,
    slips={
        "the mask is not used": {"use": "no"},
        "the mask is read the wrong way round: True means may attend": {
            "use": "flipped"
        },
        "the mask is applied after the softmax, so the rows no longer sum to 1": {
            "use": "after"
        },
        "a forbidden score is set to 0, which still gets weight; set it to -inf": {
            "fill": 0.0
        },
        "-10,000 is larger than some scores here; set forbidden ones to -inf": {
            "fill": -1e4
        },
        "softmax runs over the queries; it must run over the keys": {"axis": -2},
        "exp overflows; subtract each row's largest allowed score first": {
            "stable": False
        },
        "a row of nothing but -inf is 0/0 in softmax; its weights must be 0": {},
        "in a row that may attend to nothing all keys get the same weight; they must "
        "get 0": {"fill": -1e9},
        "a number added to every score of a row changes nothing: the row that may "
        "attend to nothing is as if it had no mask": {"use": "added", "fill": -1e4},
    },
)

EXERCISES = {"causal": CAUSAL, "padding": PADDING, "masked_softmax": MASKED_SOFTMAX}
