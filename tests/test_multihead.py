"""Multi-head attention: against the oracle, the built-ins, and its invariants."""

import numpy as np
import pytest
from hypothesis import strategies as st
from models import assert_wings_agree, randomize
from wings import assert_close, drawn

from course_lib import oracle
from course_lib.config import QKNorm, Scoring

B, T, S, D, H = 2, 3, 5, 14, 7


def inputs(rng, dtype="float64", b=B, t=T, s=S, d=D):
    return [
        rng.standard_normal(shape).astype(dtype) for shape in ((b, t, d), (b, s, d))
    ]


# Lengths, heads of queries and of keys, their width, and the kind of number.
SIZES = [
    (5, 3, 4, 2, 3, "float64"),
    (1, 3, 6, 6, 1, "float32"),
    (1, 1, 1, 1, 1, "float64"),
    (5, 1, 3, 1, 5, "float32"),
]


@drawn(
    st.integers(0, 2**32 - 1),
    st.sampled_from(SIZES),
    st.booleans(),
    st.sampled_from(["self", "cross"]),
    st.booleans(),
)
def test_equals_the_oracle(wing, seed, sizes, bias, kind, masked):
    t, s, n_heads, n_kv_heads, d_head, dtype = sizes
    rng = np.random.default_rng(seed)
    x, context = inputs(rng, dtype, t=t, s=s, d=n_heads * d_head)
    context = None if kind == "self" else context
    mask = rng.random((B, 1, t, t if kind == "self" else s)) < 0.6 if masked else None
    model = wing.make(
        wing.lib.MultiHeadAttention,
        n_heads * d_head,
        n_heads,
        n_kv_heads=n_kv_heads,
        bias=bias,
    )
    wing.cast(model, dtype)
    arrays = [wing.array(a) if a is not None else None for a in (x, context, mask)]
    expected, expected_maps = oracle.multihead(
        x, context, wing.lib.get_weights(model), n_heads, n_kv_heads, mask
    )
    got = model(arrays[0], arrays[1], mask=arrays[2])
    maps = model.maps(arrays[0], arrays[1], mask=arrays[2])
    assert_close(wing.numpy(maps), expected_maps, dtype)
    assert_close(wing.numpy(got), expected, dtype)


@pytest.mark.parametrize(
    ("options", "same"),
    [
        ({"scoring": Scoring(window=2)}, {"window": 2}),
        ({"scoring": Scoring(scale=0.3, cap=0.7)}, {"scale": 0.3, "cap": 0.7}),
        ({"qk_norm": QKNorm(eps=1e-3)}, {"eps": 1e-3}),
    ],
)
def test_the_options_of_today_equal_the_oracle(wing, rng, options, same):
    x, _ = inputs(rng)
    bias = rng.standard_normal((H, T, T))
    model = wing.make(wing.lib.MultiHeadAttention, D, H, **options)
    model, weights = randomize(wing, model)
    expected, expected_maps = oracle.multihead(x, None, weights, H, bias=bias, **same)
    given = {"score_bias": wing.array(bias)}  # added behind the cap
    assert_close(wing.numpy(model(wing.array(x), **given)), expected)
    assert_close(wing.numpy(model.maps(wing.array(x), **given)), expected_maps)


@pytest.mark.parametrize("n_kv_heads", [1, H])
def test_wings_agree_forward_and_in_every_gradient(both, rng, n_kv_heads):
    x, context = inputs(rng)
    assert_wings_agree(
        both,
        lambda w: w.make(w.lib.MultiHeadAttention, D, H, n_kv_heads=n_kv_heads),
        lambda w, model: model(w.array(x), w.array(context)),
    )


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


def test_is_the_sum_over_heads_of_maps_of_each_head(wing, rng):
    x, _ = inputs(rng)
    model = wing.cast(wing.make(wing.lib.MultiHeadAttention, D, H), "float64")
    weights = wing.lib.get_weights(model)
    maps = wing.numpy(model.maps(wing.array(x)))
    total = weights["o_proj.bias"] * np.ones((B, T, D))
    for head in range(H):
        mine = slice(head * D // H, (head + 1) * D // H)
        v = x @ weights["v_proj.weight"][mine].T + weights["v_proj.bias"][mine]
        total += maps[:, head] @ v @ weights["o_proj.weight"][:, mine].T
    assert_close(wing.numpy(model(wing.array(x))), total)


def test_permuting_the_sequence_permutes_the_output(wing, rng):
    x, _ = inputs(rng)
    order = rng.permutation(T)
    model = wing.cast(wing.make(wing.lib.MultiHeadAttention, D, H), "float64")
    before = wing.numpy(model(wing.array(x)))
    assert_close(wing.numpy(model(wing.array(x[:, order]))), before[:, order])


def test_one_sequence_without_a_batch_is_the_same(wing, rng):
    x, _ = inputs(rng)
    model = wing.cast(wing.make(wing.lib.MultiHeadAttention, D, H), "float64")
    batched = wing.numpy(model(wing.array(x)))
    assert_close(wing.numpy(model(wing.array(x[1]))), batched[1])


def test_dropout_drops_weights_at_its_rate_in_training(wing, rng):
    """With values of 1 and one key for each query, an output is 0 or 1 / (1 - rate)."""
    x, rate = rng.standard_normal((B, 31, D)), 0.25
    model = wing.make(wing.lib.MultiHeadAttention, D, H, dropout=rate)
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


def test_joined_heads_are_what_was_split(wing, rng):
    x, _ = inputs(rng)
    heads = wing.numpy(wing.lib.split_heads(wing.array(x), D // H))
    assert heads.shape == (B, H, T, D // H)
    for h in range(H):
        np.testing.assert_array_equal(
            heads[:, h], x[..., h * D // H : (h + 1) * D // H]
        )
    np.testing.assert_array_equal(
        wing.numpy(wing.lib.merge_heads(wing.array(heads))), x
    )


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


def test_sharing_keys_and_values_saves_their_parameters(wing):
    full, grouped, single = (
        sum(w.size for w in wing.lib.get_weights(m).values())
        for m in (
            wing.make(wing.lib.MultiHeadAttention, 24, 6, n_kv_heads=n)
            for n in (6, 2, 1)
        )
    )
    assert full == 4 * (24 * 24 + 24)
    assert full - grouped == 2 * (24 + 1) * 4 * 4
    assert full - single == 2 * (24 + 1) * 5 * 4


@drawn(
    st.integers(0, 2**32 - 1),
    st.sampled_from([(1, 1), (6, 2)]),
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)
def test_everything_together_equals_the_oracle(
    wing, seed, heads, causal, masked, biased, turned
):
    rng = np.random.default_rng(seed)
    (n_heads, n_kv_heads), t = heads, 5
    d_model = 4 * n_heads
    x, _ = inputs(rng, t=t, d=d_model)
    model = wing.make(
        wing.lib.MultiHeadAttention,
        d_model,
        n_heads,
        n_kv_heads=n_kv_heads,
        rotary=wing.lib.Rotary(4) if turned else None,
    )
    wing.cast(model, "float64")
    mask = rng.random((B, 1, 1, t)) < 0.5 if masked else None
    bias = rng.standard_normal((n_heads, t, t)) if biased else None
    options = {
        "mask": wing.array(mask) if masked else None,
        "causal": causal,
        "score_bias": wing.array(bias) if biased else None,
    }
    allowed = np.ones((1, 1, t, t), bool) if mask is None else mask
    allowed = allowed & oracle.causal_mask(t, t) if causal else allowed
    expected, expected_maps = oracle.multihead(
        x,
        None,
        wing.lib.get_weights(model),
        n_heads,
        n_kv_heads,
        allowed,
        bias,
        10000.0 if turned else None,
    )
    got = wing.numpy(model(wing.array(x), **options))
    maps = wing.numpy(model.maps(wing.array(x), **options))
    assert_close(maps, expected_maps)
    np.testing.assert_allclose(got, expected, atol=1e-10)


@pytest.mark.parametrize("biased", [False, True])
def test_nothing_to_attend_to_gives_the_output_bias_through_every_path(
    wing, rng, biased
):
    """Also where the framework's function gets one float mask that learns."""
    x, mask = wing.array(inputs(rng)[0]), np.ones((T, T), bool)
    mask[1] = False
    model = wing.cast(wing.make(wing.lib.MultiHeadAttention, D, H), "float64")
    weights = wing.lib.get_weights(model)
    weights["o_proj.bias"] = rng.standard_normal(D)
    wing.lib.set_weights(model, weights)
    bias = rng.standard_normal((H, T, T))

    def run(model, b=None):
        return model(x, mask=wing.array(mask), score_bias=b)

    output = wing.numpy(run(model, wing.array(bias) if biased else None))
    assert_close(output[:, 1], np.tile(weights["o_proj.bias"], (B, 1)))
    if biased:
        (grad,) = wing.grad(lambda b: (run(model, b) ** 2).sum(), bias)
        assert np.isfinite(grad).all()
        assert (grad[:, 1] == 0).all()
        assert (grad[:, 0] != 0).any()
    else:
        grads = wing.parameter_grads(model, lambda m: (run(m) ** 2).sum())
        assert all(np.isfinite(g).all() for g in grads.values())


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


@pytest.mark.parametrize("turned", [False, True])
def test_self_attention_is_one_head_without_biases(wing, rng, turned):
    rotary = wing.lib.Rotary(4) if turned else None
    layer = wing.cast(wing.make(wing.lib.SelfAttention, D, 4, rotary), "float64")
    x, mask = rng.standard_normal((B, T, D)), np.tril(np.ones((T, T), bool))
    w = wing.lib.get_weights(layer)
    q, k, v = (x @ w[f"{name}_proj.weight"].T for name in "qkv")
    if turned:
        q, k = oracle.rotary(q), oracle.rotary(k)
    expected = oracle.attention(q, k, v, mask)[0] @ w["o_proj.weight"].T
    assert_close(wing.numpy(layer(wing.array(x), wing.array(mask))), expected)


def test_self_attention_refuses_what_does_not_fit(wing, no_hook):
    with pytest.raises(ValueError, match="d_head=4"):
        wing.make(wing.lib.SelfAttention, D, 6, wing.lib.Rotary(4))
    layer = wing.make(wing.lib.SelfAttention, D, 6)
    with pytest.raises(ValueError, match=f"d_model={D}"):
        layer(wing.array(np.ones((T, D + 1), "float32")))
