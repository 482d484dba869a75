"""Exercises on recurrent networks: an LSTM, additive attention."""

import numpy as np

from course_lib import oracle
from course_lib.homework import exercise as piece
from course_lib.homework.exercise import EXERCISES, Exercise

D_IN, D = 3, 4


def _sigmoid(z: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-z))


def _step(x, h, c, w, u, b):
    i, f, g, o = np.split(w @ x + u @ h + b, 4)
    new = _sigmoid(f) * c + _sigmoid(i) * np.tanh(g)
    return _sigmoid(o) * np.tanh(new), new


def _lstm_cases(rng):
    def sequence(steps):
        shapes = (steps, D_IN), (4 * D, D_IN), (4 * D, D), (4 * D,)
        return tuple(rng.standard_normal(shape) for shape in shapes)

    return {"one step": sequence(1), "two steps": sequence(2), "a text": sequence(7)}


def _lstm(x, w, u, b):
    h, c, states = np.zeros(D), np.zeros(D), []
    for x_t in x:
        h, c = _step(x_t, h, c, w, u, b)
        states.append(h)
    return np.stack(states)


EXERCISES["lstm"] = Exercise(
    call="lstm(x, w, u, b)",
    cases=_lstm_cases,
    oracle=lambda x, w, u, b: oracle.lstm(
        x, {"x_proj.weight": w, "h_proj.weight": u, "x_proj.bias": b}
    ),
    equation=(_step, _lstm),
    forbidden=(piece.PACKAGE, "lstm", "lstm_cell", "LSTM", "LSTMCell"),
    slips={
        "the four blocks of rows are i, f, g, o, in this order; yours are read as "
        "i, f, o, g": "i, f, g, o -> i, f, o, g",
        "the four blocks of rows are i, f, g, o, in this order; yours are read as "
        "f, i, g, o": "i, f, g, o -> f, i, g, o",
        "the candidate g goes through a tanh, not through a sigmoid": (
            "np.tanh(g) -> _sigmoid(g)"
        ),
        "the cell goes through a tanh before the output gate": "np.tanh(new) -> new",
        "the input gate is missing: it decides how much of g is written": (
            "_sigmoid(i) * ->"
        ),
        "the forget gate is missing: the old cell is kept whole": "_sigmoid(f) * ->",
        "1 - i stands in the forget gate's place; the LSTM has a gate of its own for "
        "it": "_sigmoid(f) -> (1 - _sigmoid(i))",
        "the old cell is read: h_t comes from the new one": "(new) -> (c)",
        "the hidden state is not handed on to the next step": "x_t, h -> x_t, 0 * h",
        "the cell is not handed on to the next step": (
            "c, w, u, b)\n -> 0 * c, w, u, b)\n"
        ),
    },
)


def _score_cases(rng):
    def widths(t, s, a):
        return tuple(rng.standard_normal(shape) for shape in ((t, a), (s, a), (a,)))

    return {"one query": widths(1, 4, 3), "several": widths(3, 5, 7)}


def _scores(q, k, w):
    hidden = np.tanh(q[:, None] + k[None])
    return hidden @ w  # T S


EXERCISES["additive_scores"] = Exercise(
    call="additive_scores(q, k, w)",
    cases=_score_cases,
    oracle=_scores,
    slips={
        "the tanh is missing": "np.tanh ->",
        "tanh comes after the sum of query and key, not before": (
            "np.tanh(q[:, None] + k[None]) -> (np.tanh(q[:, None]) + np.tanh(k[None]))"
        ),
        "tanh comes before the product with w, not after": (
            "np.tanh( -> (; return hidden @ w -> return np.tanh(hidden @ w)"
        ),
        "query and key are added, not multiplied": " + -> *",
        "the hidden layer is summed without w": "@ w -> @ np.ones_like(w)",
        "these are the weights; the softmax is not asked for": (
            "return hidden @ w -> return softmax(hidden @ w)"
        ),
        "queries go down and keys across: yours is transposed": (
            "q[:, None] -> q[None]; k[None] -> k[:, None]"
        ),
    },
)
