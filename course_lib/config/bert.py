"""Configuration of BERT, with the published sizes."""

from dataclasses import dataclass, replace

from course_lib.config.transformer import TransformerConfig

__all__ = ["BERTConfig"]


@dataclass(frozen=True, kw_only=True)
class BERTConfig(TransformerConfig):
    """BERT, a bidirectional encoder; the defaults are the published forms.

    Args:
        vocab_size: Rows V of the token table.
        max_len: Longest sequence, for learned and sinusoidal positions.
        n_token_types: Kinds of segment; 2 tells a first sentence from a second.
        relu_pooler: Whether the pooler has a ReLU, as in DistilBERT, and no tanh.
    """

    vocab_size: int
    max_len: int
    n_token_types: int = 2
    relu_pooler: bool = False
    norm: str = "post"
    norm_eps: float = 1e-12

    @classmethod
    def base(cls) -> "BERTConfig":
        """BERT-base, uncased, 109,482,240 parameters (arXiv:1810.04805, section 3)."""
        return cls(
            vocab_size=30522,
            max_len=512,
            d_model=768,
            n_layers=12,
            n_heads=12,
            dropout=0.1,
        )

    @classmethod
    def large(cls) -> "BERTConfig":
        """BERT-large, uncased, 335,141,888 parameters."""
        return replace(cls.base(), d_model=1024, n_layers=24, n_heads=16)
