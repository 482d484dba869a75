"""Graph attention and pooling: neighbors only, any order, the oracle's numbers."""

import numpy as np
import pytest
from hypothesis import strategies as st
from models import assert_wings_agree
from wings import assert_close, drawn

from course_lib import oracle

B, N, D_IN, D, H = 2, 5, 3, 14, 7


def layer(wing, dtype="float64"):
    return wing.cast(wing.make(wing.lib.GraphAttention, D_IN, D, H), dtype)


def pool(wing, n_seeds=3):
    model = wing.make(wing.lib.AttentionPooling, D, H, n_seeds=n_seeds)
    return wing.cast(model, "float64")


def graph(rng, n=N, batch=B, dtype="float64"):
    x = rng.standard_normal((batch, n, D_IN)).astype(dtype)
    return x, rng.random((batch, n, n)) < 0.5


@drawn(
    seed=st.integers(0, 2**32 - 1),
    sizes=st.sampled_from([(7, "float64"), (1, "float64"), (2, "float32")]),
    examples=9,
)
def test_equals_the_oracle(wing, seed, sizes):
    n, dtype = sizes
    x, edges = graph(np.random.default_rng(seed), n, dtype=dtype)
    model = layer(wing, dtype)
    weights = wing.lib.get_weights(model)
    expected, maps = zip(
        *(oracle.graph_attention(*one, weights) for one in zip(x, edges, strict=True)),
        strict=True,
    )
    assert_close(wing.numpy(model(wing.array(x), wing.array(edges))), expected, dtype)
    got = wing.numpy(model.maps(wing.array(x), wing.array(edges)))
    assert_close(got, np.stack(maps), dtype)


def test_wings_agree_forward_and_in_every_gradient(both, rng):
    x, edges = graph(rng)
    assert_wings_agree(both, layer, lambda w, model: model(w.array(x), w.array(edges)))


def test_the_start_fills_its_bounds(wing):
    """As one linear map of width 2 d to a score; wide heads make the bound visible."""
    weights = wing.lib.get_weights(wing.make(wing.lib.GraphAttention, D_IN, 202, 2))
    bound = np.sqrt(6 / (2 * 101 + 1))
    for name in ("a_query", "a_key"):
        assert 0.9 * bound < np.abs(weights[name]).max() <= bound
    assert not weights["bias"].any()
    seeds = wing.lib.get_weights(pool(wing))["seeds"]
    assert 0.5 < np.abs(seeds).max() / np.sqrt(6 / (3 + D)) <= 1


def test_relabelling_the_nodes_relabels_the_output(wing, rng):
    x, edges = graph(rng)
    order = rng.permutation(N)
    model = layer(wing)
    before = wing.numpy(model(wing.array(x), wing.array(edges)))
    shuffled = wing.array(x[:, order]), wing.array(edges[:, order][:, :, order])
    assert_close(wing.numpy(model(*shuffled)), before[:, order])


def test_only_neighbors_matter(wing, rng):
    x, edges = graph(rng)
    edges[:, 0] = False
    edges[:, 0, 2] = True
    model = layer(wing)
    before = wing.numpy(model(wing.array(x), wing.array(edges)))
    x[:, [1, 3, 4]] += 5
    after = wing.numpy(model(wing.array(x), wing.array(edges)))
    assert_close(after[:, 0], before[:, 0])
    assert np.abs(after[:, 1:] - before[:, 1:]).max() > 0.1


def test_a_node_without_neighbors_gets_the_bias(wing, rng):
    x, edges = graph(rng)
    edges[:, 1] = False
    model = layer(wing)
    weights = wing.lib.get_weights(model)
    weights["bias"] = rng.standard_normal(D)
    wing.lib.set_weights(model, weights)
    output = wing.numpy(model(wing.array(x), wing.array(edges)))
    assert_close(output[:, 1], np.tile(weights["bias"], (B, 1)))
    maps = wing.numpy(model.maps(wing.array(x), wing.array(edges)))
    assert not maps[:, :, 1].any()
    rows = maps.sum(-1)
    np.testing.assert_allclose(rows[rows > 0], 1)


def test_pooling_is_invariant_to_order(wing, rng):
    x = rng.standard_normal((B, N, D))
    model = pool(wing)
    before = wing.numpy(model(wing.array(x)))
    assert before.shape == (B, 3, D)
    after = wing.numpy(model(wing.array(x[:, rng.permutation(N)])))
    assert_close(after, before)


def test_pooling_leaves_padding_out(wing, rng):
    x = rng.standard_normal((B, N, D))
    model = pool(wing)
    short = wing.numpy(model(wing.array(x[:, :3])))
    mask = wing.array(np.tile(np.arange(N) < 3, (B, 1, 1, 1)))
    assert_close(wing.numpy(model(wing.array(x), mask=mask)), short)


def test_pooling_agrees_between_the_wings(both, rng):
    x = rng.standard_normal((B, N, D))
    assert_wings_agree(both, pool, lambda w, model: model(w.array(x)))


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
