"""Exercises on attention: the softmax of a row, and attention itself."""

import math

import numpy as np

from course_lib import oracle
from course_lib.homework import exercise as piece
from course_lib.homework.exercise import EXERCISES, Exercise, softmax


def _softmax_cases(rng):
    return {
        "one row": (rng.standard_normal(5),),
        "rows of a matrix": (rng.standard_normal((3, 5)),),
        "a batch": (rng.standard_normal((2, 3, 5)),),
        "large scores": (1000 * rng.standard_normal((3, 5)),),
    }


def _softmax(s):  # right as long as exp does not overflow
    exps = np.exp(s.astype(np.float32))
    return exps / exps.sum(axis=-1, keepdims=True)


EXERCISES["softmax"] = Exercise(
    call="f(scores)",
    cases=_softmax_cases,
    oracle=lambda scores: np.apply_along_axis(oracle.softmax, -1, scores),
    equation=(_softmax,),
    forbidden=(piece.PACKAGE, *piece.SOFTMAX),
    slips={
        "the exponentials are not divided by their sum": (
            " / exps.sum(axis=-1, keepdims=True) ->"
        ),
        "the sum runs over all rows, not along the last axis": "axis=-1 -> axis=None",
        "the sum runs down the columns; each row must sum to 1": (
            "axis=-1 -> axis=max(-2, -s.ndim)"
        ),
        "exp overflows; subtract each row's largest score first": "",
        "the sum runs along the first axis; it must run along the last, axis=-1": (
            "axis=-1 -> axis=0"
        ),
        "the sum runs along axis 1, which is the last one only of a matrix; axis=-1 "
        "always is": "axis=-1 -> axis=1",
        "the scores are divided by their sum, without exp": (
            "exps / exps.sum(axis -> s / s.sum(axis"
        ),
        "the largest score of the whole array is subtracted, so that small rows "
        "vanish; subtract each row's own": "s.astype -> (s - s.max()).astype",
    },
)


def _attention_cases(rng):
    def qkv(*batch, t=3, s=5, d=7, dv=11):
        return tuple(
            rng.standard_normal((*batch, *shape)) for shape in ((t, d), (s, d), (s, dv))
        )

    some = rng.random((2, 3, 5)) < 0.6
    some[..., 0] = True
    nothing = some.copy()
    nothing[1, 2] = False
    q, k, v = qkv()
    return {
        "several queries": (*qkv(), None),
        "one query": (*qkv(t=1), None),
        "a batch": (*qkv(2), None),
        "large scores": (300 * q, 300 * k, v, None),
        "a mask": (*qkv(2), some),
        "a query that may attend to nothing": (*qkv(2), nothing),
    }


def _attention(q, k, v, mask):  # right up to NaN, in a row without keys
    d = q.shape[-1]
    allowed = True if mask is None else mask
    scores = np.where(allowed, q @ k.mT / math.sqrt(d), -np.inf)
    weights = softmax(scores, axis=-1)
    return weights @ v


EXERCISES["attention"] = Exercise(
    call="f(q, k, v, mask)",
    cases=_attention_cases,
    oracle=lambda q, k, v, mask: oracle.attention(q, k, v, mask)[0],
    equation=(_attention,),
    forbidden=(piece.PACKAGE, *piece.ATTENTION),
    slips={
        "the scores are not divided by sqrt(d)": " / math.sqrt(d) ->",
        "the scores are divided by d, not by its square root": "math.sqrt(d) -> d",
        "the scores are divided by the square root of the number of keys, not of the "
        "width d": "sqrt(d) -> sqrt(k.shape[-2])",
        "the scores are divided by the square root of the number of queries, not of "
        "the width d": "sqrt(d) -> sqrt(q.shape[-2])",
        "the scores are multiplied by sqrt(d), not divided": "/ math -> * math",
        "the weights are divided by sqrt(d) after the softmax; divide the scores "
        "before it": " / math.sqrt(d) ->; return -> return 1 / math.sqrt(d) *",
        "the scores are divided by d / 2, which d ** 1 / 2 is; the root is "
        "d ** (1 / 2)": "math.sqrt(d) -> (d / 2)",
        "softmax runs over the queries; it must run over the keys, so that each row "
        "sums to 1": "axis=-1 -> axis=-2",
        **piece.WRONG_AXES,
        "softmax is missing: raw scores weigh the values": (
            "softmax(scores, axis=-1) -> scores"
        ),
        "the weights come first; return the output, or the pair (output, weights)": (
            " @ v ->"
        ),
        "the mask is not used": "else mask -> else True",
        "the mask is read the wrong way round: True means may attend": (
            "else mask -> else ~mask"
        ),
        "a forbidden score is set to 0, which still gets weight; set it to -inf": (
            "-np.inf -> 0"
        ),
        "the mask is applied after the softmax, so the rows no longer sum to 1": (
            "where(allowed -> where(True; weights = -> weights = allowed *"
        ),
        "a row of nothing but -inf is 0/0 in softmax; its weights must be 0": "",
        "a query that may attend to nothing averages all values; "
        "its weights must be 0": "-np.inf -> -1e9",
        "exp overflows; subtract each row's largest score first": (
            "softmax( -> unshifted_softmax("
        ),
    },
)
