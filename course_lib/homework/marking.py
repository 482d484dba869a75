"""How an answer is marked: run on each case, held against the oracle, then slips."""

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from course_lib.arrays import to_numpy
from course_lib.checks import check_choice

TOLERANCE = 1e-4  # of the largest entry: wide for float32, narrow for a slip
Case = tuple[np.ndarray | float | None, ...]


@dataclass(frozen=True, kw_only=True)
class Exercise:
    """What is asked, and how it goes wrong.

    Args:
        call: How the answer is called, in a student's words, like "f(q, k, v, mask)".
        cases: Arguments by the case's name, drawn from a generator that is always the
            same. None at the end of the arguments is left out of the call.
        oracle: The right answer, in NumPy.
        slips: By the sentence that names it: the equation with that one mistake.
        build: For classes: makes a callable from the class, a wing and the case.
    """

    call: str
    cases: Callable[[np.random.Generator], Mapping[str, Case]]
    oracle: Callable[..., np.ndarray]
    slips: Mapping[str, Callable[..., np.ndarray]] = field(default_factory=dict)
    build: Callable[[Any, str], Callable] | None = None


@dataclass(frozen=True)
class Report:
    """The mark: true if passed; prints as what to do next."""

    exercise: str
    passed: bool
    message: str

    def __bool__(self) -> bool:
        return self.passed

    def __repr__(self) -> str:
        return (
            f"{self.exercise}: {'passed' if self.passed else 'not yet'}. {self.message}"
        )


def to_wing(x: Any, wing: str) -> Any:
    """A NumPy array as a tensor of the wing (floats in float32); the rest as it is."""
    if not isinstance(x, np.ndarray):
        return x
    x = x.astype(np.float32) if x.dtype == np.float64 else x
    if wing == "torch":
        return importlib.import_module("torch").from_numpy(x.copy())
    return importlib.import_module("jax.numpy").asarray(x)


def _tensor_type(wing: str) -> type:
    if wing == "torch":
        return importlib.import_module("torch").Tensor
    return importlib.import_module("jax").Array


def _shapes(case: Case) -> str:
    return ", ".join(
        str(x.shape) if isinstance(x, np.ndarray) else repr(x) for x in case
    )


def mark(
    answer: Any, name: str, exercises: Mapping[str, Exercise], wing: str
) -> Report:
    """Run an answer on every case of an exercise; stop at the first that fails."""
    check_choice("exercise", name, tuple(exercises))
    check_choice("wing", wing, ("torch", "nnx"))
    if not callable(answer):
        raise ValueError(
            f"the answer must be a function or a class: got {type(answer).__name__}. "
            "Hand over the function itself, without calling it: check(f, ...)."
        )
    exercise = exercises[name]
    function = answer
    if exercise.build:
        try:
            function = exercise.build(answer, wing)
        except Exception as error:
            return Report(
                name, False, f"It could not be built: {type(error).__name__}: {error}"
            )
    cases = exercise.cases(np.random.default_rng(1964))  # Nadaraya, Watson
    passed: list[Case] = []
    for case_name, case in cases.items():
        trouble = _trouble(function, exercise, case, passed, wing)
        if trouble:
            return Report(
                name,
                False,
                f'In the case "{case_name}" ({exercise.call} with {_shapes(case)}) '
                + trouble,
            )
        passed.append(case)
    return Report(name, True, f"It agrees with the oracle in: {', '.join(cases)}.")


def _trouble(
    function: Callable, exercise: Exercise, case: Case, passed: list[Case], wing: str
) -> str:
    """What is wrong with the answer in one case; nothing if it is right."""
    expected, all_arguments = exercise.oracle(*case), case
    while case and case[-1] is None:
        case = case[:-1]
    arguments = [to_wing(x, wing) for x in case]
    kept = [to_numpy(a).copy() for a in arguments]
    try:
        got = function(*arguments)
    except Exception as error:
        return f"it raised {type(error).__name__}: {error}"
    got = got[0] if isinstance(got, tuple) and got else got
    kind = _tensor_type(wing)
    if not isinstance(got, kind):
        wanted = f"{kind.__module__.split('.')[0]}.{kind.__name__}"
        hint = " Does it end with return?" if got is None else ""
        return f"it returned {type(got).__name__} where a {wanted} is due.{hint}"
    for before, after in zip(kept, arguments, strict=True):
        if not np.array_equal(before, to_numpy(after)):
            return "it changed its own input. Work on a copy."
    got = to_numpy(got)
    if _same(got, expected):
        return ""
    found = _describe(got, expected)
    for sentence, slip in exercise.slips.items():
        with np.errstate(
            all="ignore"
        ):  # slips divide by zero and overflow: theirs to do
            # The slip must explain what went right, too.
            if _same(got, slip(*all_arguments)) and all(
                _same(exercise.oracle(*right), slip(*right)) for right in passed
            ):
                return f"{found} Likely slip: {sentence}."
    return f"{found} It matches none of the known slips."


def _same(got: np.ndarray, expected: np.ndarray) -> bool:
    if got.shape != expected.shape:
        return False
    finite = np.abs(expected[np.isfinite(expected)])
    size = float(finite.max(initial=1e-6))
    return np.allclose(got, expected, rtol=0, atol=TOLERANCE * size, equal_nan=True)


def _describe(got: np.ndarray, expected: np.ndarray) -> str:
    if got.shape != expected.shape:
        return f"it returned shape {got.shape} where {expected.shape} is due."
    if np.isnan(got).any():
        return f"{np.isnan(got).sum()} of its {got.size} numbers are NaN."
    largest = float(np.abs(got - expected).max())
    return f"it differs from the oracle by up to {largest:.2g}."
