"""The teacher's side of marking: compare with the oracle, and find the likely slip."""

import importlib.util
import warnings
from collections.abc import Callable, Iterable, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from course_lib.homework.exercise import Arrays, Case, Exercise
from course_lib.homework.report import CaseMark, Report, versions
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


class Marking:
    """The cases of one exercise and one seed, and the marks of an answer to them.

    Args:
        name: The exercise's name.
        exercise: What is asked.
        wing: "torch" or "nnx".
        seed: Draws the cases.
    """

    def __init__(self, name: str, exercise: Exercise, wing: str, seed: int):
        self.name, self.exercise, self.wing, self.seed = name, exercise, wing, seed
        self.cases, self.weights = exercise.draw(seed)
        self.expected = [self._arrays(exercise.oracle, c) for c in self.cases.values()]

    def task(self, **limits: Any) -> Task:
        """What the student's side needs."""
        return Task(
            wing=self.wing,
            cases=tuple(self.cases.values()),
            returns=len(self.expected[0]),
            weights=self.weights,
            build=self.exercise.build,
            keywords=self.exercise.keywords,
            forbidden=self.exercise.forbidden,
            **limits,
        )

    def _arrays(self, equation: Callable[..., Arrays], case: Case) -> list[np.ndarray]:
        first = () if self.weights is None else (self.weights,)
        made = equation(*first, *case)
        return [np.asarray(x) for x in (made if isinstance(made, tuple) else (made,))]

    def report(self, outcomes: Iterable[Outcome]) -> Report:
        """The marks: every case, and in the message the first that failed."""
        outcomes = list(outcomes)
        right = [
            not o.trouble and _all(_same, o.outputs, e)
            for o, e in zip(outcomes, self.expected, strict=True)
        ]
        other_kind = {
            i
            for i, (o, e) in enumerate(zip(outcomes, self.expected, strict=True))
            if not right[i] and not o.trouble and _all(_alike, o.outputs, e)
        }
        slips = self._slips(outcomes, right, other_kind)
        marks = []
        for i, (name, case) in enumerate(self.cases.items()):
            if right[i]:
                marks.append(
                    CaseMark(name, True, "It agrees with the right result.", "", 1)
                )
                continue
            found = outcomes[i].trouble or _describe(
                outcomes[i].outputs, self.expected[i]
            )
            if not outcomes[i].trouble and i not in other_kind:
                found += (
                    f" Likely slip: {slips[i]}."
                    if slips[i]
                    else " It matches none of the known slips."
                )
            where = f'In the case "{name}" ({_called(self.exercise.call, case)}) '
            marks.append(CaseMark(name, False, where + found, slips[i]))
        used = tuple(dict.fromkeys(u for o in outcomes for u in o.used))
        return Report(
            exercise=self.name,
            wing=self.wing,
            cases=tuple(marks),
            message=self._message(marks, used),
            used=used,
            seed=self.seed,
            versions=versions(self.wing),
        )

    def _message(self, marks: Sequence[CaseMark], used: tuple[str, ...]) -> str:
        wrong = [mark for mark in marks if not mark.passed]
        parts = []
        if used:
            parts.append(
                f"It calls {used[0]}, which this exercise does not allow: "
                "write that part yourself."
            )
        if wrong:
            parts.append(wrong[0].message)
        other = next((m for m in wrong if m.slip and m.slip != wrong[0].slip), None)
        if other:
            parts.append(f'Likely slip in the case "{other.name}": {other.slip}.')
        if not parts:
            parts.append(
                f"It agrees with the right result in: {', '.join(self.cases)}."
            )
        return " ".join(parts)

    def _slips(
        self, outcomes: list[Outcome], right: list[bool], other_kind: set[int]
    ) -> list[str]:
        """For each case the slip that explains it, "" where there is none.

        Best is one that explains all that came out, the right as well as the wrong.
        Then two at once. Then the one that explains most, among it this case and what
        went right before.
        """
        ran = [i for i, o in enumerate(outcomes) if not o.trouble]
        # Right numbers of another kind, such as a mask of floats, are no slip.
        wrong = [i for i in ran if not right[i] and i not in other_kind]
        named = [""] * len(outcomes)
        if not wrong:
            return named
        cases = list(self.cases.values())

        def explains(i: int, *sentences: str, loose: bool = False) -> bool:
            slip = self.exercise.slip(*sentences)
            if slip is None:
                return False
            # Slips divide by zero and overflow: that is theirs to do.
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    made = self._arrays(slip, cases[i])
                except Exception:  # slips that fit other cases, or not each other
                    return False
            got = outcomes[i].outputs
            if loose:  # a row of 0/0 may have been set to 0
                got, made = ([np.nan_to_num(x) for x in xs] for xs in (got, made))
            return _all(_alike, got, made)

        order = [*wrong, *(i for i in ran if right[i])]
        singles = [(s,) for s in self.exercise.slips]
        pairs = combinations(self.exercise.slips, 2)
        for candidates, loose in ((singles, False), (singles, True), (pairs, False)):
            for sentences in candidates:
                if all(explains(i, *sentences, loose=loose) for i in order):
                    for i in wrong:
                        named[i] = "; and ".join(sentences)
                    return named
        for i in wrong:
            before = [j for j in ran if right[j] and j < i]
            found = {
                s: sum(explains(j, s) for j in order)
                for s in self.exercise.slips
                if explains(i, s) and all(explains(j, s) for j in before)
            }
            named[i] = max(found, key=lambda s: found[s], default="")
        return named


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
