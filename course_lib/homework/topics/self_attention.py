"""An exercise on self-attention: one head, from the words and three matrices."""

import math

from course_lib import oracle
from course_lib.homework import exercise as piece
from course_lib.homework.exercise import EXERCISES, Exercise, softmax


def _self_attention(x, w_q, w_k, w_v):
    q, k, v = x @ w_q, x @ w_k, x @ w_v
    weights = softmax(q @ k.mT / math.sqrt(q.shape[-1]), axis=-1)
    return weights @ v


def _cases(rng):
    def words(*batch, n, width=7, d=3, d_v=2):
        matrices = (rng.standard_normal((width, m)) for m in (d, d, d_v))
        return (rng.standard_normal((*batch, n, width)), *matrices)

    return {"one text": words(n=5), "several texts": words(2, n=11)}


EXERCISES["self_attention"] = Exercise(
    call="f(x, w_q, w_k, w_v)",
    cases=_cases,
    oracle=lambda x, w_q, w_k, w_v: oracle.attention(x @ w_q, x @ w_k, x @ w_v)[0],
    equation=(_self_attention,),
    forbidden=(*piece.ATTENTION, piece.PACKAGE),
    slips={
        "queries and keys are swapped: row i holds the scores of query i": (
            "x @ w_q, x @ w_k -> x @ w_k, x @ w_q"
        ),
        "the scores are not divided by sqrt(d)": " / math.sqrt(q.shape[-1]) ->",
        "the scores are divided by the square root of the width D of the words, not "
        "of the width d of the queries": "q.shape[-1] -> x.shape[-1]",
        "the scores are divided by d, not by its square root": "math.sqrt(q -> (q",
        "the scores are divided by d / 2, which d ** 1 / 2 is; the root is "
        "d ** (1 / 2)": "math.sqrt(q.shape[-1]) -> (q.shape[-1] / 2)",
        "softmax runs over the queries; it must run over the keys, so that each row "
        "sums to 1": "axis=-1 -> axis=-2",
        **piece.WRONG_AXES,
        "softmax is missing: raw scores weigh the values": (
            "softmax( -> (; , axis=-1 ->"
        ),
        "the words are averaged as they are; multiply them by w_v first": (
            "x @ w_v -> x"
        ),
    },
)
