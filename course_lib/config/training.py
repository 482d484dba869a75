"""Configuration of a training run."""

import math
from dataclasses import dataclass

from course_lib.checks import (
    check_choice,
    check_positive,
    check_rate,
    check_size,
    check_whole,
    make_plain,
)

__all__ = ["TrainConfig"]

FALLING = ("linear", "cosine")  # to 0, where the last step is
SCHEDULES = ("constant", *FALLING, "inverse_sqrt")


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """How a model is trained, the same in both wings.

    The optimizer is AdamW (Loshchilov and Hutter 2019, arXiv:1711.05101). Weight decay
    pulls on arrays with two axes or more (matrices, embeddings, filters) and leaves
    vectors (biases, norms) alone.

    Args:
        steps: Updates of the weights.
        learning_rate: The schedule's peak.
        schedule: "constant", "linear", "cosine" or "inverse_sqrt"; see
            `course_lib.training.schedules`.
        warmup: Updates over which the rate first rises linearly from 0.
        betas: AdamW's decay rates, of the mean gradient and of the mean square.
        eps: What AdamW adds to the root of the mean square.
        weight_decay: Share of a decayed weight that a step takes away, times the rate.
        clip: Gradient clipping: the largest norm allowed, all parameters taken as one
            vector; longer gradients are scaled down to it. None means no limit.
        accumulate: Gradient accumulation: equal parts that each batch is worked through
            in. More parts need less memory, and change nothing else if the loss returns
            a sum and a count; of means, each part's counts the same.
        precision: "float32" (each parameter's own dtype) or "bfloat16" (mixed
            precision: linear layers and convolutions multiply in 16 bits; weights,
            norms and optimizer stay).
        seed: Where the random numbers of dropout start.
        evaluate_every: Steps between evaluations; None means only at the end.
        patience: Early stopping: evaluations in a row without a new best before
            training stops and the best weights are put back. None means never.
        checkpoint_every: Steps between checkpoints; None means only at the end.
        chunk: Steps between two looks at the losses; NNX does them in one compiled
            call.
    """

    steps: int = 1000
    learning_rate: float = 1e-3
    schedule: str = "constant"
    warmup: int = 0
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
        object.__setattr__(self, "betas", tuple(self.betas))  # a list, read from a file
        make_plain(self)
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
        check_choice("schedule", self.schedule, SCHEDULES)
        check_choice("precision", self.precision, ("float32", "bfloat16"))
        if len(self.betas) != 2:
            raise ValueError(f"betas must be two numbers: got {self.betas!r}.")
        for name, beta in zip(("betas[0]", "betas[1]"), self.betas, strict=True):
            check_rate(name, beta)
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
        if self.schedule in FALLING and self.warmup >= self.steps:
            raise ValueError(
                "warmup must end before the last step, or the rate never falls: got "
                f"warmup={self.warmup}, steps={self.steps}."
            )
