"""Exercises on masks: who may look at whom, and the softmax that obeys."""

import numpy as np

from course_lib import oracle
from course_lib.homework.marking import Exercise


def _as_numbers(mask: np.ndarray) -> np.ndarray:
    return mask.astype(np.float64)  # True and 1 are the same answer


def _sizes(rng):
    return {
        "as many queries as keys": (5, 5),
        "fewer queries than keys": (3, 7),
        "one query": (1, 5),
    }


CAUSAL = Exercise(
    call="f(n_queries, n_keys)",
    cases=_sizes,
    oracle=lambda t, s: _as_numbers(oracle.causal_mask(t, s)),
    slips={
        "the first query is lined up with the first key; the last query must stand at "
        "the last key": lambda t, s: np.tri(t, s),
        "the mask has a row for each key; it must have one for each query": (
            lambda t, s: np.tri(s)
        ),
        "a position may not see itself; it may": lambda t, s: np.tri(t, s, s - t - 1),
        "the mask is the wrong way round: True means may attend": (
            lambda t, s: 1 - np.tri(t, s, s - t)
        ),
        "the future is allowed and the past is not; queries go down, keys across": (
            lambda t, s: 1 - np.tri(t, s, s - t - 1)
        ),
        "these are numbers to be added to the scores; return booleans": (
            lambda t, s: np.where(oracle.causal_mask(t, s), 0.0, -np.inf)
        ),
        "every pair is allowed": lambda t, s: np.ones((t, s)),
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


def _softmax(scores: np.ndarray, axis: int = -1) -> np.ndarray:
    scores = scores.astype(np.float32)  # large numbers must swallow small ones here too
    exps = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return exps / exps.sum(axis=axis, keepdims=True)


def _unshifted(scores: np.ndarray, mask: np.ndarray) -> np.ndarray:
    exps = np.where(mask, np.exp(scores.astype(np.float32)), 0)
    return exps / exps.sum(axis=-1, keepdims=True)


def _right(scores: np.ndarray, mask: np.ndarray) -> np.ndarray:
    masked = np.where(mask, scores, -np.inf)
    return np.apply_along_axis(oracle.softmax, -1, masked)


MASKED_SOFTMAX = Exercise(
    call="f(scores, mask)",
    cases=_masked_cases,
    oracle=_right,
    slips={
        "the mask is not used": lambda s, m: _softmax(s),
        "the mask is read the wrong way round: True means may attend": (
            lambda s, m: _softmax(np.where(m, -np.inf, s))
        ),
        "the mask is applied after the softmax, so the rows no longer sum to 1": (
            lambda s, m: np.where(m, _softmax(s), 0)
        ),
        "a forbidden score is set to 0, which still gets weight; set it to -inf": (
            lambda s, m: _softmax(np.where(m, s, 0))
        ),
        "-10,000 is larger than some scores here; set forbidden ones to -inf": (
            lambda s, m: _softmax(np.where(m, s, -1e4))
        ),
        "softmax runs over the queries; it must run over the keys": (
            lambda s, m: _softmax(np.where(m, s, -np.inf), axis=-2)
        ),
        "exp overflows; subtract each row's largest allowed score first": _unshifted,
        "a row of nothing but -inf is 0/0 in softmax; its weights must be 0": (
            lambda s, m: _softmax(np.where(m, s, -np.inf))
        ),
        "in a row that may attend to nothing all keys get the same weight; they must "
        "get 0": lambda s, m: _softmax(np.where(m, s, -1e9)),
        "a number added to every score of a row changes nothing: the row that may "
        "attend to nothing is as if it had no mask": (
            lambda s, m: _softmax(s + np.where(m, 0, -1e4))
        ),
    },
)

EXERCISES = {"causal": CAUSAL, "masked_softmax": MASKED_SOFTMAX}
