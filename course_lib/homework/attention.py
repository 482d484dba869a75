"""Exercises on attention: the softmax of a row, and attention itself."""

import math

import numpy as np

from course_lib import oracle
from course_lib.homework import exercise as piece
from course_lib.homework.exercise import Exercise


def _softmax_cases(rng):
    return {
        "one row": (rng.standard_normal(5),),
        "rows of a matrix": (rng.standard_normal((3, 5)),),
        "a batch": (rng.standard_normal((2, 3, 5)),),
        "large scores": (1000 * rng.standard_normal((3, 5)),),
    }


def _softmax(s, *, total="row", shift=None):
    if shift is not None:
        s = s - s.max()
    exps = np.exp(s.astype(np.float32))
    if total == "none":
        return exps
    if total == "all":
        return exps / exps.sum()
    return exps / exps.sum(axis=-1 if total == "row" else max(-2, -s.ndim), keepdims=1)


SOFTMAX = Exercise(
    call="f(scores)",
    cases=_softmax_cases,
    oracle=lambda scores: np.apply_along_axis(oracle.softmax, -1, scores),
    forbidden=(piece.PACKAGE, *piece.SOFTMAX),
    mistaken=_softmax,
    slips={
        "the exponentials are not divided by their sum": {"total": "none"},
        "the sum runs over all rows, not along the last axis": {"total": "all"},
        "the sum runs down the columns; each row must sum to 1": {"total": "column"},
        "exp overflows; subtract each row's largest score first": {},
        "the scores are divided by their sum, without exp": lambda s: (
            s / s.sum(axis=-1, keepdims=True)
        ),
        "the largest score of the whole array is subtracted, so that small rows "
        "vanish; subtract each row's own": {"shift": "all"},
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


_ROOTS = {
    "sqrt(d)": lambda q, k: math.sqrt(q.shape[-1]),
    "1": lambda q, k: 1,
    "d": lambda q, k: q.shape[-1],
    "sqrt(S)": lambda q, k: math.sqrt(k.shape[-2]),
    "sqrt(T)": lambda q, k: math.sqrt(q.shape[-2]),
    "1 / sqrt(d)": lambda q, k: 1 / math.sqrt(q.shape[-1]),
}


def _attention(
    q,
    k,
    v,
    mask,
    *,
    scale="sqrt(d)",
    axis=-1,
    normalize=True,
    stable=True,
    masking="-inf",
    weights_only=False,
    late=False,
):
    """Right up to NaN, in a row without keys, if nothing is switched."""
    scores = np.einsum("...td,...sd->...ts", q, k) / _ROOTS[scale](q, k)
    if masking == "none":
        mask = None
    if mask is not None and masking == "flipped":
        mask = ~mask
    if mask is not None and masking != "after":
        fill = {"0": 0.0, "-1e9": -1e9}.get(masking, -np.inf)
        scores = np.where(mask, scores, fill)
    weights = scores
    if normalize:
        if stable:
            scores = scores - scores.max(axis=axis, keepdims=True)
        exps = np.exp(scores.astype(np.float32))
        weights = exps / exps.sum(axis=axis, keepdims=True)
    if mask is not None and masking == "after":
        weights = np.where(mask, weights, 0)
    if late:
        weights = weights / math.sqrt(q.shape[-1])
    return weights if weights_only else weights @ v


ATTENTION = Exercise(
    call="f(q, k, v, mask)",
    cases=_attention_cases,
    oracle=lambda q, k, v, mask: oracle.attention(q, k, v, mask)[0],
    forbidden=(piece.PACKAGE, *piece.ATTENTION),
    mistaken=_attention,
    slips={
        "the scores are not divided by sqrt(d)": {"scale": "1"},
        "the scores are divided by d, not by its square root": {"scale": "d"},
        "the scores are divided by the square root of the number of keys, not of the "
        "width d": {"scale": "sqrt(S)"},
        "the scores are divided by the square root of the number of queries, not of "
        "the width d": {"scale": "sqrt(T)"},
        "the scores are multiplied by sqrt(d), not divided": {"scale": "1 / sqrt(d)"},
        "the weights are divided by sqrt(d) after the softmax; divide the scores "
        "before it": {"scale": "1", "late": True},
        "softmax runs over the queries; it must run over the keys, so that each row "
        "sums to 1": {"axis": -2},
        "softmax is missing: raw scores weigh the values": {"normalize": False},
        "the weights come first; return the output, or the pair (output, weights)": {
            "weights_only": True
        },
        "the mask is not used": {"masking": "none"},
        "the mask is read the wrong way round: True means may attend": {
            "masking": "flipped"
        },
        "a forbidden score is set to 0, which still gets weight; set it to -inf": {
            "masking": "0"
        },
        "the mask is applied after the softmax, so the rows no longer sum to 1": {
            "masking": "after"
        },
        "a row of nothing but -inf is 0/0 in softmax; its weights must be 0": {},
        "a query that may attend to nothing averages all values; "
        "its weights must be 0": {"masking": "-1e9"},
        "exp overflows; subtract each row's largest score first": {"stable": False},
    },
)

EXERCISES = {"softmax": SOFTMAX, "attention": ATTENTION}
