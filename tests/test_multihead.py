"""Multi-head attention: the frameworks' own, dropout, maps, its start."""

import numpy as np
import pytest
from wings import assert_close

from course_lib.config.scoring import Scoring

B, T, S, D, H = 2, 3, 5, 14, 7


def inputs(rng, dtype="float64"):
    return [rng.standard_normal((B, n, D)).astype(dtype) for n in (T, S)]


@pytest.mark.parametrize("bias", [True, False])
def test_equals_the_framework_with_its_weights(wing, rng, bias):
    x, context = inputs(rng, "float32")
    if wing.name == "torch":
        import torch

        builtin = torch.nn.MultiheadAttention(D, H, bias=bias, batch_first=True)
        for p in builtin.parameters():  # biases too: they start at 0
            torch.nn.init.normal_(p, std=0.3)
        tensors = wing.array(x), wing.array(context)
        expected, maps = builtin(
            tensors[0], tensors[1], tensors[1], average_attn_weights=False
        )
    else:
        import jax
        from flax import nnx

        builtin = nnx.MultiHeadAttention(
            H,
            D,
            decode=False,
            use_bias=bias,
            bias_init=nnx.initializers.normal(0.3),
            rngs=nnx.Rngs(0),
        )
        expected, maps = builtin(wing.array(x), wing.array(context)), None
        assert isinstance(expected, jax.Array)
    model = wing.make(wing.lib.MultiHeadAttention, D, H, bias=bias)
    wing.lib.set_weights(model, wing.lib.from_builtin(builtin))
    got = model(wing.array(x), wing.array(context))
    assert_close(wing.numpy(got), wing.numpy(expected), "float32")
    if maps is not None:
        ours = model.maps(wing.array(x), wing.array(context))
        assert_close(wing.numpy(ours), wing.numpy(maps), "float32")


@pytest.mark.parametrize("scoring", [Scoring(), Scoring(cap=5.0)])
def test_dropout_drops_weights_at_its_rate_in_training(wing, rng, scoring):
    """With values of 1 and one key for each query, an output is 0 or 1 / (1 - rate)."""
    x, rate = rng.standard_normal((B, 31, D)), 0.25
    model = wing.make(wing.lib.MultiHeadAttention, D, H, dropout=rate, scoring=scoring)
    wing.cast(model, "float64")
    weights = wing.lib.get_weights(model)
    weights |= {"v_proj.weight": np.zeros((D, D)), "v_proj.bias": np.ones(D)}
    weights |= {"o_proj.weight": np.eye(D), "o_proj.bias": np.zeros(D)}
    wing.lib.set_weights(model, weights)
    only_itself = wing.array(np.eye(31, dtype=bool))
    once = wing.numpy(model(wing.array(x), mask=only_itself))
    assert_close(once, np.ones_like(x))
    model.train()
    trained = wing.numpy(model(wing.array(x), mask=only_itself))
    dropped = np.isclose(trained, 0)
    assert_close(trained[~dropped], np.full((~dropped).sum(), 1 / (1 - rate)))
    assert abs(dropped.mean() - rate) < 0.1


def test_starts_alike_in_both_wings(wing):
    model = wing.make(wing.lib.MultiHeadAttention, 210, 7)
    weights = wing.lib.get_weights(model)
    bound = np.sqrt(6 / 420)
    for name, w in weights.items():
        if name.endswith("bias"):
            assert (w == 0).all()
        else:
            assert 0.999 * bound <= np.abs(w).max() <= bound
            assert np.isclose(w.std(), bound / np.sqrt(3), rtol=0.02)


def test_attention_maps_are_those_of_every_layer_in_turn(wing, rng):
    x, memory = inputs(rng)
    block = wing.make(wing.lib.Block, D, H, cross_attention=True)
    wing.cast(block, "float64")
    before = wing.numpy(block(wing.array(x), wing.array(memory), causal=True))
    own, cross = wing.lib.attention_maps(
        block, wing.array(x), wing.array(memory), causal=True
    )
    assert wing.numpy(own).shape == (B, H, T, T)
    assert wing.numpy(cross).shape == (B, H, T, S)
    normed = block.attention_norm(wing.array(x))
    assert_close(wing.numpy(own), wing.numpy(block.attention.maps(normed, causal=True)))
    after = block(wing.array(x), wing.array(memory), causal=True)
    np.testing.assert_array_equal(wing.numpy(after), before)  # nothing is left behind


def test_attention_maps_leave_no_state_behind(wing, rng):
    x, _ = inputs(rng)
    model = wing.make(wing.lib.MultiHeadAttention, D, H)
    wing.cast(model, "float64")
    attributes = set(vars(model))
    (maps,) = wing.lib.attention_maps(model, wing.array(x))
    np.testing.assert_array_equal(
        wing.numpy(maps), wing.numpy(model.maps(wing.array(x)))
    )
    assert set(vars(model)) == attributes
    if wing.name == "torch":
        assert not model._forward_hooks
    cache = wing.lib.KVCache(1, B, H, T, D // H, like=wing.array(x))[0]
    with pytest.raises(ValueError, match="without a cache"):
        wing.lib.attention_maps(model, wing.array(x), cache=cache)


def test_a_bias_of_another_shape_is_refused(wing, no_hook):
    model = wing.make(wing.lib.MultiHeadAttention, D, H)
    x = wing.array(np.ones((B, T, D), "float32"))
    with pytest.raises(ValueError, match="score_bias must broadcast"):
        model(x, score_bias=wing.array(np.ones((H, T, S), "float32")))
    with pytest.raises(ValueError, match="score_bias must hold floating"):
        model(x, score_bias=wing.array(np.ones((H, T, T), "int32")))


@pytest.mark.parametrize("scale", [1.0, 3e4, 1e8])
def test_compiling_changes_nothing_however_large_the_scores(scale):
    """A compiler that rounds less often must not push an exponent above 0."""
    jax, nnx = pytest.importorskip("jax"), pytest.importorskip("flax.nnx")
    import course_lib.nnx as cn

    layer = cn.MultiHeadAttention(16, 2, rngs=nnx.Rngs(0))
    graph, state = nnx.split(layer)
    x = jax.numpy.asarray(
        scale * np.random.default_rng(0).standard_normal((4, 8, 16)), dtype="float32"
    )
    for call in (lambda layer: layer(x), lambda layer: layer.maps(x)):
        plain = np.asarray(call(layer))
        compiled = jax.jit(lambda state, call=call: call(nnx.merge(graph, state)))
        assert_close(np.asarray(compiled(state)), plain, dtype="float32")


def test_self_attention_refuses_what_does_not_fit(wing, no_hook):
    with pytest.raises(ValueError, match="d_head=4"):
        wing.make(wing.lib.SelfAttention, D, 6, wing.lib.Rotary(4))
    layer = wing.make(wing.lib.SelfAttention, D, 6)
    with pytest.raises(ValueError, match=f"d_model={D}"):
        layer(wing.array(np.ones((T, D + 1), "float32")))
