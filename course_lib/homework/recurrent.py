"""Exercises on what came before: an LSTM written out, and Bahdanau's scores."""

import numpy as np

from course_lib import oracle
from course_lib.homework.marking import Exercise

D_IN, D = 3, 4


def _sigmoid(z: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-z))


def _oracle(x, w, u, b):
    weights = {"x_proj.weight": w, "h_proj.weight": u, "x_proj.bias": b}
    return oracle.lstm(x, weights)


def _lstm_cases(rng):
    def sequence(steps):
        shapes = (steps, D_IN), (4 * D, D_IN), (4 * D, D), (4 * D,)
        return tuple(rng.standard_normal(shape) for shape in shapes)

    return {"one step": sequence(1), "two steps": sequence(2), "a text": sequence(7)}


def _lstm(
    x,
    w,
    u,
    b,
    *,
    order=(0, 1, 2, 3),
    forget=None,
    write=None,
    candidate=np.tanh,
    read=np.tanh,
    keep_h=True,
    keep_c=True,
    half=False,
):
    """The LSTM with switches for its mistakes."""
    h, c, states = np.zeros(D), np.zeros(D), []
    for x_t in x:
        rows = np.split(w @ x_t + u @ h + b, 4)
        i, f, g, o = (rows[place] for place in order)
        gate_i = _sigmoid(i) if write is None else write(f)
        gate_f = _sigmoid(f) if forget is None else forget(i, f)
        new = gate_f * c + gate_i * candidate(g)
        states.append(_sigmoid(o) * read(c if half else new))
        h = states[-1] if keep_h else np.zeros(D)
        c = new if keep_c else np.zeros(D)
    return np.stack(states)


def _lstm_slip(**switches):
    return lambda x, w, u, b: _lstm(x, w, u, b, **switches)


LSTM = Exercise(
    call="lstm(x, w, u, b)",
    cases=_lstm_cases,
    oracle=_oracle,
    slips={
        "the four blocks of rows are i, f, g, o, in this order; yours are read as "
        "i, f, o, g": _lstm_slip(order=(0, 1, 3, 2)),
        "the four blocks of rows are i, f, g, o, in this order; yours are read as "
        "f, i, g, o": _lstm_slip(order=(1, 0, 2, 3)),
        "the candidate g goes through a tanh, not through a sigmoid": _lstm_slip(
            candidate=_sigmoid
        ),
        "the cell goes through a tanh before the output gate": _lstm_slip(
            read=lambda c: c
        ),
        "the input gate is missing: it decides how much of g is written": _lstm_slip(
            write=lambda f: 1.0
        ),
        "the forget gate is missing: the old cell is kept whole": _lstm_slip(
            forget=lambda i, f: 1.0
        ),
        "1 - i stands in the forget gate's place; the LSTM has a gate of its own "
        "for it": _lstm_slip(forget=lambda i, f: 1 - _sigmoid(i)),
        "the old cell is read: h_t comes from the new one": _lstm_slip(half=True),
        "the hidden state is not handed on to the next step": _lstm_slip(keep_h=False),
        "the cell is not handed on to the next step": _lstm_slip(keep_c=False),
    },
)


def _score_cases(rng):
    def widths(t, s, a):
        return tuple(rng.standard_normal(shape) for shape in ((t, a), (s, a), (a,)))

    return {"one query": widths(1, 4, 3), "several": widths(3, 5, 7)}


def _scores(q, k, w, *, mix=np.add, squash=np.tanh):
    return squash(mix(q[:, None], k[None])) @ w  # T S


SCORES = Exercise(
    call="additive_scores(q, k, w)",
    cases=_score_cases,
    oracle=_scores,
    slips={
        "the tanh is missing": lambda q, k, w: _scores(q, k, w, squash=lambda z: z),
        "tanh comes after the sum of query and key, not before": (
            lambda q, k, w: (np.tanh(q)[:, None] + np.tanh(k)[None]) @ w
        ),
        "tanh comes before the product with w, not after": (
            lambda q, k, w: np.tanh(_scores(q, k, w, squash=lambda z: z))
        ),
        "query and key are added, not multiplied": lambda q, k, w: _scores(
            q, k, w, mix=np.multiply
        ),
        "the hidden layer is summed without w": lambda q, k, w: _scores(
            q, k, np.ones_like(w)
        ),
        "these are the weights; the softmax is not asked for": (
            lambda q, k, w: oracle.softmax(_scores(q, k, w))
        ),
        "queries go down and keys across: yours is transposed": (
            lambda q, k, w: _scores(q, k, w).T
        ),
    },
)

EXERCISES = {"lstm": LSTM, "additive_scores": SCORES}
