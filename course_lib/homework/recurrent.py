"""Exercises on recurrent networks: an LSTM, one step of it, additive attention."""

import numpy as np

from course_lib import oracle
from course_lib.homework import exercise as piece
from course_lib.homework.exercise import Exercise

D_IN, D = 3, 4
_FORBIDDEN = (piece.PACKAGE, "lstm", "lstm_cell", "LSTM", "LSTMCell")


def _sigmoid(z: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-z))


def _step(
    x,
    h,
    c,
    w,
    u,
    b,
    *,
    order=(0, 1, 2, 3),
    forget="gate",
    write="gate",
    candidate=np.tanh,
    read=np.tanh,
    cell="new",
):
    rows = np.split(w @ x + u @ h + b, 4)
    i, f, g, o = (rows[place] for place in order)
    gate_i = 1.0 if write == "no" else _sigmoid(i)
    gate_f = {"gate": _sigmoid(f), "no": 1.0, "1 - i": 1 - _sigmoid(i)}[forget]
    new = gate_f * c + gate_i * candidate(g)
    return _sigmoid(o) * read(c if cell == "old" else new), new


_SLIPS = {
    "the four blocks of rows are i, f, g, o, in this order; yours are read as "
    "i, f, o, g": {"order": (0, 1, 3, 2)},
    "the four blocks of rows are i, f, g, o, in this order; yours are read as "
    "f, i, g, o": {"order": (1, 0, 2, 3)},
    "the candidate g goes through a tanh, not through a sigmoid": {
        "candidate": _sigmoid
    },
    "the cell goes through a tanh before the output gate": {"read": lambda c: c},
    "the input gate is missing: it decides how much of g is written": {"write": "no"},
    "the forget gate is missing: the old cell is kept whole": {"forget": "no"},
    "1 - i stands in the forget gate's place; the LSTM has a gate of its own for it": {
        "forget": "1 - i"
    },
    "the old cell is read: h_t comes from the new one": {"cell": "old"},
}


def _step_oracle(x, h, c, w, u, b):
    i, f, g, o = np.split(w @ x + u @ h + b, 4)
    c = _sigmoid(f) * c + _sigmoid(i) * np.tanh(g)
    return _sigmoid(o) * np.tanh(c), c


def _step_cases(rng):
    def step(zero=False):
        shapes = (D_IN,), (D,), (D,), (4 * D, D_IN), (4 * D, D), (4 * D,)
        x, h, c, *rest = (rng.standard_normal(shape) for shape in shapes)
        return (x, h * (not zero), c * (not zero), *rest)

    return {"the first step": step(zero=True), "a later step": step()}


LSTM_STEP = Exercise(
    call="f(x, h, c, w, u, b), which returns (h, c)",
    cases=_step_cases,
    oracle=_step_oracle,
    forbidden=_FORBIDDEN,
    mistaken=_step,
    slips=_SLIPS
    | {
        "c comes before h; return (h, c)": lambda *case: _step(*case)[::-1],
        "the state c that came in is returned; return the new one": (
            lambda x, h, c, *rest: (_step(x, h, c, *rest)[0], c)
        ),
        "the hidden state does not enter the gates": (
            lambda x, h, *rest: _step(x, 0 * h, *rest)
        ),
    },
)


def _lstm_cases(rng):
    def sequence(steps):
        shapes = (steps, D_IN), (4 * D, D_IN), (4 * D, D), (4 * D,)
        return tuple(rng.standard_normal(shape) for shape in shapes)

    return {"one step": sequence(1), "two steps": sequence(2), "a text": sequence(7)}


def _lstm(x, w, u, b, *, keep_h=True, keep_c=True, **switches):
    h, c, states = np.zeros(D), np.zeros(D), []
    for x_t in x:
        h, c = _step(x_t, h * keep_h, c * keep_c, w, u, b, **switches)
        states.append(h)
    return np.stack(states)


LSTM = Exercise(
    call="lstm(x, w, u, b)",
    cases=_lstm_cases,
    oracle=lambda x, w, u, b: oracle.lstm(
        x, {"x_proj.weight": w, "h_proj.weight": u, "x_proj.bias": b}
    ),
    forbidden=_FORBIDDEN,
    mistaken=_lstm,
    slips=_SLIPS
    | {
        "the hidden state is not handed on to the next step": {"keep_h": False},
        "the cell is not handed on to the next step": {"keep_c": False},
    },
)


def _score_cases(rng):
    def widths(t, s, a):
        return tuple(rng.standard_normal(shape) for shape in ((t, a), (s, a), (a,)))

    return {"one query": widths(1, 4, 3), "several": widths(3, 5, 7)}


def _scores(q, k, w, *, mix=np.add, squash=np.tanh, behind=None, flip=False):
    scores = squash(mix(q[:, None], k[None])) @ w  # T S
    scores = behind(scores) if behind else scores
    return scores.T if flip else scores


SCORES = Exercise(
    call="additive_scores(q, k, w)",
    cases=_score_cases,
    oracle=_scores,
    mistaken=_scores,
    slips={
        "the tanh is missing": {"squash": lambda z: z},
        "tanh comes after the sum of query and key, not before": (
            lambda q, k, w: (np.tanh(q)[:, None] + np.tanh(k)[None]) @ w
        ),
        "tanh comes before the product with w, not after": {
            "squash": lambda z: z,
            "behind": np.tanh,
        },
        "query and key are added, not multiplied": {"mix": np.multiply},
        "the hidden layer is summed without w": lambda q, k, w: _scores(
            q, k, np.ones_like(w)
        ),
        "these are the weights; the softmax is not asked for": {
            "behind": lambda s: np.apply_along_axis(oracle.softmax, -1, s)
        },
        "queries go down and keys across: yours is transposed": {"flip": True},
    },
)

EXERCISES = {"lstm_step": LSTM_STEP, "lstm": LSTM, "additive_scores": SCORES}
