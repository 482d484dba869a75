"""Exercises on efficient attention: a kernel of features in the softmax's place."""

import numpy as np

from course_lib import oracle
from course_lib.homework import exercise as piece
from course_lib.homework.exercise import EXERCISES, Exercise


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


def _phi(x):  # elu(x) + 1
    return np.maximum(x, 0) + np.exp(np.minimum(x, 0))


def _linear_attention(q, k, v, causal):
    scores = _phi(q) @ _phi(k).mT
    weights = np.tril(scores) if causal else scores
    return weights / weights.sum(axis=-1, keepdims=True) @ v


EXERCISES["linear_attention"] = Exercise(
    call="f(q, k, v, causal=causal)",
    keywords=("causal",),
    cases=_cases,
    oracle=lambda q, k, v, causal: oracle.linear_attention(q, k, v, bool(causal)),
    equation=(_phi, _linear_attention),
    forbidden=(piece.PACKAGE, *piece.ATTENTION),
    slips={
        "the output is not divided by the sum of its weights": (
            " / weights.sum(axis=-1, keepdims=True) ->"
        ),
        "the weights sum to 1 over the queries; they must over the keys": (
            "axis=-1 -> axis=-2"
        ),
        "the 1 in elu(x) + 1 is missing, so that weights can be negative": (
            "np.exp -> np.expm1"
        ),
        "the features are relu(x); elu(x) + 1 is asked for": (
            " + np.exp(np.minimum(x, 0)) ->"
        ),
        "queries and keys have no feature map: phi(q) · phi(k) is asked for": (
            "np.maximum(x, 0) + np.exp(np.minimum(x, 0)) -> x"
        ),
        "the features go through a softmax; they are the weights already": (
            "scores = _phi(q) @ _phi(k).mT -> scores = np.exp(_phi(q) @ _phi(k).mT)"
        ),
        "this is softmax attention: no exponential of q · k is asked for": (
            "scores = _phi(q) @ _phi(k).mT -> scores = np.exp(q @ k.mT)"
        ),
        "causal is not used: a query has the keys up to its own position": (
            "if causal -> if None"
        ),
    },
)
