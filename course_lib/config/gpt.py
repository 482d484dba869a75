"""Configuration of GPT, with GPT-2's sizes."""

from dataclasses import dataclass, replace

from course_lib.config.transformer import TransformerConfig

__all__ = ["GPTConfig"]


@dataclass(frozen=True, kw_only=True)
class GPTConfig(TransformerConfig):
    """GPT, an autoregressive language model; the defaults are GPT-2's forms.

    One default departs: GELU is exact. GPT-2's approximation of it by tanh was once the
    faster of the two; in PyTorch on a CPU it now takes three times as long.

    Args:
        vocab_size: Rows V of the token table.
        max_len: Longest sequence, for learned and sinusoidal positions.
        tie_head: Whether the token table is also the output layer (weight tying).
    """

    vocab_size: int
    max_len: int
    tie_head: bool = True

    def __post_init__(self):
        super().__post_init__()
        self._check_sizes("vocab_size", "max_len")

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
