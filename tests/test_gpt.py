"""GPT: what is its own beside `test_models`: positions, forms of today, its start."""

import subprocess
import sys
import textwrap

import numpy as np
import pytest
from models import MODELS, B, T, V
from wings import ALL, assert_close, each, get_wing

from course_lib.config import (
    POSITIONS,
    ROTARY_SCALINGS,
    Experts,
    GPTConfig,
    RotaryScaling,
)

CASE = MODELS["GPT"]
MAX = CASE.config.max_len

UNBOUNDED = [p for p in POSITIONS if p not in ("learned", "sinusoidal")]


def draw(rng, t=T):
    return rng.integers(0, V, (B, t))


@each("position", UNBOUNDED, nnx=["relative"])
def test_padding_in_front_changes_nothing_where_only_distance_counts(
    wing, rng, position
):
    model = CASE.random(wing, position=position)
    ids = draw(rng)
    alone = wing.numpy(model(wing.array(ids[:, 2:])))
    mask = np.arange(T)[None, None, None] >= 2
    padded = wing.numpy(model(wing.array(ids), mask=wing.array(mask)))
    assert_close(padded[:, 2:], alone)
    assert np.isfinite(padded).all()  # the padding itself may attend to nothing


def test_an_untrained_model_knows_nothing(wing, rng):
    logits = wing.numpy(CASE.build(wing)(wing.array(draw(rng))))
    loss = np.log(np.exp(logits).sum(-1)) - logits.mean(-1)
    np.testing.assert_allclose(loss, np.log(V), atol=0.05)


TODAY = {
    **{"head_dim": 6, "gated": True, "norm_kind": "rms", "position": "rotary"},
    **{"qkv_bias": True, "bias": False, "qk_norm": True, "rope_base": 50.0},
}
STRETCHED = {"factor": 3.0, "original_len": 40}
FORMS = [
    {"rope_scaling": RotaryScaling(kind=kind, **STRETCHED)} for kind in ROTARY_SCALINGS
] + [
    {"window": 2, "layer_pattern": ("global", "window"), "local_rope_base": 7.0},
    {"score_cap": 0.7, "logit_cap": 0.9, "attention_scale": 0.3},
    {"norm": "sandwich", "scale_embeddings": True, "activation": "gelu_tanh"},
    {"rope_pattern": (True, False), "n_kv_heads": 1, "whole_qk_norm": True},
    {"experts": Experts(n_experts=5), "activation": "silu", "norm": "sandwich"},
    {"experts": Experts(n_experts=5, top_k=3, normalize=False, balance_bias=True)},
]


# How angles are scaled knows no framework; the hub's tests hold the softmax's experts
# and whole published models against `transformers`.
NNX_FORMS = [*FORMS[-6:-2], FORMS[-1]]


@pytest.mark.parametrize("form", FORMS if ALL else NNX_FORMS)
def test_the_forms_of_today_are_one_function_in_both_wings(both, rng, form):
    ids, mask = draw(rng), rng.random((B, 1, 1, T)) < 0.7
    masked = []
    for wing in both:
        model = CASE.random(wing, **(TODAY | form))
        got = model(wing.array(ids), mask=wing.array(mask))
        masked.append(wing.numpy(got))
    assert_close(*masked)


@each("form", FORMS, nnx=NNX_FORMS)
def test_a_cache_changes_nothing_of_the_forms_of_today(wing, rng, form):
    model, ids = CASE.random(wing, **(TODAY | form)), draw(rng)
    cache = model.begin(B, MAX)
    parts = [model(wing.array(ids[:, s:e]), cache=cache) for s, e in ((0, 2), (2, T))]
    read = np.concatenate([wing.numpy(part) for part in parts], axis=1)
    assert_close(read, wing.numpy(model(wing.array(ids))))


@each("position", UNBOUNDED, nnx=["relative"])
def test_without_a_table_no_length_is_too_long(wing, rng, position):
    model = CASE.build(wing, position=position)
    logits = model(wing.array(draw(rng, t=2 * MAX)))
    assert np.isfinite(wing.numpy(logits)).all()


def test_a_gpt_compiles_as_one_graph():
    """In a process of its own: the compiler can't see through the checks of types."""
    pytest.importorskip("torch")
    code = f"""
        import torch, course_lib.torch as ct
        from course_lib.config import GPTConfig
        sizes = dict(vocab_size=5, max_len=7, d_model=12, n_layers=1, n_heads=2)
        for position in {POSITIONS}:
            model = ct.GPT(GPTConfig(**sizes, position=position)).eval()
            compiled = torch.compile(model, fullgraph=True, backend="eager")
            ids = torch.tensor([[1, 2, 3]])
            assert (compiled(ids) == model(ids)).all(), position
        """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True)


@pytest.mark.parametrize("position", ["rotary", "alibi"])
def test_nnx_mixes_no_kinds_of_numbers_in_silence(position):
    """What JAX's strict promotion allows."""
    jax = pytest.importorskip("jax")
    wing = get_wing("nnx")
    sizes = {"vocab_size": 5, "max_len": 7, "d_model": 8, "n_layers": 1, "n_heads": 2}
    model = wing.make(wing.lib.GPT, GPTConfig(**sizes, position=position))
    ids = wing.array(np.ones((2, 7), int))
    with jax.numpy_dtype_promotion("strict"):
        assert np.isfinite(float(wing.lib.next_token_loss(model, ids)))
