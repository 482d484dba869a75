"""Latent attention: two forms of one computation, and what a cache of it holds."""

from itertools import product

import numpy as np
import pytest
from models import assert_wings_agree, randomize
from wings import assert_close, each

from course_lib import oracle

B, T, D, H, DH, C, R, Q = 2, 5, 15, 3, 7, 13, 4, 17


def build(wing, **options):
    sizes = {"d_latent": C, "d_head": DH, "rotary": wing.lib.Rotary(R)}
    return wing.make(wing.lib.LatentAttention, D, H, **sizes, **options)


def cache(wing, like, **options):
    sizes = {"d_head": R, "d_value": C, "max_len": T} | options
    return wing.lib.KVCache(1, B, 1, **sizes, like=like)[0]


def padded(wing):
    return wing.lib.padding_mask([3, T], T)


@pytest.mark.parametrize("absorbed", [False, True])
@pytest.mark.parametrize("d_query_latent", [None, Q])
def test_both_forms_equal_the_oracle(wing, rng, absorbed, d_query_latent):
    model, weights = randomize(wing, build(wing, d_query_latent=d_query_latent))
    x = rng.standard_normal((B, T, D))
    mask = padded(wing)
    got = model(wing.array(x), mask=mask, causal=True, absorbed=absorbed)
    mask = wing.numpy(mask) & np.tri(T, dtype=bool)
    assert_close(wing.numpy(got), oracle.latent_attention(x, weights, H, mask=mask))
    got = model(wing.array(x[0]), absorbed=absorbed)
    assert_close(wing.numpy(got), oracle.latent_attention(x[0], weights, H))


@pytest.mark.parametrize("absorbed", [False, True])
def test_wings_agree_in_every_gradient(both, rng, absorbed):
    x = rng.standard_normal((B, T, D))
    assert_wings_agree(
        both,
        lambda wing: build(wing, d_query_latent=Q),
        lambda wing, model: model(wing.array(x), causal=True, absorbed=absorbed),
    )


@pytest.mark.parametrize("absorbed", [False, True])
@pytest.mark.parametrize("steps", [(1,) * T, (3, 2)])
def test_reading_in_parts_equals_reading_at_once(wing, rng, absorbed, steps):
    model, _ = randomize(wing, build(wing, d_query_latent=Q))
    x = wing.array(rng.standard_normal((B, T, D)))
    kept, parts, start = cache(wing, x), [], 0
    for step in steps:
        new = x[:, start : start + step]
        parts.append(wing.numpy(model(new, causal=True, cache=kept, absorbed=absorbed)))
        start += step
    expected = wing.numpy(model(x, causal=True))
    assert_close(np.concatenate(parts, axis=1), expected)


def test_a_token_costs_the_latent_and_one_rotary_key_however_many_heads(wing, rng):
    model, weights = randomize(wing, build(wing))
    x = rng.standard_normal((B, T, D))
    kept = cache(wing, wing.array(x))
    model(wing.array(x), causal=True, cache=kept)
    rows = [wing.numpy(a[...]) for a in (kept.k, kept.v)]
    assert sum(a.size for a in rows) == B * T * (C + R)
    turned = oracle.rotary(x @ weights["rotary_proj.weight"].T)
    assert_close(rows[0][:, 0], turned)
    latent, scale = x @ weights["latent_proj.weight"].T, weights["latent_norm.weight"]
    assert_close(rows[1][:, 0], oracle.rms_norm(latent, scale, 1e-6))


def test_a_step_moves_no_output_with_the_place_of_the_whole_text(wing, rng):
    """Only distances count: the same tokens, read from another position on."""
    model, _ = randomize(wing, build(wing))
    x, other = (wing.array(rng.standard_normal((B, n, D))) for n in (T, 3))
    kept = cache(wing, x, max_len=T + 3)
    model(other, causal=True, cache=kept)
    mask = np.tri(T, T + 3, k=3, dtype=bool) & (np.arange(T + 3) >= 3)
    got = model(x, mask=wing.array(mask), cache=kept)
    assert_close(wing.numpy(got), wing.numpy(model(x, causal=True)))


def test_both_forms_have_the_same_gradients(wing, rng):
    model, _ = randomize(wing, build(wing))
    x = wing.array(rng.standard_normal((B, T, D)))
    plain, absorbed = (
        wing.parameter_grads(
            model, lambda m, a=a: (m(x, causal=True, absorbed=a) ** 3).sum()
        )
        for a in (False, True)
    )
    for name in plain:
        assert_close(absorbed[name], plain[name])


def test_a_cache_of_other_widths_is_refused_and_stores_nothing(wing, rng):
    model, _ = randomize(wing, build(wing))
    x = wing.array(rng.standard_normal((B, T, D)))
    for sizes, words in (({"d_value": None}, "values"), ({"d_head": C}, "keys")):
        kept = cache(wing, x, **sizes)
        with pytest.raises(ValueError, match=rf"this width: got {words} \(2, 1, 5"):
            model(x, causal=True, cache=kept)
        assert int(kept.length) == 0


def test_what_does_not_fit_is_refused(wing, no_hook):
    model = build(wing)
    x = np.ones((B, T, D), "float32")
    with pytest.raises(ValueError, match=f"shape .*d_model={D}"):
        model(wing.array(x[..., 1:]))
    with pytest.raises(ValueError, match="mask must have 2 axes"):
        model(wing.array(x), mask=wing.array(np.ones((B, T, T), bool)))


@each(("name", "q_lora_rank"), list(product(["V2", "V3"], [None, Q])), nnx=[("V3", Q)])
def test_equals_deepseeks_layer_in_transformers(wing, rng, name, q_lora_rank):
    """Theirs turns neighboring features, ours i with i + R/2: rows change places."""
    transformers = pytest.importorskip("transformers")
    torch = pytest.importorskip("torch")
    module = f"transformers.models.deepseek_{name.lower()}.modeling_deepseek"
    theirs = pytest.importorskip(f"{module}_{name.lower()}")
    sizes = {"hidden_size": D, "num_attention_heads": H, "num_key_value_heads": H}
    sizes |= {"kv_lora_rank": C, "qk_nope_head_dim": DH, "qk_rope_head_dim": R}
    config = getattr(transformers, f"Deepseek{name}Config")(
        **sizes, v_head_dim=DH, q_lora_rank=q_lora_rank, attn_implementation="eager"
    )
    layer = getattr(theirs, f"Deepseek{name}Attention")(config, 0).double().eval()
    with torch.no_grad():
        for p in layer.parameters():
            p.copy_(torch.from_numpy(0.3 * rng.standard_normal(p.shape)))
    x = torch.from_numpy(rng.standard_normal((B, T, D)))
    turns = getattr(theirs, f"Deepseek{name}RotaryEmbedding")(config)
    turns = turns(x, torch.arange(T)[None])
    hidden = torch.zeros(1, 1, T, T).double()
    hidden = hidden.masked_fill(~torch.ones(T, T).tril().bool(), -torch.inf)
    expected = layer(x, position_embeddings=turns, attention_mask=hidden)[0]

    w = {key: p.detach().numpy() for key, p in layer.named_parameters()}
    pairs = np.r_[0:R:2, 1:R:2]
    down = w["kv_a_proj_with_mqa.weight"]
    up = w["kv_b_proj.weight"].reshape(H, 2, DH, C)
    last = "q_proj.weight" if q_lora_rank is None else "q_b_proj.weight"
    q = w[last].reshape(H, DH + R, -1)
    q = np.concatenate([q[:, :DH], q[:, DH:][:, pairs]], axis=1)
    ours = {
        "q_proj.weight": q.reshape(H * (DH + R), -1),
        "latent_proj.weight": down[:C],
        "latent_norm.weight": w["kv_a_layernorm.weight"],
        "rotary_proj.weight": down[C:][pairs],
        "k_proj.weight": up[:, 0].reshape(-1, C),
        "v_proj.weight": up[:, 1].reshape(-1, C),
        "o_proj.weight": w["o_proj.weight"],
    }
    if q_lora_rank is not None:
        ours["q_down_proj.weight"] = w["q_a_proj.weight"]
        ours["q_norm.weight"] = w["q_a_layernorm.weight"]
    model = wing.cast(build(wing, d_query_latent=q_lora_rank), "float64")
    wing.lib.set_weights(model, ours)
    got = wing.numpy(model(wing.array(x.numpy()), causal=True))
    np.testing.assert_allclose(got, expected.detach().numpy(), atol=1e-6)
