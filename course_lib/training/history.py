"""The record of a training run in plain numbers, and its early stopping."""

import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from course_lib.config import TrainConfig
from course_lib.training.schedules import learning_rate

__all__ = ["History", "TrainingStopped"]


class TrainingStopped(UserWarning):
    """A run ended before its last step because it diverged: NaN or infinity."""


@dataclass
class History:
    """The record of a training run, as lists of plain numbers."""

    #: The loss of each step's batch, before that step's update.
    losses: list[float] = field(default_factory=list)
    learning_rates: list[float] = field(default_factory=list)  #: The rate of each step
    #: Length of each step's gradient, all parameters taken as one vector, before
    #: gradient clipping.
    grad_norms: list[float] = field(default_factory=list)
    #: Steps done when each evaluation was made.
    eval_steps: list[int] = field(default_factory=list)
    #: What the evaluations returned, one list for each name; a plain number is called
    #: "loss".
    evals: dict[str, list[float]] = field(default_factory=dict)
    #: Why training ended before its last step, by early stopping or because it
    #: diverged; empty if it did not.
    stopped: str = ""

    @property
    def steps(self) -> int:
        """Steps done."""
        return len(self.losses)

    @property
    def best(self) -> int | None:
        """Index of the evaluation with the smallest loss, the first of equals."""
        losses = self.evals.get("loss", [])
        known = [i for i, loss in enumerate(losses) if not math.isnan(loss)]
        return min(known, key=losses.__getitem__, default=None)

    @property
    def diverged(self) -> bool:
        """Whether the last step's loss or gradient was NaN or infinite."""
        last = self.losses[-1:] + self.grad_norms[-1:]
        return not all(map(math.isfinite, last))

    def add_steps(
        self, losses: list[float], rates: list[float], grad_norms: list[float]
    ) -> None:
        """Write steps down, as far as the first that diverged, which ends the run."""
        for loss, rate, norm in zip(losses, rates, grad_norms, strict=True):
            self.losses.append(loss)
            self.learning_rates.append(rate)
            self.grad_norms.append(norm)
            if self.diverged:
                what, size = "gradient's norm", norm
                if not math.isfinite(loss):
                    what, size = "loss", loss
                self.stopped = f"the {what} of step {self.steps - 1} was {size}"
                break

    def add_evaluation(self, result: Any, patience: int | None) -> bool:
        """Write an evaluation down; early stopping ends the run after too many.

        Args:
            result: A number, or a dictionary of numbers. The smaller "loss", the
                better.
            patience: How many in a row may pass without a new best; None means any.

        Returns:
            Whether this evaluation is the best so far.
        """
        numbers = result if isinstance(result, dict) else {"loss": result}
        numbers = {name: float(number) for name, number in numbers.items()}
        if self.evals and numbers.keys() != self.evals.keys():
            raise ValueError(
                "evaluate must return the same names each time: got "
                f"{', '.join(numbers)} after {', '.join(self.evals)}."
            )
        if patience is not None and "loss" not in numbers:
            raise ValueError(
                'patience judges by the "loss" that evaluate returns, the smaller the '
                f"better: got {', '.join(numbers) or 'nothing'}."
            )
        self.eval_steps.append(self.steps)
        for name, number in numbers.items():
            self.evals.setdefault(name, []).append(number)
        last, best = len(self.eval_steps) - 1, self.best
        since = last if best is None else last - best
        if patience is not None and since >= patience and not self.stopped:
            self.stopped = f"{since} evaluations without a new best"
        return best == last

    def spans(self, config: TrainConfig) -> Iterator[range]:
        """Stretches of steps up to the next evaluation, checkpoint or end of a chunk.

        Each starts where the history stands; there is none once it is `stopped`.
        """
        every = (config.evaluate_every, config.checkpoint_every)
        while self.steps < config.steps and not self.stopped:
            start = self.steps
            ends = [start + n - start % n for n in every if n]
            yield range(start, min(start + config.chunk, config.steps, *ends))

    def is_due(self, every: int | None, config: TrainConfig) -> bool:
        """Whether something is due now that happens at an interval and at the end."""
        ended = self.steps == config.steps or bool(self.stopped)
        return ended or (every is not None and self.steps % every == 0)

    def is_due_to_save(self, config: TrainConfig) -> bool:
        """Whether to write a checkpoint now; never over a good one after divergence."""
        return self.is_due(config.checkpoint_every, config) and not self.diverged

    def warn(self, config: TrainConfig, checkpoint: Any) -> None:
        """Warn if the run diverged, and say what it left in model and checkpoint."""
        if not self.diverged:
            return
        best = config.patience is not None and self.best is not None
        kept = "of its best evaluation" if best else "from before that step"
        text = (
            f"training stopped after {self.steps - 1} of {config.steps} steps: "
            f"{self.stopped}. The model has the weights {kept}."
        )
        if checkpoint is not None:
            text += (
                f" {checkpoint} was not written again: if it exists, it holds an "
                "earlier state of the run, from which resume=True goes on."
            )
        text += (
            " A smaller learning_rate, a longer warmup or a smaller clip may help, and "
            "so may a look at that step's batch."
        )
        warnings.warn(text, TrainingStopped, stacklevel=3)


def rates(steps: range, config: TrainConfig) -> list[float]:
    """The learning rate of each of these steps."""
    return [learning_rate(step, config) for step in steps]
