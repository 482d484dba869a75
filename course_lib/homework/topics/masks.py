"""Exercises on masks: which positions a query may attend to, and the softmax."""

import numpy as np

from course_lib import oracle
from course_lib.homework.exercise import EXERCISES, WRONG_AXES, Exercise, softmax


def _sizes(rng):
    few, some, more, many = (int(n) for n in np.sort(rng.permutation(19)[:4]) + 2)
    return {
        "as many queries as keys": (some, some),
        "fewer queries than keys": (few, many),
        "one query": (1, more),
    }


def _causal(t, s):  # query i stands at key s - t + i
    return np.tri(t, s, s - t) > 0


EXERCISES["causal"] = Exercise(
    call="f(n_queries, n_keys)",
    cases=_sizes,
    oracle=oracle.causal_mask,
    equation=(_causal,),
    slips={
        "the first query is lined up with the first key; the last query must stand at "
        "the last key": "s, s - t) -> s)",
        "the mask has a row for each key; it must have one for each query": (
            "t, s, s - t) -> s)"
        ),
        "a position may not see itself; it may": "s - t) -> s - t - 1)",
        "the mask is the wrong way round: True means may attend": "> 0 -> == 0",
        "the future is allowed and the past is not; queries go down, keys across": (
            "s - t) > 0 -> s - t - 1) == 0"
        ),
        "these are numbers to be added to the scores; return booleans": (
            "np.tri(t, s, s - t) > 0 -> np.where(np.tri(t, s, s - t) > 0, 0.0, -np.inf)"
        ),
        "every pair is allowed": "> 0 -> >= 0",
    },
)


def _padding_cases(rng):
    a, b, c, d = np.sort(rng.permutation(19)[:4]) + 1
    return {
        "two sequences": (np.array([a, d]), int(d)),
        "room left over": (np.array([a, c, b]), int(d)),
        "an empty sequence": (np.array([0, c]), int(c)),
    }


def _padding(lengths, n):
    mask = np.arange(n) < lengths[:, None]
    return mask[:, None, None]


EXERCISES["padding"] = Exercise(
    call="f(lengths, n_keys)",
    cases=_padding_cases,
    oracle=oracle.padding_mask,
    equation=(_padding,),
    slips={
        "one key too many: positions are counted from 0": "< lengths -> <= lengths",
        "the mask is the wrong way round: True means may attend": (
            "return mask -> return ~mask"
        ),
        "the shape is B S; heads and queries need axes of 1, B 1 1 S": (
            "[:, None, None] ->"
        ),
        "the padding is on the left; sequences start at the first key": (
            "(n) -> (n)[::-1]"
        ),
        "these are numbers to be added to the scores; return booleans": (
            "return mask[:, None, None] -> "
            "return np.where(mask[:, None, None], 0.0, -np.inf)"
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


def _masked(scores, mask):  # right up to NaN, in a row without keys
    masked = np.where(mask, scores, -np.inf)
    # In float32, as for the student, large numbers swallow small ones.
    return softmax(masked.astype(np.float32), axis=-1)


EXERCISES["masked_softmax"] = Exercise(
    call="f(scores, mask)",
    cases=_masked_cases,
    oracle=lambda scores, mask: np.apply_along_axis(
        oracle.softmax, -1, np.where(mask, scores, -np.inf)
    ),
    equation=(_masked,),
    slips={
        "the mask is not used": "where(mask -> where(True",
        "the mask is read the wrong way round: True means may attend": (
            "where(mask -> where(~mask"
        ),
        "the mask is applied after the softmax, so the rows no longer sum to 1": (
            "where(mask -> where(True; return -> return mask *"
        ),
        "a forbidden score is set to 0, which still gets weight; set it to -inf": (
            "-np.inf -> 0"
        ),
        "-10,000 is larger than some scores here; set forbidden ones to -inf": (
            "-np.inf -> -1e4"
        ),
        "softmax runs over the queries; it must run over the keys": (
            "axis=-1 -> axis=-2"
        ),
        **WRONG_AXES,
        "exp overflows; subtract each row's largest allowed score first": (
            "softmax( -> unshifted_softmax("
        ),
        "a row of nothing but -inf is 0/0 in softmax; its weights must be 0": "",
        "in a row that may attend to nothing all keys get the same weight; they must "
        "get 0": "-np.inf -> -1e9",
        "a number added to every score of a row changes nothing: the row that may "
        "attend to nothing is as if it had no mask": "-np.inf -> scores - 1e4",
    },
)
