"""Additive attention: against the oracle, the wings' layers, its refusals."""

import numpy as np
import pytest
from hypothesis import strategies as st
from wings import assert_close, drawn

from course_lib import oracle

B, T, S, DH, DV = 2, 3, 5, 7, 11  # distinct primes: a swapped axis fails


def draw(rng, dtype="float64", t=T, s=S, dh=DH):
    shapes = ((B, t, dh), (B, s, dh), (B, s, DV))
    return [rng.standard_normal(shape).astype(dtype) for shape in shapes]


@drawn(
    st.integers(0, 2**32 - 1),
    st.booleans(),
    st.sampled_from(
        [(T, S, DH, "float64"), (1, 1, 1, "float64"), (T, S, DH, "float32")]
    ),
)
def test_additive_attention_equals_the_oracle(wing, seed, masked, sizes):
    rng = np.random.default_rng(seed)
    t, s, a, dtype = sizes
    q, k, v = draw(rng, dtype, t=t, s=s, dh=a)
    w = rng.standard_normal(a).astype(dtype)
    mask = rng.random((B, t, s)) < 0.5 if masked else None
    output, weights = wing.lib.additive_attention(
        *map(wing.array, (q, k, v, w)), mask=wing.array(mask) if masked else None
    )
    expected, expected_weights = oracle.additive_attention(q, k, v, w, mask)
    assert_close(wing.numpy(weights), expected_weights, dtype)
    assert_close(wing.numpy(output), expected, dtype)
    if masked:
        assert (wing.numpy(weights)[~mask.any(-1)] == 0).all()


def test_additive_layers_agree_and_equal_the_oracle(both, rng):
    x, context = rng.standard_normal((B, T, 3)), rng.standard_normal((B, S, DV))
    models = [
        w.cast(w.make(w.lib.AdditiveAttention, 3, DV, DH), "float64") for w in both
    ]
    weights = both[0].lib.get_weights(models[0])
    both[1].lib.set_weights(models[1], weights)
    expected, maps = oracle.additive_attention(
        x @ weights["q_proj.weight"].T,
        context @ weights["k_proj.weight"].T,
        context,
        weights["score.weight"][0],
    )
    grads = []
    for w, m in zip(both, models, strict=True):
        output, got = m(w.array(x), w.array(context))
        assert_close(w.numpy(output), expected)
        assert_close(w.numpy(got), maps)
        grads.append(
            w.parameter_grads(
                m, lambda m, w=w: (m(w.array(x), w.array(context))[0] ** 2).sum()
            )
        )
    for name in grads[0]:
        assert_close(grads[1][name], grads[0][name])


@pytest.mark.parametrize(
    ("dtype", "words"),
    [("int32", "must hold floating-point"), ("float64", "must share one dtype")],
)
def test_weights_of_another_kind_are_refused(wing, no_hook, dtype, words):
    shapes = {"q": (T, DH), "k": (S, DH), "v": (S, DV)}
    given = {key: wing.array(np.ones(shapes[key], "float32")) for key in shapes}
    with pytest.raises(ValueError, match=words):
        wing.lib.additive_attention(**given, w=wing.array(np.ones(DH, dtype)))


@pytest.mark.parametrize(
    ("shapes", "words"),
    [
        # Keys of width 1 would broadcast, and so would a w of one entry.
        (((B, T, DH), (B, S, 1), (B, S, DV), (DH,)), "the same width"),
        (((B, T, DH), (B, S, DH), (B, S, DV), (1,)), "one vector as wide as"),
    ],
)
def test_what_would_broadcast_is_refused(wing, no_hook, shapes, words):
    arrays = [wing.array(np.ones(shape, "float32")) for shape in shapes]
    with pytest.raises(ValueError, match=words):
        wing.lib.additive_attention(*arrays)
