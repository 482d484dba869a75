"""An open-ended task: its answer has a score between a baseline and a known bound.

A challenge draws data, hands the answer what a student may see, and keeps the truth.
The answer returns predictions, here or in a process of its own; the score is computed
on the marker's side, on data from a seed that the student doesn't know.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from course_lib.data.firms import r_squared
from course_lib.homework.exercise import Case
from course_lib.homework.report import CaseMark, Marker, Report, Score
from course_lib.homework.running import Outcome, Task

STEPS = 10  # points are given in tenths
BEYOND = 1.02  # of the way to the bound: what luck on new data can add, and a little


@dataclass(frozen=True, kw_only=True)
class Draw:
    """Data of one draw.

    Args:
        arguments: What the answer is called with. Arrays reach it as tensors, floats
            in float32; all else as it is.
        truth: What the score needs, and the answer never sees.
        shape: Of the tensor that the answer must return.
        baseline: Score of the stated baseline on these data.
        bound: Score of the best that could be known on these data.
    """

    arguments: Case
    truth: Any
    shape: tuple[int, ...]
    baseline: float
    bound: float


def explained(output: np.ndarray, truth: np.ndarray) -> float:
    """The score of predictions by R²."""
    return r_squared(truth, output)


def draw_explained(
    arguments: Case, truth: np.ndarray, *, baseline: np.ndarray, bound: np.ndarray
) -> Draw:
    """A draw scored by R², from the predictions of the baseline and of the bound."""
    return Draw(
        arguments=arguments,
        truth=truth,
        shape=truth.shape,
        baseline=explained(baseline, truth),
        bound=explained(bound, truth),
    )


@dataclass(frozen=True, kw_only=True)
class Challenge:
    """An open-ended task, for both frameworks: everything here is NumPy.

    Args:
        call: How the answer is called, in a student's words, like "f(x, y, x_new)".
        draw: Data by their name, drawn from a generator.
        score: Of what the answer returned, given the truth. Whether a low or a high
            score is better follows from baseline and bound.
        measure: The score's name, like "mean squared error".
        baseline: In words, what the baseline does.
        bound: In words, what the bound knows.
        full: All points are for this share of the way from baseline to bound.
        seconds: For one draw.
    """

    call: str
    draw: Callable[[np.random.Generator], Mapping[str, Draw]]
    score: Callable[[np.ndarray, Any], float]
    measure: str
    baseline: str
    bound: str
    full: float = 0.9
    seconds: float = 60.0


def wide_seed(rng: np.random.Generator) -> int:
    """Draw a seed of 128 bits, which nobody finds by trying them all."""
    return int.from_bytes(rng.bytes(16), "little")


CHALLENGES: dict[str, Challenge] = {}  # files in `topics` add theirs


class Trial(Marker):
    """The data of one challenge and one seed, and the score of an answer to them.

    Args:
        name: The challenge's name.
        challenge: What is asked.
        wing: "torch" or "nnx".
        seed: Draws the data.
    """

    kind = "challenge"

    def __init__(self, name: str, challenge: Challenge, wing: str, seed: int):
        super().__init__(name, wing, seed)
        self.challenge = challenge
        self.draws = dict(challenge.draw(np.random.default_rng(seed)))

    def task(self, seconds: float = 0.0) -> Task:
        """What the student's side needs; the limit on time is the challenge's own."""
        return Task(
            wing=self.wing,
            cases=tuple(draw.arguments for draw in self.draws.values()),
            watched=False,
            seconds=self.challenge.seconds,
        )

    def compare(self, outcomes: list[Outcome]) -> Report:
        """The score, a mean over the draws, and the tenths of the points that it earns.

        A draw without a result counts as the baseline's.
        """
        pairs = list(zip(self.draws.values(), outcomes, strict=True))
        troubles = [self._trouble(draw, outcome) for draw, outcome in pairs]
        scores = [
            draw.baseline
            if trouble
            else float(self.challenge.score(outcome.outputs[0], draw.truth))
            for (draw, outcome), trouble in zip(pairs, troubles, strict=True)
        ]
        mean = Score(
            value=float(np.mean(scores)),
            baseline=float(np.mean([draw.baseline for draw in self.draws.values()])),
            bound=float(np.mean([draw.bound for draw in self.draws.values()])),
            measure=self.challenge.measure,
        )
        share = self.share(mean)
        marks = [
            CaseMark(name, not trouble and share == 1, trouble or str(mean), "", share)
            for name, trouble in zip(self.draws, troubles, strict=True)
        ]
        flag = (
            f"the score is {mean.way:.0%} of the way to the best that could be known: "
            "read the answer"
        )
        return self.made(
            marks,
            self._message(mean, share, next(filter(None, troubles), "")),
            score=None if all(troubles) else mean,
            flag=flag if mean.way > BEYOND else "",
        )

    def share(self, score: Score) -> float:
        """Of the points, in tenths: how far the score is from baseline to bound."""
        if not math.isfinite(score.way):
            return 0.0
        steps = math.floor(STEPS * score.way / self.challenge.full + 1e-9)
        return min(max(steps, 0), STEPS) / STEPS

    def _trouble(self, draw: Draw, outcome: Outcome) -> str:
        if outcome.trouble:
            return outcome.trouble
        if len(outcome.outputs) != 1:
            return f"it returned {len(outcome.outputs)} tensors where one is due."
        (got,) = outcome.outputs
        if got.shape != draw.shape:
            return f"it returned shape {got.shape} where {draw.shape} is due."
        if got.dtype.kind != "f":
            return f"it returned {got.dtype} where floating-point numbers are due."
        wrong = int((~np.isfinite(got)).sum())
        return f"{wrong} of its {got.size} numbers are NaN or infinite." * bool(wrong)

    def _message(self, score: Score, share: float, trouble: str) -> str:
        if trouble:
            return f"Called as {self.challenge.call}, {trouble}"
        return (
            f"{score} The baseline, {self.challenge.baseline}, has {score.baseline:.4g}"
            f" and the bound, {self.challenge.bound}, has {score.bound:.4g}. That is "
            f"{max(0.0, score.way):.0%} of the way from one to the other. All points "
            f"are for {self.challenge.full:.0%}, and in tenths of them you get "
            f"{share:.0%}."
        )
