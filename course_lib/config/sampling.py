"""How the next token is drawn: the settings of a sampler, the same in both wings.

What each one does to the scores is in the wings' `generation/sampling.py`.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from course_lib.checks import make_plain

__all__ = ["Sampling"]

_SHORT = np.finfo(np.float32)
_SMALLEST, _LARGEST = map(float, (_SHORT.smallest_normal, _SHORT.max))
Traced = Any  # a number inside a compiled program, which has no value yet


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """Sampler settings, the keyword arguments of `generate`; those traced pass.

    Args:
        temperature: 1 draws with the model's own probabilities, less makes likely
            tokens likelier, 0 takes the likeliest (greedy decoding). It is as 32 bits
            have it: 1e-40 is 0.
        top_k: Draw from the k likeliest tokens only.
        top_p: Then draw from the smallest set of them with mass p only (nucleus).
        min_p: Then draw only from those with at least min_p times the largest
            probability.
        repetition_penalty: More than 1 makes tokens less likely that the prompt or the
            text behind it already holds, before everything else.
    """

    temperature: float | Traced = 1.0
    top_k: int | Traced | None = None
    top_p: float | Traced | None = None
    min_p: float | Traced | None = None
    repetition_penalty: float | Traced = 1.0

    def __post_init__(self):
        make_plain(self)
        number, k = (int, float), self.top_k
        t, penalty = self.temperature, self.repetition_penalty
        if isinstance(t, number) and not 0 <= t < math.inf:
            raise ValueError(
                f"temperature must be at least 0 and finite: got {t}. 0 takes the "
                "likeliest token, 1 the model's own probabilities."
            )
        if isinstance(k, number) and (isinstance(k, float) or k < 1):
            raise ValueError(
                f"top_k must be a whole number of at least 1: got {k}. None keeps all."
            )
        if isinstance(self.top_p, number) and not 0 < self.top_p <= 1:
            raise ValueError(
                f"top_p must be above 0 and at most 1: got {self.top_p}. None keeps "
                "all."
            )
        if isinstance(self.min_p, number) and not 0 <= self.min_p <= 1:
            raise ValueError(
                f"min_p must be at least 0 and at most 1: got {self.min_p}. 0 keeps "
                "all."
            )
        if isinstance(penalty, number) and not 1e-6 <= penalty <= 1e6:
            raise ValueError(
                f"repetition_penalty must be from 1e-06 to 1e+06: got {penalty}. 1 "
                "changes nothing, and more makes repetition less likely."
            )
        if isinstance(t, float):
            t = min(t, _LARGEST) if t >= _SMALLEST else 0.0
            object.__setattr__(self, "temperature", t)
        if isinstance(k, int):
            object.__setattr__(self, "top_k", min(k, np.iinfo(np.int32).max))


GREEDY = Sampling(temperature=0)  # what translators do
