"""What an exercise consists of: cases, the right answer, and the slips worth naming.

An exercise of your own takes ten lines:

    from course_lib.homework import EXERCISES, Exercise, check

    def center(x):
        return x - x.mean(axis=-1, keepdims=True)

    EXERCISES["center"] = Exercise(
        call="f(x)",
        cases=lambda rng: {"a matrix": (rng.standard_normal((3, 5)),)},
        oracle=center,
        slips={
            "the mean runs down the columns": "axis=-1 -> axis=0",
            "the mean is added, not subtracted": "x - x.mean -> x + x.mean",
        },
    )
    check(my_center, "center", wing="torch")

Cases are drawn with sizes that differ (3 and 5, not 4 and 4), so that a swapped axis
shows. A slip is an edit of the right answer's own text: what stands there, an arrow,
and what the student wrote instead. Two slips at once are both edits.
"""

import functools
import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from textwrap import dedent
from typing import Any

import numpy as np

from course_lib.homework.called import PACKAGE

Case = tuple[Any, ...]
Arrays = np.ndarray | tuple[np.ndarray, ...]
Equation = Callable[..., Arrays]

# Pieces of the frameworks that would be the whole answer to an exercise, each a word of
# the names that a function, a layer or a kernel has: `_safe_softmax`, `LayerNorm`.
SOFTMAX = ("softmax", "logsumexp", "logaddexp", "logcumsumexp")
ATTENTION = ("attention", "mha", "sdpa")
LAYER_NORM = ("layer_norm", "group_norm", "batch_norm", "instance_norm")
CROSS_ENTROPY = ("cross_entropy", "nll_loss", "nll_loss2d", "nll_loss_nd")


@dataclass(frozen=True, kw_only=True)
class Exercise:
    """One exercise, for both frameworks: everything here is NumPy.

    Args:
        call: How the answer is called, in a student's words, like "f(q, k, v, mask)".
        cases: Arguments by the case's name, drawn from a generator. None at the end of
            the arguments is left out of the call. Arrays reach the answer as tensors,
            floats in float32; all else as it is.
        oracle: The right answer to a case. Its dtype counts: an answer must be boolean,
            whole or floating as this is. A tuple where several tensors are due.
        slips: By the sentence that names it, the one mistake: edits of the equation,
            "old -> new" or "old -> new; old -> new", where each old text stands there
            once; nothing, "", where its text is right only up to overflow or 0/0; or a
            function of the case.
        equation: The right answer as the page prints it, which slips edit: the
            functions that it is made of, the one to call last. By default the oracle.
        forbidden: What an answer may not call, words of the names of functions, layers
            and modules; "course_lib" is all of the package.
        needs: What it may call without a person's look, besides what is elementary.
        keywords: Names of the last arguments, if they are passed by name.
        weights: For classes: the parameters by path in PyTorch's layout, drawn from a
            generator. `oracle` and slips then get them as their first argument.
        build: For classes: what the class is called with (in NNX also `rngs`).
    """

    call: str
    cases: Callable[[np.random.Generator], Mapping[str, Case]]
    oracle: Equation
    slips: Mapping[str, str | Equation] = field(default_factory=dict)
    equation: tuple[Callable[..., Any], ...] = ()
    forbidden: tuple[str, ...] = (PACKAGE,)
    needs: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    weights: Callable[[np.random.Generator], dict[str, np.ndarray]] | None = None
    build: tuple[Any, ...] = ()

    def draw(self, seed: int) -> tuple[dict[str, Case], dict[str, np.ndarray] | None]:
        """Cases of a seed, and weights if the exercise asks for a class."""
        cases = dict(self.cases(np.random.default_rng(seed)))
        # A stream of their own: a new case leaves the weights as they were.
        weights = self.weights and self.weights(np.random.default_rng([seed, 1]))
        return cases, weights or None

    def __post_init__(self):
        """Read the equation now, since its file may change, and refuse a bad edit."""
        for slip in self.slips.values():
            if isinstance(slip, str):
                _places(self.equation or (self.oracle,), slip)

    def slip(self, *sentences: str) -> Equation | None:
        """The slips of these sentences at once; None if they can't be combined."""
        slips = [self.slips[sentence] for sentence in sentences]
        edits = [slip for slip in slips if isinstance(slip, str)]
        if edits == slips:
            return _edited(self.equation or (self.oracle,), "; ".join(edits))
        return slips[0] if len(slips) == 1 and callable(slips[0]) else None


# Slips of a softmax that must run over the keys, the last axis.
WRONG_AXES: Mapping[str, str | Equation] = {
    "softmax runs over the first axis; it must run over the keys, the last axis": (
        "axis=-1 -> axis=0"
    ),
    "softmax runs over axis 1, which is that of the keys only without a batch; "
    "axis=-1 always is": "axis=-1 -> axis=1",
}
EXERCISES: dict[str, Exercise] = {}  # every file in `topics` adds its own


@functools.cache
def _text(functions: tuple[Any, ...]) -> str:
    if not functions[-1].__name__.isidentifier():
        raise ValueError(
            "what slips edit must be a function with a name: got a lambda. "
            "Write it with def, or its slips as functions, too."
        )
    return "\n".join(dedent(inspect.getsource(f)) for f in functions)


def _places(functions: tuple[Any, ...], slip: str) -> list[tuple[int, int, str]]:
    """Start and end of what is edited, and what takes its place."""
    text, places = _text(functions), []
    for edit in filter(None, slip.split("; ")):
        old, arrow, new = edit.partition(" ->")
        if not arrow or text.count(old) != 1:
            raise ValueError(
                'a slip must be "old -> new", with an old text that stands in the '
                f"equation once: {edit!r} stands {text.count(old)} times in\n{text}\n"
                "Write the slip anew, with as much around it as makes it the only one."
            )
        places.append((text.index(old), text.index(old) + len(old), new[1:]))
    return sorted(places)


@functools.cache
def _edited(functions: tuple[Any, ...], slip: str) -> Equation | None:
    """The last of the functions after edits of their text; None if two overlap."""
    text, places = _text(functions), _places(functions, slip)
    if any(end > start for (_, end, _), (start, _, _) in pairwise(places)):
        return None
    for start, end, new in reversed(places):
        text = text[:start] + new + text[end:]
    names = _KNOWN | functions[-1].__globals__
    exec(text, names)
    return names[functions[-1].__name__]


def softmax(scores: np.ndarray, axis: int = -1) -> np.ndarray:
    """The softmax of equations; of nothing, too."""
    shift = scores.max(axis=axis, keepdims=True, initial=-np.inf)
    return unshifted_softmax(scores - shift, axis, np.float64)


def unshifted_softmax(scores, axis=-1, dtype: Any = np.float32) -> np.ndarray:
    """Softmax without the shift, which overflows as early as float32 does."""
    exps = np.exp(scores.astype(dtype))
    return exps / exps.sum(axis=axis, keepdims=True)


# What an edit may use, whether or not the file around it does.
_KNOWN = {
    "np": np,
    "math": math,
    "softmax": softmax,
    "unshifted_softmax": unshifted_softmax,
}
