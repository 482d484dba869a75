"""Exercises on attention: the softmax of a row, and attention itself."""

import math

import numpy as np

from course_lib import oracle
from course_lib.homework.marking import Exercise


def _softmax_cases(rng):
    return {
        "one row": (rng.standard_normal(5),),
        "rows of a matrix": (rng.standard_normal((3, 5)),),
        "a batch": (rng.standard_normal((2, 3, 5)),),
        "large scores": (1000 * rng.standard_normal((3, 5)),),
    }


def _exp(scores):
    return np.exp(scores.astype(np.float32))


SOFTMAX = Exercise(
    call="f(scores)",
    cases=_softmax_cases,
    oracle=lambda scores: np.apply_along_axis(oracle.softmax, -1, scores),
    slips={
        "the exponentials are not divided by their sum": _exp,
        "the sum runs over all rows, not along the last axis": lambda s: (
            _exp(s) / _exp(s).sum()
        ),
        "the sum runs down the columns; each row must sum to 1": lambda s: (
            _exp(s) / _exp(s).sum(axis=max(-2, -s.ndim), keepdims=True)
        ),
        "exp overflows; subtract each row's largest score first": lambda s: (
            _exp(s) / _exp(s).sum(axis=-1, keepdims=True)
        ),
        "the scores are divided by their sum, without exp": lambda s: (
            s / s.sum(axis=-1, keepdims=True)
        ),
        "the largest score of the whole array is subtracted, so that small rows "
        "vanish; subtract each row's own": lambda s: (
            _exp(s - s.max()) / _exp(s - s.max()).sum(axis=-1, keepdims=True)
        ),
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


def _attention(
    q,
    k,
    v,
    mask,
    *,
    scale=None,
    axis=-1,
    normalize=True,
    stable=True,
    fill=-np.inf,
    after=False,
    empty=np.nan,
    weights_only=False,
):
    """Attention with switches for its mistakes; with none set it is right up to NaN."""
    scores = np.einsum("...td,...sd->...ts", q, k)
    scores = scores / (math.sqrt(q.shape[-1]) if scale is None else scale)
    if mask is not None and not after:
        scores = np.where(mask, scores, fill)
    if normalize:
        if stable:
            scores = scores - scores.max(axis=axis, keepdims=True)
        exps = np.exp(scores.astype(np.float32))
        weights = exps / exps.sum(axis=axis, keepdims=True)
    else:
        weights = scores
    if mask is not None:
        if after:
            weights = np.where(mask, weights, 0)
        allowed = np.broadcast_to(mask, weights.shape).any(axis=-1, keepdims=True)
        weights = np.where(allowed | np.isfinite(weights), weights, empty)
    return weights if weights_only else weights @ v


def _slip(**switches):
    return lambda q, k, v, mask: _attention(q, k, v, mask, **switches)


ATTENTION = Exercise(
    call="f(q, k, v, mask)",
    cases=_attention_cases,
    oracle=lambda q, k, v, mask: oracle.attention(q, k, v, mask)[0],
    slips={
        "the scores are not divided by sqrt(d)": _slip(scale=1),
        "the scores are divided by d, not by its square root": lambda q, k, v, mask: (
            _attention(q, k, v, mask, scale=q.shape[-1])
        ),
        "the scores are divided by the square root of the number of keys, not of the "
        "width d": lambda q, k, v, mask: _attention(
            q, k, v, mask, scale=math.sqrt(k.shape[-2])
        ),
        "the scores are divided by the square root of the number of queries, not of "
        "the width d": lambda q, k, v, mask: _attention(
            q, k, v, mask, scale=math.sqrt(q.shape[-2])
        ),
        "the scores are multiplied by sqrt(d), not divided": lambda q, k, v, mask: (
            _attention(q, k, v, mask, scale=1 / math.sqrt(q.shape[-1]))
        ),
        "softmax runs over the queries; it must run over the keys, so that each row "
        "sums to 1": _slip(axis=-2),
        "softmax is missing: raw scores weigh the values": _slip(normalize=False),
        "the weights come first; return the output, or the pair (output, weights)": (
            _slip(weights_only=True)
        ),
        "the mask is not used": lambda q, k, v, mask: _attention(q, k, v, None),
        "the mask is read the wrong way round: True means may attend": (
            lambda q, k, v, mask: _attention(q, k, v, None if mask is None else ~mask)
        ),
        "a forbidden score is set to 0, which still gets weight; set it to -inf": (
            _slip(fill=0.0)
        ),
        "the mask is applied after the softmax, so the rows no longer sum to 1": (
            _slip(after=True)
        ),
        "a row of nothing but -inf is 0/0 in softmax; its weights must be 0": _slip(),
        "a query that may attend to nothing averages all values; "
        "its weights must be 0": (_slip(fill=-1e9)),
        "exp overflows; subtract each row's largest score first": _slip(stable=False),
    },
)

EXERCISES = {"softmax": SOFTMAX, "attention": ATTENTION}
