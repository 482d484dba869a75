"""Checkpoints of the decoders of today, from Llama on: each becomes a `GPT`.

They share one architecture and nearly all names; a `Decoder` says what one family has
of its own. Four things are stored otherwise than here: Gemma's norms multiply by one
plus their weight, Phi-3's maps lie side by side in one matrix, each expert's matrices
lie apart or gate and up side by side, and all are output by input, where ours, of
several experts, are input by output.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from course_lib.config import Experts, GPTConfig
from course_lib.hub.conversion import Arrays, Conversion
from course_lib.hub.fields import Fields
from course_lib.hub.rope import rope, turning

_LAYER, _OURS = "layers.#.", "blocks.#."
_TABLE = {
    "embed_tokens": "tokens",
    "norm": "norm",
    _LAYER + "input_layernorm": _OURS + "attention_norm",
    _LAYER + "post_attention_layernorm": _OURS + "feed_forward_norm",
} | {
    f"{_LAYER}{theirs}.{part}": f"{_OURS}{ours}.{part}"
    for theirs, ours, parts in (
        ("self_attn", "attention", "q_proj k_proj v_proj o_proj q_norm k_norm"),
        ("mlp", "feed_forward", "gate_proj up_proj down_proj"),
    )
    for part in parts.split()
}
_FIELDS = """
    vocab_size               vocab_size
    max_position_embeddings  max_len
    hidden_size              d_model
    num_hidden_layers        n_layers
    num_attention_heads      n_heads
    head_dim                 head_dim   null
    intermediate_size        d_ff
"""
# Where blocks have their norms elsewhere, by our word for it.
_NORMS = {
    "sandwich": {
        _LAYER + "post_attention_layernorm": _OURS + "attention_post_norm",
        _LAYER + "pre_feedforward_layernorm": _OURS + "feed_forward_norm",
        _LAYER + "post_feedforward_layernorm": _OURS + "feed_forward_post_norm",
    },
    "res_post": {
        _LAYER + "post_attention_layernorm": _OURS + "attention_norm",
        _LAYER + "post_feedforward_layernorm": _OURS + "feed_forward_norm",
    },
}
_EXPERTS = {
    f"{_LAYER}{theirs}.{part}": f"{_OURS}feed_forward.{ours}"
    for theirs in ("mlp", "block_sparse_moe")
    for part, ours in (
        ("gate", "router"),
        *((f"experts.{m}", m) for m in ("gate_proj", "up_proj", "down_proj")),
    )
}
_MIXTRAL = {"w1": "gate_proj", "w2": "down_proj", "w3": "up_proj"}
# What Phi-3 has side by side, and in which matrix.
_PACKED = {
    f"{_OURS}attention.{x}_proj": _LAYER + "self_attn.qkv_proj" for x in "qkv"
} | {
    f"{_OURS}feed_forward.{x}_proj": _LAYER + "mlp.gate_up_proj" for x in ("gate", "up")
}
# Angles that early checkpoints hold, and that ours computes.
_ANGLES = frozenset({_LAYER + "self_attn.rotary_emb.inv_freq"})
_KINDS = {"full_attention": "global", "sliding_attention": "window"}


@dataclass(frozen=True, kw_only=True)
class Decoder:
    """A family of decoders: how its config.json is read, beyond what all share."""

    ARCHITECTURES: tuple[str, ...]
    own: Callable[[Fields], dict[str, Any]]  #: Reads the family's own fields
    theta: float = 10000.0  #: Base of its angles where the file says nothing
    norm_eps: float = 1e-6  #: What its norms add where the file says nothing
    tied: bool = False  #: Whether its head is tied where the file says nothing
    activation: str = "hidden_act activation silu"  #: That field and its default
    n_kv_heads: Any = None  #: Key heads where the file says nothing; None: as queries
    plus_one: bool = False  #: Whether norms multiply by one plus their weight
    packed: bool = False  #: Whether maps of one input lie side by side
    silent: str = ""  #: Fields of the family alone that change no number

    def conversion(
        self, fields: Fields, architecture: str, names: set[str]
    ) -> Conversion:
        """Translate the family's configuration."""
        own = self.own(fields)
        tied = fields.take("tie_word_embeddings", self.tied)
        options = fields.read(_FIELDS) | {
            "n_kv_heads": fields.take("num_key_value_heads", self.n_kv_heads),
            "norm_eps": fields.take("rms_norm_eps", self.norm_eps),
            "norm_kind": "rms",
            "gated": True,
            "bias": False,
            "position": "rotary",
            "tie_head": tied,
        }
        if "activation" not in own:
            own |= fields.read(self.activation)
        if "rope_base" not in own:
            own |= rope(fields, self.theta)
        config = GPTConfig(**(options | own))
        # Rates of dropout, losses, noise in training, and ways of computing the same.
        fields.finish(
            "attention_dropout pretraining_tp cache_implementation router_jitter_noise "
            f"output_router_logits router_aux_loss_coef {self.silent}"
        )
        table = _TABLE | (_EXPERTS if config.experts is not None else {})
        table |= _NORMS.get(config.norm, {})

        def prepare(arrays: Arrays) -> Arrays:
            if self.plus_one:
                for name in [n for n in arrays if n.endswith("norm.weight")]:
                    arrays[name] = 1 + arrays[name].astype(np.float32)
            if config.experts is not None:
                _stack_experts(arrays, config.experts.n_experts)
            if self.packed:
                _split(arrays, config)
            return arrays

        return Conversion(
            model="GPT",
            config=config,
            prefix="model.",
            table=table | {"lm_head": "tokens" if tied else "head"},
            unused=_ANGLES,
            packed=_PACKED if self.packed else {},
            prepare=prepare,
        )


def _split(arrays: Arrays, config: GPTConfig) -> None:
    """Split the maps that lie side by side, in place."""
    d_q, d_ff = config.n_heads * config.d_head, config.d_ff or 0
    d_kv = (config.n_kv_heads or config.n_heads) * config.d_head
    fused = {
        "qkv_proj": {"q_proj": d_q, "k_proj": d_kv, "v_proj": d_kv},
        "gate_up_proj": {"gate_proj": d_ff, "up_proj": d_ff},
    }
    for name in list(arrays):
        stem, _, part = name.removesuffix(".weight").rpartition(".")
        rows = fused.get(part, {})
        if rows and arrays[name].shape[:1] == (sum(rows.values()),):
            parts = np.split(arrays.pop(name), np.cumsum([*rows.values()])[:-1])
            for part, array in zip(rows, parts, strict=True):
                arrays[f"{stem}.{part}.weight"] = array


def _stack_experts(arrays: Arrays, n_experts: int) -> None:
    """Put the matrices of a layer's experts into one array, `E Din Dout`, in place."""
    apart: dict[str, dict[int, str]] = {}
    for name in list(arrays):
        stem, dot, leaf = name.partition(".experts.")
        if found := re.fullmatch(r"(\d+)\.(\w+)\.weight", leaf):
            part = _MIXTRAL.get(found[2], found[2])
            apart.setdefault(f"{stem}.experts.{part}", {})[int(found[1])] = name
        elif dot and leaf == "gate_up_proj":
            gate, up = np.split(arrays.pop(name), 2, axis=1)
            arrays[f"{stem}.experts.gate_proj"] = gate.swapaxes(1, 2)
            arrays[f"{stem}.experts.up_proj"] = up.swapaxes(1, 2)
        elif dot and leaf == "down_proj":
            arrays[name] = arrays[name].swapaxes(1, 2)
    for name, experts in apart.items():
        shapes = {arrays[n].shape for n in experts.values()}
        if sorted(experts) == [*range(n_experts)] and len(shapes) == 1:
            parts = [arrays.pop(experts[e]).T for e in range(n_experts)]
            arrays[name] = np.stack(parts)


def _llama(fields: Fields) -> dict[str, Any]:
    return _attention_bias(fields) | {"bias": fields.take("mlp_bias", False)}


def _mistral(fields: Fields) -> dict[str, Any]:
    return {"window": fields.take("sliding_window", 4096)}


def _smollm3(fields: Fields) -> dict[str, Any]:
    n = fields.take("num_hidden_layers")
    every = fields.take("no_rope_layer_interval", 4)
    turned = fields.take("no_rope_layers", None)  # 1 where they turn
    if turned is None:
        turned = [(i + 1) % every for i in range(n)]
    if not isinstance(turned, list) or len(turned) < n:
        raise ValueError(
            f"{fields.where} asks for no_rope_layers={turned!r}, which our model does "
            f"not have: there must be a number for each of the {n} layers."
        )
    turned = tuple(map(bool, turned[:n]))
    return {"rope_pattern": turned, **_llama(fields), **_windows(fields, turned)}


def _olmo2(fields: Fields) -> dict[str, Any]:
    own = {"norm": "res_post", "qk_norm": True, "whole_qk_norm": True}
    return own | _attention_bias(fields)


def _phi3(fields: Fields) -> dict[str, Any]:
    for name in ("attention_bias", "mlp_bias", "lm_head_bias"):
        fields.must(name, False)
    window = fields.take("sliding_window", None)
    return {"window": window, "dropout": fields.take("resid_pdrop", 0.0)}


def _qwen2(fields: Fields) -> dict[str, Any]:
    return {"qkv_bias": True} | _windows(fields)


def _qwen3(fields: Fields) -> dict[str, Any]:
    own = {"qk_norm": True, "head_dim": fields.take("head_dim")}
    return own | _attention_bias(fields) | _windows(fields)


def _attention_bias(fields: Fields) -> dict[str, Any]:
    """One field for all four maps of attention."""
    bias = fields.take("attention_bias", False)
    return {"qkv_bias": bias, "o_bias": bias}


def _windows(fields: Fields, turned: Sequence[bool] = ()) -> dict[str, Any]:
    """Qwen's windows: which layers have one; SmolLM3's are where nothing turns."""
    window = fields.take("sliding_window", None if turned else 4096)
    if not fields.take("use_sliding_window", False):
        window = None
    near = [not turns for turns in turned]
    if not near:
        first = fields.take("max_window_layers", 28)
        near = [i >= first for i in range(fields.take("num_hidden_layers"))]
    return _pattern(fields, [n and window is not None for n in near], window)


def _pattern(fields: Fields, near: list[bool], window: int | None) -> dict[str, Any]:
    """Which layers have a window: what `layer_types` says, or else `near`."""
    n, kinds = fields.take("num_hidden_layers"), fields.take("layer_types", None)
    if kinds is None:
        kinds = ["sliding_attention" if i else "full_attention" for i in near]
    fits = isinstance(kinds, list) and len(kinds) == n and not {*kinds} - {*_KINDS}
    if not fits or (window is None and "sliding_attention" in kinds):
        raise ValueError(
            f"{fields.where} asks for layer_types={kinds!r} with sliding_window="
            f"{window}, which our model does not have: there must be one type for each "
            f"of the {n} layers, {' or '.join(_KINDS)}, and a window for the latter."
        )
    if "sliding_attention" not in kinds:
        return {"window": None}
    return {"window": window, "layer_pattern": tuple(_KINDS[kind] for kind in kinds)}


def _gemma3(fields: Fields) -> dict[str, Any]:
    fields.must("use_bidirectional_attention", False)
    fields.must("attn_logit_softcapping", None)
    n = fields.take("num_hidden_layers")
    every = fields.take("sliding_window_pattern", None)
    every = every or fields.values.get("_sliding_window_pattern", 6)
    near = [bool((i + 1) % every) for i in range(n)]
    # Windows turn at a base of their own, which is never stretched.
    new = fields.take("rope_parameters", None) or {}
    if new.keys() - _KINDS.keys():
        raise ValueError(
            f"{fields.where} asks for rope_parameters={new!r}, which our model does "
            f"not have: it must have the entries {' and '.join(_KINDS)}."
        )
    old = {"rope_theta": fields.take("rope_theta", None) or 1000000.0}
    far = old | (new.get("full_attention") or {})
    far |= fields.take("rope_scaling", None) or {}
    local = {"rope_theta": fields.take("rope_local_base_freq", None) or 10000.0}
    local |= new.get("sliding_attention") or {}
    base, scaling = turning(far, "rope_parameters", fields)
    local_base, stretched = turning(local, "rope_parameters", fields)
    if stretched is not None:
        raise ValueError(
            f"{fields.where} asks for rope_parameters={new!r}, which our model does "
            "not have: positions of layers with a window are never stretched."
        )
    return {
        "norm": "sandwich",
        "qk_norm": True,
        "head_dim": fields.take("head_dim", 256),
        "scale_embeddings": True,
        "attention_scale": fields.take("query_pre_attn_scalar", 256) ** -0.5,
        "logit_cap": fields.take("final_logit_softcapping", None),
        "rope_base": base,
        "rope_scaling": scaling,
        "local_rope_base": local_base,
        **_attention_bias(fields),
        **_pattern(fields, near, fields.take("sliding_window", 4096)),
    }


def _gemma(fields: Fields) -> dict[str, Any]:
    fields.must("use_bidirectional_attention", False)
    # The first files say "gelu" and mean the other, as the library knows.
    fields.must("hidden_act", "gelu_pytorch_tanh", "gelu")
    fields.must("hidden_activation", "gelu_pytorch_tanh")
    own = {"activation": "gelu_tanh", "scale_embeddings": True}
    return own | {"head_dim": fields.take("head_dim", 256)} | _attention_bias(fields)


def _gemma2(fields: Fields) -> dict[str, Any]:
    near = [i % 2 == 0 for i in range(fields.take("num_hidden_layers"))]
    scale = fields.take("query_pre_attn_scalar", 256) ** -0.5
    return {
        "norm": "sandwich",
        "attention_scale": scale,
        "score_cap": fields.take("attn_logit_softcapping", 50.0),
        "logit_cap": fields.take("final_logit_softcapping", 30.0),
        **_gemma(fields),
        **_pattern(fields, near, fields.take("sliding_window", 4096)),
    }


def _mixtral(fields: Fields) -> dict[str, Any]:
    fields.must("attention_bias", False)
    return {
        "window": fields.take("sliding_window", None),
        "experts": Experts(
            n_experts=_n_experts(fields, 8),
            top_k=fields.take("num_experts_per_tok", 2),
            normalize=True,
        ),
    }


def _qwen3_moe(fields: Fields) -> dict[str, Any]:
    fields.must("decoder_sparse_step", 1, default=1)
    fields.must("mlp_only_layers", [])
    fields.take("intermediate_size", None)  # of layers without experts, which it lacks
    window = fields.take("sliding_window", 4096)
    if not fields.take("use_sliding_window", False):
        window = None
        fields.take("max_window_layers", None)
    return _attention_bias(fields) | {
        "qk_norm": True,
        "window": window,
        "d_ff": fields.take("moe_intermediate_size", 768),
        "experts": Experts(
            n_experts=_n_experts(fields, 128),
            top_k=fields.take("num_experts_per_tok", 8),
            normalize=fields.take("norm_topk_prob", False),
        ),
    }


def _n_experts(fields: Fields, default: int) -> int:
    """Two names for one number."""
    names = ("num_experts", "num_local_experts")
    stated = [n for n in (fields.take(name, None) for name in names) if n is not None]
    if len({*stated}) > 1:
        raise ValueError(
            f"{fields.where} must say once how many experts there are: got "
            f"{' and '.join(map(str, stated))}."
        )
    return stated[0] if stated else default


_of_gemma = partial(Decoder, tied=True, plus_one=True)
FAMILIES: dict[str, Decoder] = {
    "llama": Decoder(ARCHITECTURES=("LlamaForCausalLM",), own=_llama),
    "mistral": Decoder(
        ARCHITECTURES=("MistralForCausalLM",), own=_mistral, n_kv_heads=8
    ),
    "qwen2": Decoder(ARCHITECTURES=("Qwen2ForCausalLM",), own=_qwen2, n_kv_heads=32),
    "qwen3": Decoder(ARCHITECTURES=("Qwen3ForCausalLM",), own=_qwen3, n_kv_heads=32),
    "gemma": _of_gemma(ARCHITECTURES=("GemmaForCausalLM",), own=_gemma, n_kv_heads=16),
    "gemma2": _of_gemma(
        ARCHITECTURES=("Gemma2ForCausalLM",), own=_gemma2, n_kv_heads=4
    ),
    "gemma3_text": _of_gemma(
        ARCHITECTURES=("Gemma3ForCausalLM",),
        own=_gemma3,
        activation="hidden_activation activation gelu_pytorch_tanh",
        n_kv_heads=4,
    ),
    "smollm3": Decoder(
        ARCHITECTURES=("SmolLM3ForCausalLM",),
        own=_smollm3,
        theta=2000000.0,
        tied=True,
        n_kv_heads=4,
        silent="max_window_layers",
    ),
    "olmo2": Decoder(ARCHITECTURES=("Olmo2ForCausalLM",), own=_olmo2, norm_eps=1e-5),
    # `auto_map` names code beside the file, from before the library had it.
    "phi3": Decoder(
        ARCHITECTURES=("Phi3ForCausalLM",),
        own=_phi3,
        norm_eps=1e-5,
        packed=True,
        silent="embd_pdrop original_max_position_embeddings auto_map",
    ),
    "mixtral": Decoder(
        ARCHITECTURES=("MixtralForCausalLM",),
        own=_mixtral,
        norm_eps=1e-5,
        theta=1000000.0,
        n_kv_heads=8,
    ),
    "qwen3_moe": Decoder(
        ARCHITECTURES=("Qwen3MoeForCausalLM",), own=_qwen3_moe, n_kv_heads=4
    ),
}
