"""What a training run leaves behind, and where it looks up: plain numbers."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from course_lib.config import TrainConfig
from course_lib.training.schedules import learning_rate


@dataclass
class History:
    """The record of a training run, as lists of plain numbers.

    Attributes:
        losses: The loss of each step's batch, before that step's update.
        learning_rates: The rate of each step.
        grad_norms: Length of each step's gradient, all parameters taken as one vector,
            before it was clipped.
        eval_steps: Steps done when each evaluation was made.
        evals: What the evaluations returned, one list for each name; a plain number is
            called "loss".
        stopped: Why training ended before its last step; empty if it did not.
    """

    losses: list[float] = field(default_factory=list)
    learning_rates: list[float] = field(default_factory=list)
    grad_norms: list[float] = field(default_factory=list)
    eval_steps: list[int] = field(default_factory=list)
    evals: dict[str, list[float]] = field(default_factory=dict)
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

    def add_steps(
        self, losses: list[float], rates: list[float], grad_norms: list[float]
    ) -> None:
        """Write steps down; a loss that is no number ends the run."""
        for i, loss in enumerate(losses):
            if not math.isfinite(loss) and not self.stopped:
                self.stopped = f"the loss of step {self.steps + i} was {loss}"
        self.losses += losses
        self.learning_rates += rates
        self.grad_norms += grad_norms

    def add_evaluation(self, result: Any, patience: int | None) -> bool:
        """Write an evaluation down; too many in a row without a new best end the run.

        Args:
            result: A number, or a dictionary of numbers. The smaller "loss", the
                better.
            patience: How many in a row may pass; None means any number.

        Returns:
            Whether this evaluation is the best so far.

        Raises:
            ValueError: The names are not those of earlier evaluations, or patience is
                asked for and there is no "loss" to judge by.
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
        """Cut what is left of a run into stretches that nothing interrupts.

        Args:
            config: Gives the number of steps, how long a stretch may be, and when
                evaluations and checkpoints cut one short.

        Yields:
            Ranges of steps. The history must have grown by one before the next is asked
            for; after `stopped` is set there is none.
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


def rates(steps: range, config: TrainConfig) -> list[float]:
    """The learning rate of each of these steps."""
    return [learning_rate(step, config) for step in steps]
