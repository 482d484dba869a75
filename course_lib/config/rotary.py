r"""Stretching rotary positions to texts longer than those of the training.

Rotary positions turn the pair i of a head by t θ_i at position t, θ_i = b^(-2i/Dh).
Each rule here gives slower speeds θ'_i, for texts s times as long as L, the longest of
the training (`factor` and `original_len`):

    linear:  θ'_i = θ_i / s                                              (eq. 1)
    ntk:     θ'_i = (b s^(Dh/(Dh-2)))^(-2i/Dh)                           (eq. 2)
    yarn:    θ'_i = (1 - γ_i) θ_i / s + γ_i θ_i                          (eq. 3)
    llama3:  the same, with another γ_i                                  (eq. 4)

Eq. 1, position interpolation: Chen et al. 2023, section 2.3, arXiv:2306.15595. Eq. 2,
"NTK-aware", changes the base: Peng et al. 2024, definition 1, arXiv:2309.00071. Eq. 3:
the same paper, sections 3.2 to 3.4; γ falls from 1 to 0 between the pairs that turn
`beta_fast` and `beta_slow` times within L, linearly in i as in the authors' code (the
paper is linear in the number of turns), and cosines and sines are multiplied by
0.1 ln(s) + 1. Eq. 4: Grattafiori et al. 2024, section 3.4.2, arXiv:2407.21783, and the
code published with Llama 3.1; γ rises from 0 to 1 between `low_freq_factor` and
`high_freq_factor` turns, linearly in their number L θ_i / (2 π).
"""

import math
from dataclasses import dataclass

import numpy as np

from course_lib.checks import check_choice, check_positive, check_size, make_plain

__all__ = ["ROTARY_SCALINGS", "RotaryScaling"]

ROTARY_SCALINGS = ("linear", "ntk", "yarn", "llama3")


@dataclass(frozen=True, kw_only=True)
class RotaryScaling:
    """RoPE scaling: slower rotary positions, for longer texts than were trained on.

    Args:
        kind: One of ROTARY_SCALINGS, eq. 1 to 4.
        factor: s, how many times as long texts may be.
        original_len: L, tokens in the longest text of the training; eq. 3 and 4 need
            it.
        beta_fast: Turns within L from which on a pair keeps its speed in eq. 3.
        beta_slow: Turns within L up to which a pair is slowed down in full.
        truncate: Whether eq. 3's γ begins and ends at whole pairs.
        low_freq_factor: Turns within L up to which eq. 4 slows down in full.
        high_freq_factor: Turns within L from which on it changes nothing.
        attention_factor: What eq. 3 multiplies cosines and sines by; None means
            0.1 ln(s) + 1, the paper's.
    """

    kind: str
    factor: float
    original_len: int | None = None
    beta_fast: float = 32.0
    beta_slow: float = 1.0
    truncate: bool = True
    low_freq_factor: float = 1.0
    high_freq_factor: float = 4.0
    attention_factor: float | None = None

    def __post_init__(self):
        make_plain(self)
        check_choice("kind", self.kind, ROTARY_SCALINGS)
        names = ("factor", "beta_fast", "beta_slow")
        for name in (*names, "low_freq_factor", "high_freq_factor"):
            check_positive(name, getattr(self, name))
        if self.kind in ("yarn", "llama3") or self.original_len is not None:
            check_size("original_len", self.original_len)
        if self.attention_factor is not None:
            check_positive("attention_factor", self.attention_factor)
        if self.low_freq_factor >= self.high_freq_factor:
            raise ValueError(
                "low_freq_factor must be smaller than high_freq_factor: got "
                f"{self.low_freq_factor} and {self.high_freq_factor}. Llama 3.1 has 1 "
                "and 4."
            )

    @property
    def amplitude(self) -> float:
        """What cosines and sines are multiplied by."""
        if self.attention_factor is not None:
            return self.attention_factor
        return 0.1 * math.log(max(self.factor, 1)) + 1 if self.kind == "yarn" else 1.0

    def speeds(self, d_head: int, base: float) -> np.ndarray:
        """Angles per position of the pairs of a head, `Dh/2`, in 64 bits."""
        s, pairs = self.factor, np.arange(d_head // 2)
        if self.kind == "ntk":  # one pair alone keeps its speed in any base
            base = base * s ** (d_head / max(d_head - 2, 1))
        theta = float(base) ** (-2 * pairs / d_head)
        if self.kind == "ntk":
            return theta
        if self.kind == "linear":
            return theta / s
        length = self.original_len or 0
        if self.kind == "llama3":
            low, high = self.low_freq_factor, self.high_freq_factor
            keep = (length * theta / (2 * math.pi) - low) / (high - low)
        else:
            # The pair, as a fraction, that turns so many times within L.
            first, last = (
                d_head * math.log(length / (2 * math.pi * n)) / (2 * math.log(base))
                for n in (self.beta_fast, self.beta_slow)
            )
            if self.truncate:
                first, last = math.floor(first), math.ceil(last)
            first, last = max(first, 0), min(last, d_head - 1)
            last += 0.001 if first == last else 0  # as in the authors' code
            keep = 1 - (pairs - first) / (last - first)
        keep = keep.clip(0, 1)
        return (1 - keep) * theta / s + keep * theta


def speeds(
    d_head: int, base: float, scaling: RotaryScaling | None, pace: float
) -> tuple[float, ...]:
    """Angles per position of the pairs of a head, as plain numbers.

    As tensors they would keep the device, or the mode, that they were made in.
    """
    if scaling is not None:
        return tuple((pace * scaling.speeds(d_head, base)).tolist())
    exponents = np.arange(0, d_head, 2) / d_head
    return tuple((pace * float(base) ** -exponents).tolist())
