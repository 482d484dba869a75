"""Presets against config.json of the models whose names they bear, as published."""

from dataclasses import asdict, replace

import pytest

from course_lib.config import GPTConfig
from course_lib.hub import FAMILIES
from course_lib.hub.fields import Fields

GPT2 = {
    **{"vocab_size": 50257, "n_positions": 1024, "n_ctx": 1024, "n_embd": 768},
    **{"n_layer": 12, "n_head": 12, "activation_function": "gelu_new"},
    **{"resid_pdrop": 0.1, "embd_pdrop": 0.1, "attn_pdrop": 0.1},
    **{"layer_norm_epsilon": 1e-5},
}
LLAMA = {
    **{"vocab_size": 128256, "max_position_embeddings": 131072, "hidden_size": 4096},
    **{"num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8},
    **{"intermediate_size": 14336, "hidden_act": "silu", "rms_norm_eps": 1e-5},
    **{"attention_bias": False, "mlp_bias": False, "tie_word_embeddings": False},
    **{"attention_dropout": 0.0, "pretraining_tp": 1, "rope_theta": 500000.0},
}
STRETCHED = {"rope_type": "llama3", "low_freq_factor": 1.0, "high_freq_factor": 4.0}
STRETCHED |= {"original_max_position_embeddings": 8192}
QWEN3 = {
    **{"vocab_size": 151936, "max_position_embeddings": 40960, "hidden_size": 1024},
    **{"num_hidden_layers": 28, "num_attention_heads": 16, "num_key_value_heads": 8},
    **{"head_dim": 128, "intermediate_size": 3072, "hidden_act": "silu"},
    **{"rms_norm_eps": 1e-6, "attention_bias": False, "attention_dropout": 0.0},
    **{"tie_word_embeddings": True, "rope_theta": 1000000, "rope_scaling": None},
    **{"sliding_window": None, "use_sliding_window": False, "max_window_layers": 28},
}
MIXTURE = {
    **{"hidden_size": 2048, "num_hidden_layers": 48, "num_attention_heads": 32},
    **{"num_key_value_heads": 4, "intermediate_size": 6144, "num_experts": 128},
    **{"moe_intermediate_size": 768, "num_experts_per_tok": 8, "norm_topk_prob": True},
    **{"decoder_sparse_step": 1, "mlp_only_layers": [], "max_window_layers": 48},
    **{"tie_word_embeddings": False, "router_aux_loss_coef": 0.001},
}
GEMMA3 = {
    **{"vocab_size": 262144, "max_position_embeddings": 32768, "hidden_size": 1152},
    **{"num_hidden_layers": 26, "num_attention_heads": 4, "num_key_value_heads": 1},
    **{"head_dim": 256, "intermediate_size": 6912, "rms_norm_eps": 1e-6},
    **{"hidden_activation": "gelu_pytorch_tanh", "query_pre_attn_scalar": 256},
    **{"attention_bias": False, "attention_dropout": 0.0, "rope_scaling": None},
    **{"rope_theta": 1000000, "rope_local_base_freq": 10000},
    **{"sliding_window": 512, "sliding_window_pattern": 6},
    **{"attn_logit_softcapping": None, "final_logit_softcapping": None},
}
PUBLISHED = {
    "gpt2": ("gpt2", GPT2),
    "gpt2_medium": ("gpt2", GPT2 | {"n_embd": 1024, "n_layer": 24, "n_head": 16}),
    "gpt2_large": ("gpt2", GPT2 | {"n_embd": 1280, "n_layer": 36, "n_head": 20}),
    "gpt2_xl": ("gpt2", GPT2 | {"n_embd": 1600, "n_layer": 48, "n_head": 25}),
    "llama_3_1_8b": ("llama", LLAMA | {"rope_scaling": STRETCHED | {"factor": 8.0}}),
    "llama_3_2_1b": (
        "llama",
        LLAMA
        | {"hidden_size": 2048, "num_hidden_layers": 16, "intermediate_size": 8192}
        | {"rope_scaling": STRETCHED | {"factor": 32.0}, "tie_word_embeddings": True},
    ),
    "qwen3_0_6b": ("qwen3", QWEN3),
    "qwen3_30b_a3b": ("qwen3_moe", QWEN3 | MIXTURE),
    "gemma3_1b": ("gemma3_text", GEMMA3),
}


def settled(config):
    """A configuration with what None stands for, and its layers one by one."""
    made = replace(
        config,
        n_kv_heads=config.n_kv_heads or config.n_heads,
        d_ff=config.d_ff or 4 * config.d_model,
        head_dim=config.d_head,
        attention_scale=config.attention_scale or config.d_head**-0.5,
    )
    for name in ("qkv_bias", "o_bias"):
        if getattr(made, name) is None:
            made = replace(made, **{name: made.bias})
    layers = range(config.n_layers)
    fields = asdict(made) | {"rope_pattern": [made.turns(i) for i in layers]}
    return fields | {"layer_pattern": [made.has_window(i) for i in layers]}


@pytest.mark.parametrize("preset", PUBLISHED)
def test_presets_are_what_the_published_files_say(preset):
    family, fields = PUBLISHED[preset]
    given = Fields(fields, "config.json")
    published = FAMILIES[family].conversion(given, "", set()).config
    assert settled(getattr(GPTConfig, preset)()) == settled(published)


def test_every_preset_of_gpt_has_its_file():
    named = {name for name, f in vars(GPTConfig).items() if isinstance(f, classmethod)}
    assert named == PUBLISHED.keys()
