"""Scaled dot-product attention: kernels, NaN, the frameworks' own."""

import numpy as np
import pytest
from wings import assert_close, get_wing

from course_lib.config import Scoring

B, T, S, DH, DV = 2, 3, 5, 7, 11  # distinct primes: a swapped axis fails


def draw(rng, dtype="float64", b=B):
    shapes = ((b, T, DH), (b, S, DH), (b, S, DV))
    return [rng.standard_normal(shape).astype(dtype) for shape in shapes]


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


def test_a_product_that_16_bits_cannot_hold_is_scaled_first(wing, no_hook):
    """A scale may be NumPy's number, which leaves the dtype as it is."""
    q = wing.array(np.full((2, 64), 40.0), "float16")  # 102,400, and 12,800 scaled
    for scale in (None, np.float64(0.125), np.float32(0.125)):
        averages, weights = wing.lib.attention(q, q, q, scale=scale)
        assert {wing.numpy(averages).dtype, wing.numpy(weights).dtype} == {
            np.dtype("float16")
        }
        assert (wing.numpy(averages) == 40).all()
        assert (wing.numpy(weights) == 0.5).all()
