"""Recurrent networks, for one sequence, step by step."""

import numpy as np

from course_lib.oracle.weights import Weights, floats

__all__ = ["lstm", "rnn"]


def rnn(x: np.ndarray, weights: Weights) -> np.ndarray:
    """Recurrent network: h_t = tanh(W x_t + U h_{t-1} + b) from h_0 = 0.

    Elman 1990, doi:10.1207/s15516709cog1402_1. From `T Din` to hidden states `T D`; the
    weights are called `x_proj.weight`, `x_proj.bias`, `h_proj.weight`.
    """
    h, states = np.zeros(weights["h_proj.weight"].shape[1]), []
    for x_t in floats(x)[0]:
        from_input = weights["x_proj.weight"] @ x_t + weights["x_proj.bias"]
        h = np.tanh(from_input + weights["h_proj.weight"] @ h)
        states.append(h)
    return np.stack(states)


def lstm(x: np.ndarray, weights: Weights) -> np.ndarray:
    """Long short-term memory (LSTM), the gates i, f, g, o one below the other.

    Hochreiter and Schmidhuber 1997, doi:10.1162/neco.1997.9.8.1735. As `rnn` else.
    """

    def sigmoid(z):
        return 1 / (1 + np.exp(-z))

    d_model = weights["h_proj.weight"].shape[1]
    h, c, states = np.zeros(d_model), np.zeros(d_model), []
    for x_t in floats(x)[0]:
        gates = weights["x_proj.weight"] @ x_t + weights["x_proj.bias"]
        i, f, g, o = np.split(gates + weights["h_proj.weight"] @ h, 4)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        states.append(h)
    return np.stack(states)
