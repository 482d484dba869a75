"""Exercises on serving: latent attention that makes no keys and no values."""

import numpy as np

from course_lib import oracle
from course_lib.homework import exercise as piece
from course_lib.homework.exercise import EXERCISES, Exercise


def _cases(rng):
    def heads(h, t, s, d, r, c):
        shapes = ((h, t, d), (h, t, r), (s, c), (s, r), (h, d, c), (h, d, c))
        return tuple(rng.standard_normal(shape) for shape in shapes)

    return {
        "one query": heads(2, 1, 5, 3, 4, 7),
        "several queries": heads(3, 4, 5, 3, 2, 7),
        "short vectors as wide as a head": heads(2, 3, 5, 4, 2, 4),
    }


def _made_anew(q, q_turned, c, turned, w_k, w_v):
    heads = []
    for i in range(len(q)):
        q_head = np.concatenate([q[i], q_turned[i]], axis=-1)
        k_head = np.concatenate([c @ w_k[i].T, turned], axis=-1)
        heads.append(oracle.attention(q_head, k_head, c @ w_v[i].T)[0])
    return np.stack(heads)


def _absorbed_attention(q, q_turned, c, turned, w_k, w_v):
    root = np.sqrt(q.shape[-1] + turned.shape[-1])
    scores = (q @ w_k @ c.mT + q_turned @ turned.mT) / root
    exps = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = exps / exps.sum(axis=-1, keepdims=True)
    return weights @ c @ w_v.mT


EXERCISES["absorbed_attention"] = Exercise(
    call="f(q, q_turned, c, turned, w_k, w_v)",
    cases=_cases,
    oracle=_made_anew,
    equation=(_absorbed_attention,),
    forbidden=(piece.PACKAGE, *piece.ATTENTION),
    slips={
        "divided by the root of C + R; queries and keys are Dh + R wide": (
            "q.shape[-1] -> c.shape[-1]"
        ),
        "divided by the root of Dh; the turned part counts too": (
            " + turned.shape[-1] ->"
        ),
        "the scores are not divided by the root of Dh + R": " / root ->",
        "the turned parts are missing from the scores": " + q_turned @ turned.mT ->",
        "only the turned parts are divided; add first": (
            "(q @ w_k @ c.mT + q_turned @ turned.mT) / root -> "
            "q @ w_k @ c.mT + q_turned @ turned.mT / root"
        ),
        "the weights sum to 1 over the queries; they must over the keys": (
            "scores.max(axis=-1 -> scores.max(axis=-2; "
            "exps.sum(axis=-1 -> exps.sum(axis=-2"
        ),
        "the average is carried back with W_K; values are made with W_V": (
            "w_v.mT -> w_k.mT"
        ),
        "the average of the short vectors is returned; carry it back with W_V": (
            " @ w_v.mT ->"
        ),
    },
)
