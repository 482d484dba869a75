"""Configuration of GPT, with the sizes of GPT-2 and of models of today."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from course_lib.checks import check_choice, check_positive, check_size
from course_lib.config.experts import Experts
from course_lib.config.rotary import RotaryScaling
from course_lib.config.scoring import QKNorm, Scoring
from course_lib.config.transformer import TransformerConfig

__all__ = ["LAYERS", "GPTConfig"]

LAYERS = ("window", "global")


@dataclass(frozen=True, kw_only=True)
class GPTConfig(TransformerConfig):
    """GPT, an autoregressive language model; the defaults are GPT-2's forms.

    One default departs: GELU is exact. GPT-2's approximation of it by tanh was once the
    faster of the two; in PyTorch on a CPU it now takes three times as long.

    Args:
        vocab_size: Rows V of the token table.
        max_len: Longest sequence, for learned and sinusoidal positions.
        tie_head: Whether the token table is also the output layer (weight tying).
        head_dim: Width Dh of a head; None means D / H, which then must be whole.
        gated: Whether the MLP multiplies its activation with a second map of its input:
            SwiGLU is "silu", gated.
        qkv_bias: Whether the maps to queries, keys and values add a constant; None
            means as `bias`.
        o_bias: The same of the map behind the heads.
        qk_norm: Whether queries and keys go through an RMS norm of their own, with
            `norm_eps`, before they are turned.
        whole_qk_norm: Whether that norm is taken over all heads together, as in OLMo 2,
            and not of each by itself.
        rope_base: Base of the rotary angles, RoPE's theta.
        rope_scaling: How rotary positions are stretched for longer texts.
        local_rope_base: Base in layers with a window, not stretched; None means that
            they turn as the others do.
        window: Tokens, itself among them, that a position sees in a layer with a window
            (sliding-window attention); None has no such layers.
        layer_pattern: "window" or "global" for each layer in turn, repeated over the
            depth; says nothing without `window`.
        rope_pattern: Whether queries and keys turn, for each layer in turn, repeated
            over the depth; a layer where they don't knows no order (NoPE).
        attention_scale: What scores are multiplied by; None means 1 / sqrt(Dh).
        score_cap: Soft cap c of the scores, c tanh(score / c); None has none.
        logit_cap: Soft cap of the logits.
        scale_embeddings: Whether token vectors are multiplied by sqrt(D).
        experts: What stands in place of each MLP (mixture of experts), each `d_ff`
            wide; None has an MLP.
    """

    vocab_size: int
    max_len: int
    tie_head: bool = True
    head_dim: int | None = None
    gated: bool = False
    qkv_bias: bool | None = None
    o_bias: bool | None = None
    qk_norm: bool = False
    whole_qk_norm: bool = False
    rope_base: float = 10000.0
    rope_scaling: RotaryScaling | None = None
    local_rope_base: float | None = None
    window: int | None = None
    layer_pattern: tuple[str, ...] = ("window",)
    rope_pattern: tuple[bool, ...] = (True,)
    attention_scale: float | None = None
    score_cap: float | None = None
    logit_cap: float | None = None
    scale_embeddings: bool = False
    experts: Experts | None = None

    def __post_init__(self):
        # Read from a file, a tuple is a list, and an object its fields.
        for name in ("layer_pattern", "rope_pattern"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
            check_size(f"length of {name}", len(getattr(self, name)))
        for name, kind in (("rope_scaling", RotaryScaling), ("experts", Experts)):
            if isinstance(fields := getattr(self, name), Mapping):
                object.__setattr__(self, name, kind(**fields))
        super().__post_init__()
        check_positive("rope_base", self.rope_base)
        for name in ("local_rope_base", "attention_scale", "score_cap", "logit_cap"):
            if getattr(self, name) is not None:
                check_positive(name, getattr(self, name))
        for layer in self.layer_pattern:
            check_choice("each layer of layer_pattern", layer, LAYERS)
        if self.experts is not None and self.activation == "swiglu":
            raise ValueError(
                "experts take the name of an activation, and gated=True beside it: got "
                "activation='swiglu'. Write activation='silu', gated=True."
            )

    @property
    def d_head(self) -> int:
        """Width of one head."""
        return self.head_dim or super().d_head

    @property
    def rotary(self) -> dict[str, Any]:
        """Arguments of rotary positions."""
        scaling = {"base": self.rope_base, "scaling": self.rope_scaling}
        return super().rotary | scaling

    def has_window(self, layer: int) -> bool:
        """Whether a layer, counted from 0, sees a window alone."""
        kind = self.layer_pattern[layer % len(self.layer_pattern)]
        return self.window is not None and kind == "window"

    def turns(self, layer: int) -> bool:
        """Whether queries and keys of a layer, counted from 0, are turned."""
        return self.rope_pattern[layer % len(self.rope_pattern)]

    def layer(self, layer: int) -> dict[str, Any]:
        """Arguments of one block, counted from 0, but for its rotary positions."""
        norm = QKNorm(eps=self.norm_eps, whole=self.whole_qk_norm)
        window = self.window if self.has_window(layer) else None
        attention = {
            "head_dim": self.head_dim,
            "bias": self.bias if self.qkv_bias is None else self.qkv_bias,
            "o_bias": self.bias if self.o_bias is None else self.o_bias,
            "qk_norm": norm if self.qk_norm else None,
            "scoring": Scoring(
                scale=self.attention_scale, cap=self.score_cap, window=window
            ),
        }
        more = {"gated": self.gated, "attention": attention, "experts": self.experts}
        return self.block | more

    @classmethod
    def gpt2(cls) -> "GPTConfig":
        """GPT-2 small, 124,439,808 parameters (Radford et al. 2019, table 2)."""
        return cls(
            vocab_size=50257,
            max_len=1024,
            d_model=768,
            n_layers=12,
            n_heads=12,
            activation="gelu_tanh",
            dropout=0.1,
        )

    @classmethod
    def gpt2_medium(cls) -> "GPTConfig":
        """GPT-2 medium, 354,823,168 parameters."""
        return replace(cls.gpt2(), d_model=1024, n_layers=24, n_heads=16)

    @classmethod
    def gpt2_large(cls) -> "GPTConfig":
        """GPT-2 large, 774,030,080 parameters."""
        return replace(cls.gpt2(), d_model=1280, n_layers=36, n_heads=20)

    @classmethod
    def gpt2_xl(cls) -> "GPTConfig":
        """GPT-2 XL, 1,557,611,200 parameters."""
        return replace(cls.gpt2(), d_model=1600, n_layers=48, n_heads=25)

    @classmethod
    def llama_3_1_8b(cls) -> "GPTConfig":
        """Llama 3.1 8B, 8,030,261,248 parameters (arXiv:2407.21783, table 3)."""
        return cls(
            vocab_size=128256,
            max_len=131072,
            d_model=4096,
            n_layers=32,
            n_heads=32,
            n_kv_heads=8,
            d_ff=14336,
            rope_base=500000.0,
            rope_scaling=RotaryScaling(kind="llama3", factor=8.0, original_len=8192),
            tie_head=False,
            **_TODAY,
        )

    @classmethod
    def llama_3_2_1b(cls) -> "GPTConfig":
        """Llama 3.2 1B, 1,235,814,400 parameters (Meta's model card and weights)."""
        return replace(
            cls.llama_3_1_8b(),
            d_model=2048,
            n_layers=16,
            d_ff=8192,
            rope_scaling=RotaryScaling(kind="llama3", factor=32.0, original_len=8192),
            tie_head=True,
        )

    @classmethod
    def qwen3_0_6b(cls) -> "GPTConfig":
        """Qwen3 0.6B, 596,049,920 parameters (arXiv:2505.09388, table 1)."""
        return cls(
            vocab_size=151936,
            max_len=40960,
            d_model=1024,
            n_layers=28,
            n_heads=16,
            n_kv_heads=8,
            head_dim=128,
            d_ff=3072,
            qk_norm=True,
            rope_base=1000000.0,
            norm_eps=1e-6,
            **_TODAY,
        )

    @classmethod
    def qwen3_30b_a3b(cls) -> "GPTConfig":
        """Qwen3 30B-A3B, 30,532,122,624 parameters (arXiv:2505.09388, table 2).

        A mixture of 128 experts, of which a token uses 8 and about 3.3 billion
        parameters.
        """
        return replace(
            cls.qwen3_0_6b(),
            d_model=2048,
            n_layers=48,
            n_heads=32,
            n_kv_heads=4,
            d_ff=768,
            experts=Experts(n_experts=128, top_k=8),
            tie_head=False,
        )

    @classmethod
    def gemma3_1b(cls) -> "GPTConfig":
        """Gemma 3 1B, 999,885,952 parameters (arXiv:2503.19786, table 1)."""
        return cls(
            vocab_size=262144,
            max_len=32768,
            d_model=1152,
            n_layers=26,
            n_heads=4,
            n_kv_heads=1,
            head_dim=256,
            d_ff=6912,
            qk_norm=True,
            rope_base=1000000.0,
            local_rope_base=10000.0,
            window=512,
            layer_pattern=("window",) * 5 + ("global",),
            scale_embeddings=True,
            **_GEMMA,
        )


# What decoders of today have in common.
_TODAY: dict[str, Any] = {
    "activation": "silu",
    "gated": True,
    "norm_kind": "rms",
    "bias": False,
    "position": "rotary",
}
_GEMMA: dict[str, Any] = _TODAY | {
    "norm": "sandwich",
    "norm_eps": 1e-6,
    "activation": "gelu_tanh",
}
