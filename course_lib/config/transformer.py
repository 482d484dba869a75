"""Sizes and forms that every transformer here has, and the names they go by."""

from dataclasses import dataclass, fields
from typing import Any, ClassVar

from course_lib.checks import (
    check_choice,
    check_even,
    check_heads,
    check_positive,
    check_rate,
    check_size,
    make_plain,
)

__all__ = ["ACTIVATIONS", "NORMS", "NORM_KINDS", "POSITIONS", "TransformerConfig"]

ACTIVATIONS = ("relu", "gelu", "gelu_tanh", "silu", "swiglu")
NORMS = ("pre", "post", "res_post", "sandwich")
NORM_KINDS = ("layer", "rms")
POSITIONS = ("learned", "sinusoidal", "rotary", "alibi", "relative", "none")


@dataclass(frozen=True, kw_only=True)
class TransformerConfig:
    """Sizes and forms of a transformer, whatever it is for.

    Args:
        d_model: Width D of the model.
        n_layers: Depth L, the number of blocks.
        n_heads: Query heads H, which share the width equally.
        n_kv_heads: Key and value heads (grouped-query attention); None means H.
        d_ff: Width F of the feed-forward network (MLP); None means 4 D.
        dropout: Share of embeddings, attention weights and outputs of each part that is
            set to 0 in training.
        activation: One of ACTIVATIONS.
        norm: Where the norm stands in a block, one of NORMS. Unless it stands after the
            sum ("post"), one more norm follows the last block.
        norm_kind: One of NORM_KINDS.
        norm_eps: What the norms add inside the root.
        bias: Whether the blocks' linear maps add a learned constant.
        position: How the model knows the order, one of POSITIONS.
    """

    d_model: int
    n_layers: int
    n_heads: int
    n_kv_heads: int | None = None
    d_ff: int | None = None
    dropout: float = 0.0
    activation: str = "gelu"
    norm: str = "pre"
    norm_kind: str = "layer"
    norm_eps: float = 1e-5
    bias: bool = True
    position: str = "learned"

    _positions: ClassVar[tuple[str, ...]] = POSITIONS

    def __post_init__(self):
        make_plain(self)
        for f in fields(self):  # all whole numbers here are sizes
            size = getattr(self, f.name)
            if f.type is int or (f.type == int | None and size is not None):
                check_size(f.name, size)
        groups = self.n_heads if self.n_kv_heads is None else self.n_kv_heads
        check_heads(self.d_model, self.n_heads, groups, getattr(self, "head_dim", None))
        check_rate("dropout", self.dropout)
        check_choice("activation", self.activation, ACTIVATIONS)
        check_choice("norm", self.norm, NORMS)
        check_choice("norm_kind", self.norm_kind, NORM_KINDS)
        check_positive("norm_eps", self.norm_eps)
        check_choice("position", self.position, self._positions)
        if self.position == "rotary":
            check_even("d_head = d_model / n_heads", self.d_head)
        if self.position in ("sinusoidal", "learned_2d"):
            check_even("d_model", self.d_model)

    @property
    def d_head(self) -> int:
        """Width of one head."""
        return self.d_model // self.n_heads

    @property
    def rotary(self) -> dict[str, Any]:
        """Arguments of rotary positions."""
        return {"d_head": self.d_head}

    @property
    def block(self) -> dict[str, Any]:
        """Arguments of the model's blocks."""
        names = ("d_model", "n_heads", "d_ff", "norm", "norm_kind", "norm_eps")
        names += ("activation", "dropout", "bias", "n_kv_heads")
        return {name: getattr(self, name) for name in names}
