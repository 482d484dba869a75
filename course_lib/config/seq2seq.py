"""Configuration of the encoder-decoder, with the base model's sizes."""

from dataclasses import dataclass

from course_lib.config.transformer import TransformerConfig

__all__ = ["Seq2SeqConfig"]


@dataclass(frozen=True, kw_only=True)
class Seq2SeqConfig(TransformerConfig):
    """Encoder-decoder transformer; the defaults are the first one's forms.

    Args:
        vocab_size: Rows of the source's token table.
        target_vocab_size: Rows of the target's; None means `vocab_size`.
        max_len: Longest sequence, for learned and sinusoidal positions.
        n_decoder_layers: Blocks of the decoder; None means `n_layers`.
        share_embeddings: Whether source and target have one token table.
        tie_head: Whether the target's table is also the output layer (weight tying).
        head_bias: Whether the logits have a learned constant, as Marian's do.
        scale_embeddings: Whether token vectors are multiplied by sqrt(D).
        interleaved: Order of sines and cosines; False is Marian's, see `sinusoidal`.
    """

    vocab_size: int
    max_len: int
    target_vocab_size: int | None = None
    n_decoder_layers: int | None = None
    activation: str = "relu"
    norm: str = "post"
    position: str = "sinusoidal"
    share_embeddings: bool = True
    tie_head: bool = True
    head_bias: bool = False
    scale_embeddings: bool = True
    interleaved: bool = True

    def __post_init__(self):
        super().__post_init__()
        if self.share_embeddings and self.vocab_target != self.vocab_size:
            raise ValueError(
                "share_embeddings=True needs one vocabulary for source and target: "
                f"got vocab_size={self.vocab_size}, "
                f"target_vocab_size={self.target_vocab_size}. Join the vocabularies, "
                "or set share_embeddings=False."
            )

    @property
    def vocab_target(self) -> int:
        """Rows of the target's token table."""
        return self.target_vocab_size or self.vocab_size

    @classmethod
    def base(cls) -> "Seq2SeqConfig":
        """The base model of Vaswani et al. 2017, table 3, arXiv:1706.03762.

        The paper says 65 million parameters, and "about 37000" tokens; with 37,000 it
        has 63,082,496. Nothing in it limits the length; 1,024 positions are ours.
        """
        return cls(
            vocab_size=37000,
            max_len=1024,
            d_model=512,
            n_layers=6,
            n_heads=8,
            d_ff=2048,
            dropout=0.1,
        )
