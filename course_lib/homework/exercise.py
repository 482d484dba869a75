"""What an exercise consists of: cases, the right answer, and the slips worth naming.

An exercise of your own takes ten lines:

    from course_lib.homework import EXERCISES, Exercise, check

    EXERCISES["center"] = Exercise(
        call="f(x)",
        cases=lambda rng: {"a matrix": (rng.standard_normal((3, 5)),)},
        oracle=lambda x: x - x.mean(axis=-1, keepdims=True),
        slips={
            "the mean runs down the columns": lambda x: x - x.mean(axis=0),
            "the mean is added, not subtracted": lambda x: x + x.mean(-1)[:, None],
        },
    )
    check(my_center, "center", wing="torch")

Cases are drawn with sizes that differ (3 and 5, not 4 and 4), so that a swapped axis
shows. A slip is the whole equation with one mistake in it, in NumPy.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Case = tuple[Any, ...]
Arrays = np.ndarray | tuple[np.ndarray, ...]
Slip = Callable[..., Arrays] | Mapping[str, Any]

# Pieces of the frameworks that would be the whole answer to an exercise.
SOFTMAX = ("softmax", "log_softmax", "logsumexp")
ATTENTION = (
    "scaled_dot_product_attention",
    "dot_product_attention",
    "dot_product_attention_weights",
    "multi_head_attention_forward",
    "MultiheadAttention",
    "MultiHeadAttention",
    "MultiHeadDotProductAttention",
)
LAYER_NORM = ("LayerNorm", "layer_norm", "native_layer_norm", "GroupNorm", "group_norm")
PACKAGE = "course_lib"


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
        slips: By the sentence that names it, the equation with that one mistake: a
            function of the case, or switches for `mistaken`.
        mistaken: The equation with a switch for each mistake, right if none is set.
            With it two slips at once are recognized, too.
        forbidden: What an answer may not call: names of functions or classes of the
            frameworks and of this package; "course_lib" is all of the package.
        keywords: Names of the last arguments, if they are passed by name.
        weights: For classes: the parameters by path in PyTorch's layout, drawn from a
            generator. `oracle` and slips then get them as their first argument.
        build: For classes: what the class is called with (in NNX also `rngs`).
    """

    call: str
    cases: Callable[[np.random.Generator], Mapping[str, Case]]
    oracle: Callable[..., Arrays]
    slips: Mapping[str, Slip] = field(default_factory=dict)
    mistaken: Callable[..., Arrays] | None = None
    forbidden: tuple[str, ...] = (PACKAGE,)
    keywords: tuple[str, ...] = ()
    weights: Callable[[np.random.Generator], dict[str, np.ndarray]] | None = None
    build: tuple[Any, ...] = ()

    def draw(self, seed: int) -> tuple[dict[str, Case], dict[str, np.ndarray] | None]:
        """Cases of a seed, and weights if the exercise asks for a class."""
        cases = dict(self.cases(np.random.default_rng(seed)))
        # A stream of their own: a new case leaves the weights as they were.
        weights = self.weights and self.weights(np.random.default_rng(seed + 56))
        return cases, weights or None

    def slip(self, sentence: str, *more: str) -> Callable[..., Arrays] | None:
        """The slips of these sentences at once; None if they can't be combined."""
        slips = [self.slips[s] for s in (sentence, *more)]
        if len(slips) == 1 and callable(slips[0]):
            return slips[0]
        switches: dict[str, Any] = {}
        for slip in slips:
            if callable(slip) or switches.keys() & slip.keys():
                return None
            switches |= slip
        equation = self.mistaken
        if equation is None:
            raise ValueError(
                f"slips given as switches need `mistaken`: got {switches}. Give the "
                "exercise an equation that takes them, or write the slip as a function."
            )
        return lambda *case: equation(*case, **switches)
