"""An exercise on a cross-section of firms: average what the others know."""

import math

import numpy as np

from course_lib import oracle
from course_lib.homework.marking import Exercise


def _cases(rng):
    def firms(*batch, n=5, d=3):
        q, k = (rng.standard_normal((*batch, n, d)) for _ in range(2))
        return q, k, rng.standard_normal((*batch, n))

    some = np.array([True, True, False, True, True])
    lonely = np.array([False, False, False, True, False])
    return {
        "all firms listed": (*firms(), None),
        "several quarters": (*firms(2), None),
        "one firm not listed": (*firms(), some),
        "a firm without a listed peer": (*firms(), lonely),
    }


def _peer_average(
    q,
    k,
    returns,
    listed,
    *,
    own=False,
    late=False,
    scale=None,
    axis=-1,
    rows=False,
    empty=0.0,
):
    """The average with switches for its mistakes; with none set it is right."""
    scores = np.einsum("...td,...sd->...ts", q, k)
    scores = scores / (math.sqrt(q.shape[-1]) if scale is None else scale)
    allowed = _allowed(scores, None if rows else listed, own=own or late)
    if rows and listed is not None:
        allowed = allowed & listed[..., :, None]
    exps = np.where(allowed, np.exp(scores), 0)
    total = exps.sum(axis=axis, keepdims=True)
    weights = np.where(total > 0, exps / np.where(total > 0, total, 1), empty)
    if late:
        weights = weights * ~np.eye(weights.shape[-1], dtype=bool)
    return (weights @ returns[..., None])[..., 0]


def _allowed(scores, listed, *, own=False):
    allowed = np.ones(scores.shape, dtype=bool)
    if not own:
        allowed = allowed & ~np.eye(scores.shape[-1], dtype=bool)
    return allowed if listed is None else allowed & listed[..., None, :]


def _oracle(q, k, returns, listed):
    mask = _allowed(np.empty((*q.shape[:-1], k.shape[-2])), listed)
    return oracle.attention(q, k, returns[..., None], mask)[0][..., 0]


def _slip(**switches):
    return lambda q, k, returns, listed: _peer_average(
        q, k, returns, listed, **switches
    )


PEER_AVERAGE = Exercise(
    call="f(q, k, returns, listed)",
    cases=_cases,
    oracle=_oracle,
    slips={
        "a firm is among its own peers: forbid the diagonal before the softmax": (
            _slip(own=True)
        ),
        "a firm's own weight is taken out after the softmax, so that the rest no "
        "longer sums to 1": _slip(late=True),
        "the scores are not divided by sqrt(d)": _slip(scale=1.0),
        "softmax runs over those who search; it must run over those who are looked "
        "at, so that each row sums to 1": _slip(axis=-2),
        "firms that are not listed are still looked at": (
            lambda q, k, returns, listed: _peer_average(q, k, returns, None)
        ),
        "the firms that are not listed do not search; they may, but nobody may look "
        "at them": _slip(rows=True),
        "a firm without a listed peer gets 0/0; its average must be 0": (
            _slip(empty=np.nan)
        ),
        "queries and keys are swapped: row i must search with q_i": (
            lambda q, k, returns, listed: _peer_average(k, q, returns, listed)
        ),
    },
)

EXERCISES = {"peer_average": PEER_AVERAGE}
