"""Graph attention and pooling: the start and the refusals."""

import numpy as np
import pytest

B, N, D_IN, D, H = 2, 5, 3, 14, 7


def layer(wing):
    return wing.cast(wing.make(wing.lib.GraphAttention, D_IN, D, H), "float64")


def pool(wing):
    model = wing.make(wing.lib.AttentionPooling, D, H)
    return wing.cast(model, "float64")


def test_the_start_fills_its_bounds(wing):
    """As one linear map of width 2 d to a score; wide heads make the bound visible."""
    weights = wing.lib.get_weights(wing.make(wing.lib.GraphAttention, D_IN, 202, 2))
    bound = np.sqrt(6 / (2 * 101 + 1))
    for name in ("a_query", "a_key"):
        assert 0.9 * bound < np.abs(weights[name]).max() <= bound
    assert not weights["bias"].any()
    seeds = wing.lib.get_weights(pool(wing))["seeds"]
    assert 0.5 < np.abs(seeds).max() / np.sqrt(6 / (1 + D)) <= 1


BAD = {
    "another width": (
        lambda w: layer(w)(w.array(np.ones((N, D))), w.array(np.ones((N, N), bool))),
        r"\(\.\.\., nodes, 3\)",
    ),
    "edges of another graph": (
        lambda w: layer(w)(w.array(np.ones((N, D_IN))), w.array(np.ones((4, 4), bool))),
        "must broadcast",
    ),
    "edges for all nodes at once": (
        lambda w: layer(w)(w.array(np.ones((N, D_IN))), w.array(np.ones((1, N), bool))),
        "each pair of the 5 nodes",
    ),
    "edges in numbers": (
        lambda w: layer(w)(w.array(np.ones((N, D_IN))), w.array(np.ones((N, N)))),
        "must be boolean",
    ),
    "features in whole numbers": (
        lambda w: layer(w)(
            w.array(np.ones((N, D_IN), int)), w.array(np.ones((N, N), bool))
        ),
        "x must hold floating-point numbers: got dtype .*int64",
    ),
    "features in NumPy": (
        lambda w: layer(w)(np.ones((N, D_IN)), w.array(np.ones((N, N), bool))),
        "x must be a .*: got numpy.ndarray",
    ),
    "no nodes": (
        lambda w: layer(w)(w.array(np.ones((0, D_IN))), w.array(np.ones((0, 0), bool))),
        "at least one node",
    ),
    "heads that do not divide": (
        lambda w: w.make(w.lib.GraphAttention, D_IN, D, 5),
        "n_heads must divide d_model: got d_model=14, n_heads=5",
    ),
    "a set of whole numbers": (
        lambda w: pool(w)(w.array(np.ones((B, N, D), int))),
        "x must hold floating-point numbers",
    ),
    "a set of another width": (
        lambda w: pool(w)(w.array(np.ones((B, N, D_IN)))),
        r"\(\.\.\., positions, d_model=14\)",
    ),
    "an empty set": (lambda w: pool(w)(w.array(np.ones((B, 0, D)))), "at least one"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused(wing, no_hook, case):
    call, message = BAD[case]
    with pytest.raises(ValueError, match=message):
        call(wing)
