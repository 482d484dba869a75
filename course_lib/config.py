"""What a model or a training run is made with: frozen, named, checked when made.

A configuration holds plain numbers and knows no framework, so both wings take the same
one, and it can be written beside the weights that it belongs to.
"""

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from course_lib.checks import (
    check_choice,
    check_even,
    check_heads,
    check_past_patches,
    check_patches,
    check_positive,
    check_rate,
    check_size,
    check_whole,
)

ACTIVATIONS = ("relu", "gelu", "gelu_tanh", "silu", "swiglu")
NORMS = ("pre", "post", "res_post")
NORM_KINDS = ("layer", "rms")
POSITIONS = ("learned", "sinusoidal", "rotary", "alibi", "none")
GRID_POSITIONS = ("learned", "learned_2d", "none")
ADDED_POSITIONS = ("learned", "sinusoidal", "none")
READINGS = ("all", "mean")


@dataclass(frozen=True, kw_only=True)
class TransformerConfig:
    """What every transformer here is made with.

    Args:
        d_model: Width D of the model.
        n_layers: Blocks L.
        n_heads: Query heads H, which share the width equally.
        n_kv_heads: Key and value heads; None means H.
        d_ff: Width F of the feed-forward layer; None means 4 D.
        dropout: Share of embeddings, attention weights and outputs of each part that is
            dropped in training.
        activation: One of ACTIVATIONS.
        norm: Where the norm stands in a block, one of NORMS. Unless it stands after the
            sum ("post"), one more norm follows the last block.
        norm_kind: One of NORM_KINDS.
        norm_eps: What the norms add inside the root.
        bias: Whether the blocks' linear maps add a learned constant.
        position: How the model knows the order, one of POSITIONS.

    Raises:
        ValueError: A size, a rate or a name is not allowed, or the heads do not divide.
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
        check_heads(self.d_model, self.n_heads, self.n_kv_heads or self.n_heads)
        check_size("n_layers", self.n_layers)
        if self.d_ff is not None:
            check_size("d_ff", self.d_ff)
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
    def block(self) -> dict[str, Any]:
        """What a block of the model is built with."""
        names = ("d_model", "n_heads", "d_ff", "norm", "norm_kind", "norm_eps")
        names += ("activation", "dropout", "bias", "n_kv_heads")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True, kw_only=True)
class GPTConfig(TransformerConfig):
    """A decoder that predicts the next token; the defaults are GPT-2's forms.

    One default departs: GELU is exact. GPT-2's approximation of it by tanh was once the
    faster of the two; in PyTorch on a CPU it now takes three times as long.

    Args:
        vocab_size: Rows V of the token table.
        max_len: Longest sequence, for learned and sinusoidal positions.
        tie_head: Whether the token table is also the map from vectors to logits.

    Raises:
        ValueError: As `TransformerConfig`.
    """

    vocab_size: int
    max_len: int
    tie_head: bool = True

    def __post_init__(self):
        super().__post_init__()
        check_size("vocab_size", self.vocab_size)
        check_size("max_len", self.max_len)

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


@dataclass(frozen=True, kw_only=True)
class BERTConfig(TransformerConfig):
    """An encoder that reads in both directions; the defaults are BERT's forms.

    Args:
        vocab_size: Rows V of the token table.
        max_len: Longest sequence, for learned and sinusoidal positions.
        n_token_types: Kinds of segment; 2 tells a first sentence from a second.

    Raises:
        ValueError: As `TransformerConfig`.
    """

    vocab_size: int
    max_len: int
    n_token_types: int = 2
    norm: str = "post"
    norm_eps: float = 1e-12

    def __post_init__(self):
        super().__post_init__()
        check_size("vocab_size", self.vocab_size)
        check_size("max_len", self.max_len)
        check_size("n_token_types", self.n_token_types)

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


@dataclass(frozen=True, kw_only=True)
class ViTConfig(TransformerConfig):
    """An encoder of image patches; the defaults are the published forms.

    Args:
        image_size: Height and width in pixels, or one number for both.
        patch_size: Height and width of a patch, which divide the image's.
        n_channels: Numbers a pixel: 3 in color, 1 in gray.
        n_classes: Classes that an image may belong to.
        position: "learned" (one vector a patch), "learned_2d" (row and column apart) or
            "none".

    Raises:
        ValueError: As `TransformerConfig`, or the patches do not cover the image.
    """

    image_size: int | tuple[int, int]
    patch_size: int
    n_channels: int = 3
    n_classes: int
    norm_eps: float = 1e-12

    _positions: ClassVar[tuple[str, ...]] = GRID_POSITIONS

    def __post_init__(self):
        super().__post_init__()
        check_size("n_channels", self.n_channels)
        check_size("n_classes", self.n_classes)
        check_patches(self.image_shape, self.patch_size)

    @property
    def image_shape(self) -> tuple[int, int]:
        """Height and width in pixels."""
        if isinstance(self.image_size, int):
            return self.image_size, self.image_size
        return self.image_size

    @property
    def grid(self) -> tuple[int, int]:
        """Rows and columns of patches."""
        height, width = self.image_shape
        return height // self.patch_size, width // self.patch_size

    @classmethod
    def b16(cls) -> "ViTConfig":
        """ViT-B/16 for ImageNet, 86,567,656 parameters (arXiv:2010.11929, table 1)."""
        return cls(
            image_size=224,
            patch_size=16,
            n_classes=1000,
            d_model=768,
            n_layers=12,
            n_heads=12,
        )


@dataclass(frozen=True, kw_only=True)
class ForecasterConfig(TransformerConfig):
    """An encoder of a time series that forecasts every step of a horizon at once.

    Args:
        past: Steps P that it sees.
        horizon: Steps H that it forecasts.
        patch_size: Steps in a token, which divide the past; 1 makes every step one.
        n_series: Series C, seen and forecast together.
        reading: Where the forecast is read: from "all" tokens side by side, each with
            weights of its own, or from their "mean".
        position: "learned", "sinusoidal" or "none".

    Raises:
        ValueError: As `TransformerConfig`, or the patches do not cover the past.
    """

    past: int
    horizon: int
    patch_size: int = 1
    n_series: int = 1
    reading: str = "all"

    _positions: ClassVar[tuple[str, ...]] = ADDED_POSITIONS

    def __post_init__(self):
        super().__post_init__()
        check_size("horizon", self.horizon)
        check_size("n_series", self.n_series)
        check_choice("reading", self.reading, READINGS)
        check_past_patches(self.past, self.patch_size)

    @property
    def n_patches(self) -> int:
        """Tokens in a window."""
        return self.past // self.patch_size


@dataclass(frozen=True, kw_only=True)
class Seq2SeqConfig(TransformerConfig):
    """An encoder and a decoder; the defaults are the first transformer's forms.

    Args:
        vocab_size: Rows of the source's token table.
        target_vocab_size: Rows of the target's; None means `vocab_size`.
        max_len: Longest sequence, for learned and sinusoidal positions.
        n_decoder_layers: Blocks of the decoder; None means `n_layers`.
        share_embeddings: Whether source and target have one token table.
        tie_head: Whether the target's table is also the map from vectors to logits.
        head_bias: Whether the logits have a learned constant, as Marian's do.
        scale_embeddings: Whether token vectors are multiplied by sqrt(D).
        interleaved: Order of sines and cosines; False is Marian's, see `sinusoidal`.

    Raises:
        ValueError: As `TransformerConfig`, or one table is to hold two vocabularies.
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
        check_size("vocab_size", self.vocab_size)
        check_size("max_len", self.max_len)
        for name in ("target_vocab_size", "n_decoder_layers"):
            if getattr(self, name) is not None:
                check_size(name, getattr(self, name))
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


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """How a model is trained, the same in both wings.

    The optimizer is AdamW (Loshchilov and Hutter 2019, arXiv:1711.05101). Weight decay
    pulls on arrays with two axes or more (matrices, embeddings, filters) and leaves
    vectors (biases, norms) alone.

    Args:
        steps: Updates of the weights.
        learning_rate: The largest rate that the schedule reaches.
        schedule: "constant", "cosine" or "inverse_sqrt"; see
            `course_lib.training.schedules`.
        warmup: Updates over which the rate first rises from 0, in a straight line.
        floor: Where the cosine ends, as a share of `learning_rate`.
        betas: How much of AdamW's two running means, of the gradient and of its square,
            each step keeps.
        eps: What AdamW adds to the root of the second mean.
        weight_decay: Share of a decayed weight that a step takes away, times the rate.
        clip: Longest gradient allowed, all parameters taken as one vector; a longer one
            is shortened to this. None lets all pass.
        accumulate: Equal parts that each batch is gone through in. More parts need less
            memory and change nothing else.
        precision: "float32" (each parameter's own dtype) or "bfloat16" (linear maps and
            convolutions are multiplied in 16 bits; weights, norms, optimizer stay).
        seed: Where the random numbers of dropout start.
        evaluate_every: Steps between evaluations; None means only at the end.
        patience: Evaluations in a row without a new best before training stops early,
            and the best weights are put back; None means never.
        checkpoint_every: Steps between checkpoints; None means only at the end.
        chunk: Steps between two looks at the losses; NNX does them in one compiled
            call.

    Raises:
        ValueError: A number is out of its range, or a name is not on its list.
    """

    steps: int = 1000
    learning_rate: float = 1e-3
    schedule: str = "constant"
    warmup: int = 0
    floor: float = 0.0
    betas: tuple[float, float] = (0.9, 0.999)
    eps: float = 1e-8
    weight_decay: float = 0.01
    clip: float | None = 1.0
    accumulate: int = 1
    precision: str = "float32"
    seed: int = 0
    evaluate_every: int | None = None
    patience: int | None = None
    checkpoint_every: int | None = None
    chunk: int = 8

    def __post_init__(self):
        for name in ("steps", "accumulate", "chunk"):
            check_size(name, getattr(self, name))
        for name in ("evaluate_every", "patience", "checkpoint_every"):
            if getattr(self, name) is not None:
                check_size(name, getattr(self, name))
        for name in ("warmup", "seed"):
            check_whole(name, getattr(self, name))
        for name in ("learning_rate", "eps"):
            check_positive(name, getattr(self, name))
        if self.clip is not None:
            check_positive("clip", self.clip)
        check_choice("schedule", self.schedule, ("constant", "cosine", "inverse_sqrt"))
        check_choice("precision", self.precision, ("float32", "bfloat16"))
        object.__setattr__(self, "betas", tuple(self.betas))  # a list, read from a file
        if len(self.betas) != 2:
            raise ValueError(f"betas must be two numbers: got {self.betas!r}.")
        for name, beta in zip(("betas[0]", "betas[1]"), self.betas, strict=True):
            check_rate(name, beta)
        if not 0 <= self.floor <= 1:
            raise ValueError(
                "floor must be a share of learning_rate, from 0 to 1: got "
                f"{self.floor}."
            )
        if not 0 <= self.weight_decay < math.inf:
            raise ValueError(
                "weight_decay must be 0 or positive, and finite: got "
                f"{self.weight_decay}."
            )
        if self.patience is not None and self.evaluate_every is None:
            raise ValueError(
                "patience counts evaluations, so it needs evaluate_every: got "
                f"patience={self.patience}, evaluate_every=None."
            )
        if self.schedule == "inverse_sqrt" and self.warmup == 0:
            raise ValueError(
                "schedule='inverse_sqrt' must have a warmup of at least 1 step: got "
                "warmup=0. Vaswani et al. took 4000."
            )
        if self.schedule == "cosine" and self.warmup >= self.steps:
            raise ValueError(
                "warmup must end before the last step, or the cosine never starts: got "
                f"warmup={self.warmup}, steps={self.steps}."
            )
