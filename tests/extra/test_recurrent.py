"""Recurrent networks: the framework's numbers, states, the start, refusals."""

import numpy as np
import pytest
from wings import assert_close

B, T, S, D_IN, D = 2, 3, 5, 7, 11
PIECES = ("RNN", "LSTM")


def layer(wing, name):
    return wing.cast(wing.make(getattr(wing.lib, name), D_IN, D), "float64")


@pytest.mark.parametrize("name", PIECES)
def test_equals_the_frameworks_own(rng, name):
    torch = pytest.importorskip("torch")
    lib = pytest.importorskip("course_lib.torch")
    ours = getattr(lib, name)(D_IN, D).eval()
    theirs = getattr(torch.nn, name)(D_IN, D, batch_first=True)
    weights = lib.get_weights(ours)
    lib.set_weights(
        theirs,
        {
            "weight_ih_l0": weights["x_proj.weight"],
            "weight_hh_l0": weights["h_proj.weight"],
            "bias_ih_l0": weights["x_proj.bias"],
            "bias_hh_l0": 0 * weights["x_proj.bias"],
        },
    )
    x = torch.from_numpy(rng.standard_normal((B, T, D_IN)).astype("float32"))
    expected, _ = theirs(x)
    assert_close(ours(x)[0].detach(), expected.detach(), "float32")


@pytest.mark.parametrize("name", PIECES)
def test_reading_on_from_a_state_is_reading_at_once(wing, rng, name):
    x = rng.standard_normal((B, 5, D_IN))
    model = layer(wing, name)
    whole, _ = model(wing.array(x))
    _, state = model(wing.array(x[:, :2]))
    rest, _ = model(wing.array(x[:, 2:]), state)
    assert_close(wing.numpy(rest), wing.numpy(whole)[:, 2:])


def test_the_start_is_orthogonal_and_forgets_little(wing):
    weights = wing.lib.get_weights(wing.make(wing.lib.LSTM, D_IN, D))
    for gate in np.split(weights["h_proj.weight"], 4):
        np.testing.assert_allclose(gate @ gate.T, np.eye(D), atol=1e-5)
    i, f, g, o = np.split(weights["x_proj.bias"], 4)
    assert (f == 1).all()
    assert not np.concatenate([i, g, o]).any()


BAD = {
    "a width that is not the layer's": (
        lambda w: layer(w, "RNN")(w.array(np.ones((B, T, D)))),
        r"\(\.\.\., steps, 7\)",
    ),
    "no steps": (
        lambda w: layer(w, "LSTM")(w.array(np.ones((B, 0, D_IN)))),
        "at least one step",
    ),
    "whole numbers": (
        lambda w: layer(w, "LSTM")(w.array(np.ones((B, T, D_IN), int))),
        "x must hold floating-point numbers: got dtype .*int64",
    ),
    "an array of NumPy": (
        lambda w: layer(w, "RNN")(np.ones((B, T, D_IN))),
        "x must be a .*: got numpy.ndarray",
    ),
    "a mask of another length": (
        lambda w: layer(w, "LSTM")(
            w.array(np.ones((B, T, D_IN))), mask=w.array(np.ones((B, S), bool))
        ),
        "for each step",
    ),
    "a mask of numbers": (
        lambda w: layer(w, "RNN")(
            w.array(np.ones((B, T, D_IN))), mask=w.array(np.ones((B, T), int))
        ),
        r"mask must be boolean, True at the steps to read: got .*int64.*mask != 0",
    ),
    "a mask that is a list": (
        lambda w: layer(w, "LSTM")(
            w.array(np.ones((B, T, D_IN))), mask=[[True] * T] * B
        ),
        "mask must be boolean, True at the steps to read: got list",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused(wing, no_hook, case):
    call, message = BAD[case]
    with pytest.raises(ValueError, match=message):
        call(wing)
