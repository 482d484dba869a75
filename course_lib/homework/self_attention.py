"""An exercise on self-attention: one head, from the words and three matrices."""

import numpy as np

from course_lib import oracle
from course_lib.homework.exercise import ATTENTION, PACKAGE, Exercise


def _self_attention(x, w_q, w_k, w_v):
    return oracle.attention(x @ w_q, x @ w_k, x @ w_v)[0]


def _mistaken(
    x, w_q, w_k, w_v, *, swap=False, scale="sqrt(d)", over="keys", values=True
):
    q, k = (x @ w_k, x @ w_q) if swap else (x @ w_q, x @ w_k)
    d = {"sqrt(d)": w_q.shape[-1], "sqrt(D)": x.shape[-1], "1": 1}
    divisor = w_q.shape[-1] if scale == "d" else np.sqrt(d[scale])
    weights = q @ k.swapaxes(-1, -2) / divisor
    if over:
        axis = -1 if over == "keys" else -2
        weights = np.exp(weights - weights.max(axis=axis, keepdims=True))
        weights = weights / weights.sum(axis=axis, keepdims=True)
    return weights @ (x @ w_v if values else x)


def _cases(rng):
    def words(*batch, n, width=7, d=3, d_v=2):
        matrices = (rng.standard_normal((width, m)) for m in (d, d, d_v))
        return (rng.standard_normal((*batch, n, width)), *matrices)

    return {"one text": words(n=5), "several texts": words(2, n=11)}


SELF_ATTENTION = Exercise(
    call="f(x, w_q, w_k, w_v)",
    cases=_cases,
    oracle=_self_attention,
    mistaken=_mistaken,
    slips={
        "queries and keys are swapped: row i holds the scores of query i": {
            "swap": True
        },
        "the scores are not divided by sqrt(d)": {"scale": "1"},
        "the scores are divided by the square root of the width D of the words, not "
        "of the width d of the queries": {"scale": "sqrt(D)"},
        "the scores are divided by d, not by its square root": {"scale": "d"},
        "softmax runs over the queries; it must run over the keys, so that each row "
        "sums to 1": {"over": "queries"},
        "softmax is missing: raw scores weigh the values": {"over": ""},
        "the words are averaged as they are; multiply them by w_v first": {
            "values": False
        },
    },
    forbidden=(*ATTENTION, PACKAGE),
)

EXERCISES = {"self_attention": SELF_ATTENTION}
