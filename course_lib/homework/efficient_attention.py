"""Exercises on efficient attention: a kernel of features in the softmax's place."""

import numpy as np

from course_lib import oracle
from course_lib.homework import exercise as piece
from course_lib.homework.exercise import Exercise


def _cases(rng):
    def qkv(*batch, t=3, s=5, d=2, dv=7):
        return tuple(
            rng.standard_normal((*batch, *shape)) for shape in ((t, d), (s, d), (s, dv))
        )

    return {
        "fewer queries than keys": (*qkv(), None),
        "a batch": (*qkv(2, d=3), None),
        "causal": (*qkv(2, t=5), True),
    }


_FEATURES = {
    "elu + 1": lambda x: np.where(x > 0, x + 1, np.exp(np.minimum(x, 0))),
    "elu": lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0))),
    "relu": lambda x: np.maximum(x, 0),
    "x": lambda x: x,
}


def _linear_attention(q, k, v, causal, *, phi="elu + 1", total="keys", past=True):
    scores = _FEATURES[phi](q) @ np.swapaxes(_FEATURES[phi](k), -1, -2)
    if causal and past:
        scores = np.tril(scores)
    if total == "none":
        return scores @ v
    if total == "softmax":
        exps = np.exp(scores)
        if causal and past:
            exps = np.tril(exps)
        return exps / exps.sum(axis=-1, keepdims=True) @ v
    axis = -1 if total == "keys" else -2
    return scores / scores.sum(axis=axis, keepdims=True) @ v


LINEAR_ATTENTION = Exercise(
    call="f(q, k, v, causal=causal)",
    keywords=("causal",),
    cases=_cases,
    oracle=lambda q, k, v, causal: oracle.linear_attention(q, k, v, bool(causal)),
    forbidden=(piece.PACKAGE, *piece.ATTENTION),
    mistaken=_linear_attention,
    slips={
        "the output is not divided by the sum of its weights": {"total": "none"},
        "the weights sum to 1 over the queries; they must over the keys": {
            "total": "queries"
        },
        "the 1 in elu(x) + 1 is missing, so that weights can be negative": {
            "phi": "elu"
        },
        "the features are relu(x); elu(x) + 1 is asked for": {"phi": "relu"},
        "queries and keys have no feature map: phi(q) · phi(k) is asked for": {
            "phi": "x"
        },
        "the features go through a softmax; they are the weights already": {
            "total": "softmax"
        },
        "this is softmax attention: no exponential of q · k is asked for": {
            "phi": "x",
            "total": "softmax",
        },
        "causal is not used: a query has the keys up to its own position": {
            "past": False
        },
    },
)

EXERCISES = {"linear_attention": LINEAR_ATTENTION}
