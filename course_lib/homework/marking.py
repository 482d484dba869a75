"""The teacher's side of marking: compare with the oracle, and find the likely slip."""

import functools
import importlib.util
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from course_lib.homework.exercise import Arrays, Case, Exercise
from course_lib.homework.report import CaseMark, Marker, Report
from course_lib.homework.running import Outcome, Task
from course_lib.optional import missing

TOLERANCE = 1e-4  # of the largest entry: wide for float32, narrow for a slip
KINDS = {"b": "booleans", "i": "whole numbers", "f": "floating-point numbers"}
FRAMEWORKS = {"torch": ("torch", "PyTorch"), "nnx": ("flax", "JAX and Flax")}


def check_wing(wing: str) -> None:
    """Refuse a wing whose framework is not installed, saying what to do."""
    package, name = FRAMEWORKS[wing]
    try:
        found = importlib.util.find_spec(package)
    except ValueError:  # a package set to None in sys.modules
        found = None
    if found is None:
        raise missing(f'wing="{wing}" needs', name, wing)


@dataclass
class _Case:
    """One case: what is asked, what is due, and what came."""

    number: int
    name: str
    given: Case
    due: list[np.ndarray]
    came: Outcome

    def __post_init__(self):
        got, self.ran = self.came.outputs, not self.came.trouble
        self.right = self.ran and _all(_same, got, self.due)
        # Right numbers of another kind, such as a mask of floats, are no slip.
        self.off = self.ran and not _all(_alike, got, self.due)

    def is_like(self, made: Sequence[np.ndarray], *, loose: bool) -> bool:
        """Whether these numbers came; loosely, also where a row of 0/0 was set to 0."""
        got = self.came.outputs
        if loose:
            got, made = ([np.nan_to_num(x) for x in xs] for xs in (got, made))
        return _all(_alike, got, made)


class Marking(Marker):
    """The cases of one exercise and one seed, and the marks of an answer to them.

    Args:
        name: The exercise's name.
        exercise: What is asked.
        wing: "torch" or "nnx".
        seed: Draws the cases.
    """

    kind = "exercise"

    def __init__(self, name: str, exercise: Exercise, wing: str, seed: int):
        super().__init__(name, wing, seed)
        self.exercise = exercise
        self.cases, self.weights = exercise.draw(seed)
        self.expected = [self._arrays(exercise.oracle, c) for c in self.cases.values()]
        self._slipped = functools.cache(self._slip)

    def task(self, seconds: float = 30.0) -> Task:
        """What the student's side needs."""
        return Task(
            wing=self.wing,
            cases=tuple(self.cases.values()),
            returns=len(self.expected[0]),
            weights=self.weights,
            build=self.exercise.build,
            keywords=self.exercise.keywords,
            forbidden=self.exercise.forbidden,
            needs=self.exercise.needs,
            seconds=seconds,
        )

    def compare(self, outcomes: list[Outcome]) -> Report:
        """Every case, and in the message the first that failed."""
        asked = zip(self.cases.items(), self.expected, outcomes, strict=True)
        cases = [
            _Case(n, name, given, due, came)
            for n, ((name, given), due, came) in enumerate(asked)
        ]
        slips = self._find_slips(cases)
        marks = [self._mark(case, slips.get(case.name, "")) for case in cases]
        wrong = [mark for mark in marks if not mark.passed]
        if not wrong:
            agreed = ", ".join(self.cases)
            return self.made(marks, f"It agrees with the right result in: {agreed}.")
        message, first = wrong[0].message, wrong[0].slip
        if other := next((m for m in wrong if m.slip not in ("", first)), None):
            message += f' Likely slip in the case "{other.name}": {other.slip}.'
        return self.made(marks, message)

    def _mark(self, case: _Case, slip: str) -> CaseMark:
        if case.right:
            return CaseMark(case.name, True, "It agrees with the right result.", "", 1)
        found = case.came.trouble or _describe(case.came.outputs, case.due)
        if case.off:
            none = " It matches none of the known slips."
            found += f" Likely slip: {slip}." if slip else none
        where = f'In the case "{case.name}" ({_called(self.exercise.call, case.given)})'
        return CaseMark(case.name, False, f"{where} {found}", slip)

    def _find_slips(self, cases: list[_Case]) -> dict[str, str]:
        """By case the slip that explains it, where one does.

        Best is one that explains all that came out, the right as well as the wrong.
        Then two at once. Then the one that explains most, see `_best`.
        """
        off = [case for case in cases if case.off]
        if not off:
            return {}
        clear = [*off, *(case for case in cases if case.right)]
        singles = [(slip,) for slip in self.exercise.slips]
        pairs = combinations(self.exercise.slips, 2)
        for candidates, loose in ((singles, False), (singles, True), (pairs, False)):
            for slips in candidates:
                if all(self._explains(case, *slips, loose=loose) for case in clear):
                    return dict.fromkeys(
                        (case.name for case in off), "; and ".join(slips)
                    )
        return {case.name: self._best(case, clear) for case in off}

    def _best(self, case: _Case, clear: list[_Case]) -> str:
        """The slip that explains most, and this case, and what went right before it."""
        known = [c for c in clear if c.right and c.number < case.number]
        found = {
            slip: sum(self._explains(c, slip) for c in clear)
            for slip in self.exercise.slips
            if all(self._explains(c, slip) for c in (case, *known))
        }
        return max(found, key=lambda slip: found[slip], default="")

    def _explains(self, case: _Case, *slips: str, loose: bool = False) -> bool:
        return case.is_like(self._slipped(slips, case.number), loose=loose)

    def _slip(self, slips: tuple[str, ...], number: int) -> list[np.ndarray]:
        """What a case gives with these slips; nothing if it gives an error."""
        equation = self.exercise.slip(*slips)
        # Slips divide by zero and overflow: that is theirs to do.
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                given = list(self.cases.values())[number]
                return [] if equation is None else self._arrays(equation, given)
            except Exception:  # slips that fit other cases, or not each other
                return []

    def _arrays(self, equation: Callable[..., Arrays], case: Case) -> list[np.ndarray]:
        first = () if self.weights is None else (self.weights,)
        made = equation(*first, *case)
        return [np.asarray(x) for x in (made if isinstance(made, tuple) else (made,))]


def _all(
    agree: Callable[..., bool], got: Sequence[np.ndarray], due: Sequence[np.ndarray]
) -> bool:
    """Whether as many arrays came as are due, and each agrees; none agree with none."""
    return len(got) == len(due) > 0 and all(map(agree, got, due))


def _kind(x: np.ndarray) -> str:
    return "i" if x.dtype.kind == "u" else x.dtype.kind


def _same(got: np.ndarray, expected: np.ndarray) -> bool:
    """Of the same kind, shape and numbers; whole numbers and booleans exactly."""
    if _kind(got) != _kind(expected):
        return False
    exact = _kind(expected) in "bi"
    return np.array_equal(got, expected) if exact else _alike(got, expected)


def _alike(got: np.ndarray, expected: np.ndarray) -> bool:
    """The same numbers, up to what float32 loses."""
    if got.shape != expected.shape or got.dtype.kind == "c":
        return False
    got, expected = got.astype(np.float64), expected.astype(np.float64)
    finite = np.abs(expected[np.isfinite(expected)])
    size = float(finite.max(initial=1e-6))
    with np.errstate(over="ignore"):  # any number may come
        return np.allclose(got, expected, rtol=0, atol=TOLERANCE * size, equal_nan=True)


def _describe(outputs: Sequence[np.ndarray], expected: Sequence[np.ndarray]) -> str:
    """How the first wrong output differs from what is due."""
    if len(outputs) != len(expected):
        return (
            f"it returned {len(outputs)} tensors where there must be {len(expected)}."
        )
    pairs = enumerate(zip(outputs, expected, strict=True))
    i, (got, due) = next((i, pair) for i, pair in pairs if not _same(*pair))
    place = "" if len(expected) == 1 else f" in output {i + 1} of {len(expected)}"
    if got.shape != due.shape:
        return f"it returned shape {got.shape} where {due.shape} is due{place}."
    if _kind(got) != _kind(due):
        alike = " The numbers are right." if _alike(got, due) else ""
        return (
            f"it returned {got.dtype} where {KINDS[_kind(due)]} are due{place}.{alike}"
        )
    if np.isnan(got).any():
        return f"{np.isnan(got).sum()} of its {got.size} numbers are NaN{place}."
    with np.errstate(invalid="ignore"):
        largest = np.abs(got.astype(np.float64) - due.astype(np.float64)).max()
    return f"it differs from the right result by up to {largest:.2g}{place}."


def _called(call: str, case: Case) -> str:
    """The call as it was made, without what is left out of it, and with what."""
    given = list(case)
    while given and given[-1] is None:
        given.pop()
    if len(given) < len(case):
        name, _, rest = call.partition("(")
        names, _, more = rest.partition(")")
        call = f"{name}({', '.join(names.split(', ')[: len(given)])}){more}"
    shapes = (str(x.shape) if isinstance(x, np.ndarray) else repr(x) for x in given)
    return f"{call} with {', '.join(shapes)}"
