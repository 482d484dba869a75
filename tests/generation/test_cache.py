"""The cache changes nothing but the work."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from models import randomize
from wings import assert_close, each

from course_lib.arrays import to_numpy
from course_lib.config import Experts, GPTConfig, Seq2SeqConfig

B, T, D, H, KV = 2, 7, 12, 6, 3
CONFIG = GPTConfig(vocab_size=5, max_len=7, d_model=D, n_layers=1, n_heads=H)


def layer(wing, **options):
    model = wing.make(wing.lib.MultiHeadAttention, D, H, n_kv_heads=KV, **options)
    return wing.cast(model, "float64")


def cache(wing, x, max_len=11):
    return wing.lib.KVCache(2, B, KV, max_len, D // H, like=x)


@each(
    ("steps", "positions"),
    list(product([(3, 1, 1, 2), (1,) * T, (T,)], ["none", "rotary"])),
    nnx=[((3, 1, 1, 2), "none"), ((3, 1, 1, 2), "rotary")],
)
def test_reading_in_parts_equals_reading_at_once(wing, rng, steps, positions):
    rotary = wing.lib.Rotary(D // H) if positions == "rotary" else None
    model = layer(wing, rotary=rotary)
    x = wing.array(rng.standard_normal((B, T, D)))
    kept, parts, start = cache(wing, x), [], 0
    for step in steps:
        part = model(x[:, start : start + step], causal=True, cache=kept[1])
        parts.append(wing.numpy(part))
        start += step
        assert int(kept[1].length) == start
    assert int(kept.length) == 0  # the other layer has read nothing
    expected = wing.numpy(model(x, causal=True))
    assert_close(np.concatenate(parts, axis=1), expected)


ODD = {"vocab_size": 13, "max_len": 11, "d_model": 21, "n_layers": 3, "n_heads": 6}
ODD |= {"n_kv_heads": 3, "head_dim": 10, "d_ff": 17}
TODAY = {"position": "rotary", "norm_kind": "rms", "gated": True, "bias": False}
DECODERS = {
    "GPT-2": {},
    "ALiBi": {"position": "alibi"},
    "Qwen3": TODAY | {"activation": "silu", "qk_norm": True},
    "Gemma": TODAY
    | {"norm": "sandwich", "window": 3, "layer_pattern": ("window", "global")}
    | {"local_rope_base": 100.0, "score_cap": 5.0, "logit_cap": 7.0}
    | {"scale_embeddings": True, "attention_scale": 0.4, "activation": "gelu_tanh"},
    "Mixtral": TODAY | {"experts": Experts(n_experts=5), "activation": "silu"},
}


@each("family", DECODERS, nnx=["Gemma"])
def test_in_16_bits_too_a_decoder_reads_in_parts_as_at_once(wing, rng, family):
    config = GPTConfig(**ODD | DECODERS[family])
    model = wing.cast(randomize(wing, wing.make(wing.lib.GPT, config))[0], "bfloat16")
    ids = wing.array(rng.integers(0, 13, (3, T)))
    kept = model.begin(3, 11)
    parts = [model.read(ids[:, a:b], kept) for a, b in ((0, 3), (3, 4), (4, T))]
    assert {str(x.dtype).split(".")[-1] for x in (kept[0].k, *parts)} == {"bfloat16"}
    whole = to_numpy(model(ids))
    got = np.concatenate([to_numpy(part) for part in parts], axis=1)
    np.testing.assert_allclose(got, whole, atol=0.04 * np.abs(whole).max())


def test_what_is_forgotten_can_be_read_anew(wing, rng):
    model, x, other = layer(wing), *rng.standard_normal((2, B, T, D))
    kept = cache(wing, wing.array(x))
    for part in kept[0], kept[1]:
        model(wing.array(x[:, :5]), causal=True, cache=part)
    kept.rewind(3)
    assert [int(part.length) for part in (kept, kept[0], kept[1])] == [3, 3, 3]
    text = np.concatenate([x[:, :3], other[:, 3:]], axis=1)
    got = model(wing.array(text[:, 3:]), causal=True, cache=kept[1])
    expected = model(wing.array(text), causal=True)
    assert_close(wing.numpy(got), wing.numpy(expected)[:, 3:])


def test_a_gradient_goes_through_the_cache(wing, rng):
    model, x = layer(wing), rng.standard_normal((B, 3, D))

    def in_parts(model):
        kept = cache(wing, wing.array(x))[0]
        parts = (wing.array(x[:, t : t + 1]) for t in range(3))
        return sum((model(part, causal=True, cache=kept) ** 2).sum() for part in parts)

    def at_once(model):
        return (model(wing.array(x), causal=True) ** 2).sum()

    expected = wing.parameter_grads(model, at_once)
    for name, found in wing.parameter_grads(model, in_parts).items():
        np.testing.assert_allclose(found, expected[name], atol=1e-10)


def test_a_context_that_was_read_before_need_not_be_read_again(wing, rng):
    model = layer(wing)
    x, context = (wing.array(rng.standard_normal((B, n, D))) for n in (T, 5))
    kept = model.project_kv(context)
    assert all(tuple(t.shape[-2:]) == (5, D // H) for t in kept)
    together = model(x, kept)
    assert_close(wing.numpy(together), wing.numpy(model(x, context)))
    alone = model(x[:, 2:3], kept)
    assert_close(wing.numpy(alone), wing.numpy(together)[:, 2:3])


def test_keys_of_another_batch_are_refused(wing, rng):
    model = layer(wing)
    x = wing.array(rng.standard_normal((B + 1, T, D)))
    kept = model.project_kv(wing.array(rng.standard_normal((B, 5, D))))
    with pytest.raises(ValueError, match="the same batch axes"):
        model(x, kept)


def test_a_cache_knows_its_memory_and_what_of_it_is_padding(wing, rng):
    config = Seq2SeqConfig(vocab_size=11, max_len=9, d_model=D, n_layers=1, n_heads=H)
    model = wing.cast(wing.make(wing.lib.Seq2Seq, config), "float64")
    source, target = (wing.array(rng.integers(0, 11, (B, n))) for n in (5, T))
    mask = wing.lib.padding_mask([3, 5], 5)
    memory = model.encode(source, source_mask=mask)
    got = model.read(target, model.begin(memory, T, source_mask=mask))
    expected = model.decode(target, memory, source_mask=mask)
    assert_close(wing.numpy(got), wing.numpy(expected))


def test_the_cache_has_its_full_size_from_the_start(wing):
    kept = wing.lib.KVCache(2, 3, 5, 7, 11)
    assert kept.max_len == 7
    assert tuple(kept[0].k.shape) == (3, 5, 7, 11)
    assert str(kept[0].k.dtype).endswith("float32")


def test_what_does_not_fit_is_refused_and_not_stored(wing, rng):
    model = layer(wing)
    x = wing.array(rng.standard_normal((B, T, D)))
    kept = cache(wing, x, max_len=9)
    model(x, causal=True, cache=kept[0])
    with pytest.raises(ValueError, match="7 stored and 7 new for max_len=9"):
        model(x, causal=True, cache=kept[0])
    assert int(kept.length) == T
    model(x[:, :2], causal=True, cache=kept[0])


def test_a_cache_for_another_batch_is_refused(wing, rng):
    model = layer(wing)
    x = wing.array(rng.standard_normal((B + 1, T, D)))
    with pytest.raises(ValueError, match="made for this batch"):
        model(x, causal=True, cache=cache(wing, x)[0])


def test_an_nnx_cache_goes_through_a_compiled_step(rng):
    jax = pytest.importorskip("jax")
    nnx = pytest.importorskip("flax.nnx")
    lib = pytest.importorskip("course_lib.nnx")
    model = lib.MultiHeadAttention(D, H, n_kv_heads=KV, rngs=nnx.Rngs(0))
    x = jax.numpy.asarray(rng.standard_normal((B, T, D)), jax.numpy.float32)
    kept = lib.KVCache(1, B, KV, T, D // H)
    graph, state = nnx.split(kept)
    traces = 0

    @jax.jit
    def step(state, token):
        nonlocal traces
        traces += 1
        inner = nnx.merge(graph, state)
        output = model(token, causal=True, cache=inner[0])
        return nnx.state(inner), output

    outputs = []
    for t in range(T):
        state, output = step(state, x[:, t : t + 1])
        outputs.append(np.asarray(output))
    expected = np.asarray(model(x, causal=True))
    assert_close(np.concatenate(outputs, axis=1), expected, "float32")
    assert traces == 1


@pytest.mark.parametrize("position", ["learned", "sinusoidal"])
def test_no_cache_is_begun_that_is_longer_than_the_positions(wing, position):
    model = wing.make(wing.lib.GPT, replace(CONFIG, position=position, max_len=7))
    model.begin(1, 7)
    with pytest.raises(ValueError, match="positions must lie within max_len=7"):
        model.begin(1, 8)


def test_no_more_is_kept_than_was_stored(wing, rng, no_hook):
    model = wing.make(wing.lib.GPT, CONFIG)
    cache = model.begin(1, 7)
    model(wing.array(rng.integers(0, 5, (1, 3))), cache=cache)
    for bad in (4, -1):
        with pytest.raises(ValueError, match=f"got length={bad} for 3 tokens"):
            cache.rewind(bad)
    cache.rewind(np.int64(3))
    assert int(cache.length) == 3


def test_a_mask_of_the_newest_token_alone_is_refused(wing, rng):
    model = wing.make(wing.lib.GPT, CONFIG)
    cache, ids = model.begin(2, 7), wing.array(rng.integers(1, 5, (2, 3)))
    model(ids, cache=cache)
    mask = wing.lib.padding_mask_from_ids(ids[:, :1], 0)
    with pytest.raises(ValueError, match="a column for each key that the cache holds"):
        model(ids[:, :1], mask=mask, cache=cache)


def test_a_cache_takes_what_it_stores_in_its_own_dtype(wing):
    cache = wing.lib.KVCache(1, 1, 2, 3, 4, like=wing.array(np.zeros(1), "float32"))
    new = wing.array(np.full((1, 2, 1, 4), 0.5), "float64")
    for kept in cache[0].append(new, new):
        assert "float32" in str(kept.dtype)
        assert wing.numpy(kept)[0, 0, 0, 0] == 0.5
