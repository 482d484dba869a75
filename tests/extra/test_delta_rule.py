"""The gated delta rule: tiles give what one token at a time gives."""

import numpy as np
import pytest
from hypothesis import strategies as st
from wings import assert_close, drawn

from course_lib import oracle

DH, DV = 5, 7


def draw(rng, t, dtype="float64", batch=(2,)):
    """Queries, keys of length 1, values, shares to correct and to keep."""
    q, k = rng.standard_normal((2, *batch, t, DH))
    k /= np.linalg.norm(k, axis=-1, keepdims=True)
    v = rng.standard_normal((*batch, t, DV))
    beta, alpha = rng.uniform(0.1, 1, (2, *batch, t))
    return [x.astype(dtype) for x in (q, k, v, beta, alpha)]


# Positions and the tile, and the kind of number: few, since JAX compiles each.
SIZES = st.sampled_from(
    [(23, 5, "float64"), (7, 1, "float32"), (7, 29, "float64"), (1, 7, "float32")]
)


@drawn(st.integers(0, 2**32 - 1), SIZES, st.booleans(), examples=12)
def test_tiles_equal_one_token_at_a_time(wing, seed, sizes, gated):
    t, tile, dtype = sizes
    arrays = draw(np.random.default_rng(seed), t, dtype)[: 5 if gated else 4]
    got = wing.lib.delta_rule(*map(wing.array, arrays), tile=tile)
    assert_close(wing.numpy(got), oracle.delta_rule(*arrays), dtype)


def test_a_key_that_is_written_again_answers_with_its_last_value(wing, rng):
    values = rng.standard_normal((11, DV))
    named = rng.integers(DH, size=11)
    keys = np.eye(DH)[named]
    got = wing.lib.delta_rule(*map(wing.array, (keys, keys, values, np.ones(11))))
    assert_close(wing.numpy(got), values)
    asked = keys[::-1].copy()
    got = wing.lib.delta_rule(*map(wing.array, (asked, keys, values, np.ones(11))))
    last = values[max(t for t in range(11) if named[t] == named[0])]
    assert_close(wing.numpy(got)[-1], last)


def test_a_gate_that_is_nearly_shut_forgets_without_overflow(wing, rng):
    q, k, v, beta, alpha = draw(rng, 11, "float32")
    alpha[:, 6] = 1e-30

    def loss(*arrays):
        return (wing.lib.delta_rule(*arrays, tile=4) ** 2).sum()

    later = [x[:, 6:] for x in (q, k, v, beta, alpha)]
    got = wing.numpy(wing.lib.delta_rule(*map(wing.array, (q, k, v, beta, alpha))))
    assert_close(got[:, 6:], oracle.delta_rule(*later), "float32")
    assert all(np.isfinite(g).all() for g in wing.grad(loss, q, k, v, beta, alpha))


def test_the_past_cannot_see_the_future(wing, rng):
    q, k, v, beta, alpha = draw(rng, 13)
    arrays = q, k, v, beta, alpha
    before = wing.numpy(wing.lib.delta_rule(*map(wing.array, arrays), tile=4))
    for x, new in zip(arrays, (3.0, -0.3, 5.0, 0.2, 0.9), strict=True):
        x[:, 6:] = new
    after = wing.numpy(wing.lib.delta_rule(*map(wing.array, arrays), tile=4))
    np.testing.assert_array_equal(after[:, :6], before[:, :6])
    assert np.abs(after[:, 6:] - before[:, 6:]).max() > 0.1


@pytest.mark.parametrize("name", ["beta", "alpha"])
def test_a_share_for_each_position_is_asked_for(wing, rng, no_hook, name):
    q, k, v, beta, alpha = map(wing.array, draw(rng, 5))
    shares = {"beta": beta, "alpha": alpha} | {name: beta[:, :3]}
    with pytest.raises(ValueError, match=rf"{name} must have shape \(2, 5\): got"):
        wing.lib.delta_rule(q, k, v, **shares)
