"""Scaled dot-product attention: against the oracle, its invariants, its refusals."""

import numpy as np
import pytest
from hypothesis import strategies as st
from wings import assert_close, drawn, get_wing

from course_lib import oracle
from course_lib.config import Scoring

B, T, S, DH, DV = 2, 3, 5, 7, 11  # distinct primes: a swapped axis fails


def draw(rng, dtype="float64", b=B, t=T, s=S, dh=DH, dv=DV, size=1.0):
    shapes = ((b, t, dh), (b, s, dh), (b, s, dv))
    return [(size * rng.standard_normal(shape)).astype(dtype) for shape in shapes]


# Few, since JAX compiles each new shape.
SIZES = st.sampled_from([(T, S, DH, DV), (7, 1, 3, 2), (1, 1, 1, 1)])


@drawn(
    st.integers(0, 2**32 - 1),
    SIZES,
    st.sampled_from([1e-3, 1.0, 30.0, 1e4]),
    st.sampled_from(["none", "some", "a row forbids all"]),
    st.sampled_from(["float32", "float64"]),
)
def test_equals_the_oracle(wing, seed, sizes, size, masking, dtype):
    (t, s, dh, dv), rng = sizes, np.random.default_rng(seed)
    q, k, v = draw(rng, dtype, t=t, s=s, dh=dh, dv=dv)
    q = (q * size).astype(dtype)
    mask = None if masking == "none" else rng.random((B, t, s)) < 0.6
    if masking == "a row forbids all":
        mask[0, 0] = False
    expected, expected_weights = oracle.attention(q, k, v, mask)
    output, weights = wing.lib.attention(
        *map(wing.array, (q, k, v)), mask=None if mask is None else wing.array(mask)
    )
    assert str(wing.numpy(output).dtype) == dtype
    # Large scores magnify their own rounding: an error of one unit in the last place of
    # a score of size x is a relative error of x units in its weight.
    slack = max(1.0, size * dh)
    tolerance = slack * {"float64": 1e-14, "float32": 1e-6}[dtype] * 8
    np.testing.assert_allclose(wing.numpy(weights), expected_weights, atol=tolerance)
    np.testing.assert_allclose(
        wing.numpy(output), expected, atol=tolerance * (1 + np.abs(v).max()) * s
    )


def test_the_fused_form_masks_nothing_unless_it_is_told_to(wing, rng):
    arrays = [x[:, None] for x in draw(rng, dv=DH)]  # one head
    q, k, v = map(wing.array, arrays)
    expected, _ = oracle.attention(*arrays)
    assert_close(wing.numpy(wing.lib.fused_attention(q, k, v)), expected)
    causal, _ = oracle.attention(*arrays, np.tri(T, S, dtype=bool))
    assert_close(wing.numpy(wing.lib.fused_attention(q, k, v, causal=True)), causal)


def test_in_16_bits_a_gpu_takes_its_kernel_where_that_fits(rng, monkeypatch, no_hook):
    wing, jax = get_wing("nnx"), pytest.importorskip("jax")
    module, plain, taken = wing.module("fused_attention"), jax.nn, []
    without = plain.dot_product_attention

    def kernel(*arrays, implementation, **how):
        taken.append(implementation)
        return without(*arrays, **how)

    monkeypatch.setattr(jax.nn, "dot_product_attention", kernel)
    shapes = ((2, 6, 5, 8), (2, 3, 5, 8), (2, 3, 5, 8))
    q, k, v = (wing.array(rng.standard_normal(s), "bfloat16") for s in shapes)
    dropout = wing.make(module.nnx.Dropout, 0.5)
    for how in ({"causal": True}, {"scoring": Scoring(scale=0.3), "dropout": dropout}):
        monkeypatch.setattr(module, "_has_kernel", lambda: False)
        slow = module.fused_attention(q, k, v, **how)
        assert not taken
        monkeypatch.setattr(module, "_has_kernel", lambda: True)
        fast = module.fused_attention(q, k, v, **how)
        assert taken == ["cudnn"]
        taken.clear()
        np.testing.assert_allclose(*(np.float32(x) for x in (fast, slow)), atol=0.05)
    dropout.train()
    other = wing.array(np.ones((5, 5), bool))
    for how in (
        {"mask": other},
        {"score_bias": wing.array(np.zeros((5, 5)), "bfloat16")},
        {"scoring": Scoring(window=3)},
        {"scoring": Scoring(cap=5.0)},
        {"dropout": dropout},
    ):
        module.fused_attention(q, k, v, **how)
    module.fused_attention(q[:, :, :3], k, v, causal=True, offset=2)
    module.fused_attention(q[..., :7], k[..., :7], v[..., :7])
    module.fused_attention(*(x.astype("float32") for x in (q, k, v)))
    assert not taken


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_stated_tolerance_at_ordinary_size(wing, rng, dtype):
    q, k, v = draw(rng, dtype)
    output, weights = wing.lib.attention(*map(wing.array, (q, k, v)))
    expected, expected_weights = oracle.attention(q, k, v)
    assert_close(wing.numpy(output), expected, dtype)
    assert_close(wing.numpy(weights), expected_weights, dtype)


def test_weights_are_a_distribution(wing, rng):
    _, weights = wing.lib.attention(*map(wing.array, draw(rng)))
    weights = wing.numpy(weights)
    assert (weights >= 0).all()
    np.testing.assert_allclose(weights.sum(-1), 1, rtol=1e-12)


def test_a_row_that_may_attend_to_nothing_is_zero(wing, rng):
    q, k, v = map(wing.array, draw(rng))
    mask = np.ones((T, S), dtype=bool)
    mask[1] = False
    output, weights = wing.lib.attention(q, k, v, mask=wing.array(mask))
    assert (wing.numpy(weights)[:, 1] == 0).all()
    assert (wing.numpy(output)[:, 1] == 0).all()
    assert (wing.numpy(weights)[:, [0, 2]].sum(-1) > 0.99).all()


def test_gradients_stay_finite_beside_a_forbidden_row(wing, rng):
    mask = np.ones((T, S), dtype=bool)
    mask[1] = False

    def loss(q, k, v):
        return (wing.lib.attention(q, k, v, mask=wing.array(mask))[0] ** 2).sum()

    for grad in wing.grad(loss, *draw(rng)):
        assert np.isfinite(grad).all()
    dq, _, _ = wing.grad(loss, *draw(rng))
    assert (dq[:, 1] == 0).all()
    assert (dq[:, 0] != 0).any()


def test_gradient_in_the_query_is_the_covariance_of_keys_and_values(wing, rng):
    q, k, v = draw(rng, b=1, t=1, dv=1)
    (dq, _, _) = wing.grad(
        lambda q, k, v: wing.lib.attention(q, k, v)[0].sum(), q, k, v
    )
    _, weights = oracle.attention(q, k, v)
    w, keys, values = weights[0, 0], k[0], v[0, :, 0]
    covariance = (w * values) @ keys - (w @ values) * (w @ keys)
    assert_close(dq[0, 0], covariance / np.sqrt(DH))


def test_wings_give_the_same_gradients(both, rng):
    arrays = draw(rng)
    torch, nnx = (
        w.grad(lambda q, k, v, w=w: (w.lib.attention(q, k, v)[0] ** 3).sum(), *arrays)
        for w in both
    )
    for a, b in zip(torch, nnx, strict=True):
        assert_close(a, b)


def test_reordering_keys_with_their_values_changes_nothing(wing, rng):
    q, k, v = draw(rng)
    order = rng.permutation(S)
    before, _ = wing.lib.attention(*map(wing.array, (q, k, v)))
    after, _ = wing.lib.attention(*map(wing.array, (q, k[:, order], v[:, order])))
    assert_close(wing.numpy(after), wing.numpy(before))


def test_a_constant_added_to_every_key_changes_nothing(wing, rng):
    q, k, v = draw(rng)
    shift = rng.standard_normal(DH)
    before, _ = wing.lib.attention(*map(wing.array, (q, k, v)))
    after, _ = wing.lib.attention(*map(wing.array, (q, k + shift, v)))
    assert_close(wing.numpy(after), wing.numpy(before))


def test_a_forbidden_key_may_be_anything(wing, rng):
    q, k, v = draw(rng)
    mask = np.arange(S) != 2
    before, _ = wing.lib.attention(
        *map(wing.array, (q, k, v)), mask=wing.array(mask[None])
    )
    k[:, 2], v[:, 2] = 1e6, -1e6
    after, _ = wing.lib.attention(
        *map(wing.array, (q, k, v)), mask=wing.array(mask[None])
    )
    assert_close(wing.numpy(after), wing.numpy(before))


def test_nan_stays_with_the_query_that_holds_it(wing, rng):
    q, k, v = draw(rng)
    q[0, 1] = np.nan
    output, _ = wing.lib.attention(*map(wing.array, (q, k, v)))
    nan = np.isnan(wing.numpy(output))
    assert nan[0, 1].all()
    assert nan.sum() == DV


def test_nan_in_a_value_reaches_every_query_through_any_mask(wing, rng):
    q, k, v = draw(rng)
    v[0, 0] = np.nan
    mask = np.ones((q.shape[-2], k.shape[-2]), bool)
    mask[:, 0] = False
    output, _ = wing.lib.attention(*map(wing.array, (q, k, v)), mask=wing.array(mask))
    nan = np.isnan(wing.numpy(output))
    assert nan[0].all()
    assert not nan[1:].any()


def test_equals_the_framework(wing, rng):
    q, k, v = draw(rng, "float32", b=1)
    mask = rng.random((T, S)) < 0.7
    mask[:, 0] = True
    output, _ = wing.lib.attention(*map(wing.array, (q, k, v)), mask=wing.array(mask))
    if wing.name == "torch":
        import torch.nn.functional as F

        builtin = F.scaled_dot_product_attention(
            *map(wing.array, (q, k, v)), attn_mask=wing.array(mask)
        )
    else:
        import jax

        # JAX puts positions before heads: B T H Dh.
        builtin = jax.nn.dot_product_attention(
            *(wing.array(x)[:, :, None] for x in (q, k, v[..., :DH])),
            mask=wing.array(mask[None, None]),
        )[:, :, 0]
        output = output[..., :DH]
    assert_close(wing.numpy(output), wing.numpy(builtin), "float32")


@drawn(st.integers(0, 2**32 - 1), st.booleans(), st.sampled_from([(T, S), (1, 1)]))
def test_a_bias_is_added_to_the_scores(wing, seed, masked, sizes):
    rng = np.random.default_rng(seed)
    q, k, v = draw(rng, t=sizes[0], s=sizes[1])
    bias = rng.standard_normal(sizes)
    mask = rng.random((B, *sizes)) < 0.5 if masked else None
    expected, expected_weights = oracle.attention(q, k, v, mask, bias)
    output, weights = wing.lib.attention(
        *map(wing.array, (q, k, v)),
        mask=wing.array(mask) if masked else None,
        bias=wing.array(bias),
    )
    assert_close(wing.numpy(weights), expected_weights)
    assert_close(wing.numpy(output), expected)


def test_one_bias_for_all_keys_changes_nothing(wing, rng):
    q, k, v = draw(rng)
    bias = wing.array(rng.standard_normal((T, 1)))
    before, _ = wing.lib.attention(*map(wing.array, (q, k, v)))
    after, _ = wing.lib.attention(*map(wing.array, (q, k, v)), bias=bias)
    assert_close(wing.numpy(after), wing.numpy(before))


def test_a_row_of_a_bias_that_forbids_all_has_no_gradient(wing, rng):
    q, k, v = (rng.standard_normal((2, 3, 4)) for _ in range(3))
    bias = np.where(np.arange(3)[:, None] == 1, -np.inf, rng.standard_normal((3, 3)))

    def f(q, k, v, bias):
        return wing.lib.attention(q, k, v, bias=bias)[0].sum()

    grads = wing.grad(f, q, k, v, bias)
    assert all(np.isfinite(g).all() for g in grads)
    assert not grads[0][:, 1].any()
    assert not grads[3][1].any()

    def fused(q, k, v, bias):
        heads = (x[:, None] for x in (q, k, v))
        return wing.lib.fused_attention(*heads, score_bias=bias).sum()

    for fast, slow in zip(wing.grad(fused, q, k, v, bias), grads, strict=True):
        assert_close(fast, slow)
