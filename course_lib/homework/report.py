"""Marks as data: a report for each answer, with every case in it, and who makes it."""

import importlib.metadata
import platform
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from course_lib import __version__
from course_lib.homework.called import CALLED, USED
from course_lib.homework.running import Outcome, Task

LOOK = (
    "which goes beyond elementary steps: who marks it will look whether that is a step."
)


@dataclass(frozen=True)
class CaseMark:
    """One case: what came out, and the slip that explains it, if one does."""

    name: str
    passed: bool
    message: str = ""
    slip: str = ""
    points: float = 0.0
    out_of: float = 1.0


@dataclass(frozen=True)
class Score:
    """What an answer to a challenge reached, between a baseline and a known bound."""

    value: float
    baseline: float
    bound: float
    measure: str

    @property
    def way(self) -> float:
        """How far it is from the baseline, 0, to the bound, 1."""
        return (self.value - self.baseline) / (self.bound - self.baseline)

    def __str__(self) -> str:
        return f"The {self.measure} is {self.value:.4g}."


@dataclass(frozen=True)
class Report:
    """The marks of one answer: true if all of it passed; prints as what to do next.

    Args:
        exercise: The exercise's name.
        wing: "torch" or "nnx".
        cases: One mark for each case; none if the answer could not be run at all.
        message: What to do next, in a sentence or two.
        used: Forbidden pieces that the answer called. With any the points are 0.
        called: What else it called that is no elementary step: a person has a look.
        seed: Which cases were drawn.
        versions: Of Python and the packages that were loaded.
        score: For a challenge, unless the answer did not run.
        flag: Why a person has to look before there are points, if one has to.
    """

    exercise: str
    wing: str
    cases: tuple[CaseMark, ...]
    message: str
    used: tuple[str, ...] = ()
    called: tuple[str, ...] = ()
    seed: int | None = None
    versions: dict[str, str] = field(default_factory=dict)
    score: Score | None = None
    flag: str = ""

    @property
    def passed(self) -> bool:
        """All cases passed, with nothing that is forbidden."""
        right = bool(self.cases) and all(c.passed for c in self.cases)
        return right and not self.used and not self.flag

    @property
    def points(self) -> float:
        """One for each case that passed; 0 if a forbidden piece was called."""
        return 0.0 if self.used or self.flag else sum(c.points for c in self.cases)

    @property
    def out_of(self) -> float:
        """Points of an answer that passes."""
        return sum(c.out_of for c in self.cases)

    @property
    def share(self) -> float:
        """Of the points of the question, between 0 and 1."""
        return self.points / self.out_of if self.cases else 0.0

    def __bool__(self) -> bool:
        return self.passed

    def __repr__(self) -> str:
        mark = "passed" if self.passed else "not yet"
        if self.score is not None and not self.used:
            mark = "full points" if self.passed else "it runs"
        return f"{self.exercise}: {mark}. {self.message}"

    def as_dict(self) -> dict[str, Any]:
        """Everything, as `json.dumps` takes it."""
        return {
            "exercise": self.exercise,
            "wing": self.wing,
            "passed": self.passed,
            "points": self.points,
            "out_of": self.out_of,
            "message": self.message,
            "cases": [asdict(case) for case in self.cases],
            "used": list(self.used),
            "called": list(self.called),
            "seed": self.seed,
            "versions": self.versions,
            "score": None if self.score is None else asdict(self.score),
            "flag": self.flag,
        }


class Marker:
    """The teacher's side: what one seed draws, and the report on what came of it.

    Args:
        name: Of an exercise or a challenge.
        wing: "torch" or "nnx".
        seed: Draws the cases.
    """

    kind = ""  # "exercise" or "challenge"

    def __init__(self, name: str, wing: str, seed: int):
        self.name, self.wing, self.seed = name, wing, seed

    def task(self, seconds: float = 30.0) -> Task:
        """What the student's side needs; so many seconds are for one case."""
        raise NotImplementedError

    def compare(self, outcomes: list[Outcome]) -> Report:
        """The marks, whatever was called on the way."""
        raise NotImplementedError

    def report(
        self, outcomes: Iterable[Outcome], notes: Iterable[tuple[str, str]] = ()
    ) -> Report:
        """The marks: every case, and in the message what to do next.

        Args:
            outcomes: Of all cases.
            notes: What the answer called on the way, as `called.Watch` notes it.
        """
        made = self.compare(list(outcomes))
        notes = dict.fromkeys(notes)
        used, others = (
            tuple(name for what, name in notes if what == kind)
            for kind in (USED, CALLED)
        )
        if others:
            message = f"{made.message} It calls {', '.join(others[:3])}, {LOOK}"
            made = replace(made, message=message, called=others)
        if not used:
            return made
        message = (
            f"It calls {used[0]}, which this {self.kind} does not allow: "
            "write that part yourself."
        )
        if not all(case.passed for case in made.cases):
            message += f" {made.message}"
        return replace(made, message=message, used=used, score=None, flag="")

    def made(self, cases: Sequence[CaseMark], message: str, **more: Any) -> Report:
        """A report of these marks."""
        about = {"seed": self.seed, "versions": _versions(self.wing), **more}
        return Report(self.name, self.wing, tuple(cases), message, **about)


def _versions(wing: str) -> dict[str, str]:
    """Versions of what a mark depends on."""
    packages = {"torch": ("numpy", "torch"), "nnx": ("numpy", "jax", "flax")}[wing]
    found = {"course_lib": __version__, "python": platform.python_version()}
    return found | {name: importlib.metadata.version(name) for name in packages}
