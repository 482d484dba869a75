"""Position encodings, one position and one pair at a time."""

import cmath
import math
from typing import Any

import numpy as np

from course_lib.oracle.weights import floats

__all__ = ["alibi_bias", "alibi_slopes", "relative_bias", "rotary", "sinusoidal"]


def sinusoidal(
    n_positions: int, d_model: int, base: float = 10000.0, interleaved: bool = True
) -> np.ndarray:
    """Sinusoidal position encoding, `T D`.

    Vaswani et al. 2017, section 3.5, arXiv:1706.03762. Sine and cosine in turns
    (interleaved), or all sines and then all cosines.
    """
    table = np.zeros((n_positions, d_model))
    for position in range(n_positions):
        for i in range(d_model // 2):
            angle = position / base ** (2 * i / d_model)
            sine, cosine = (2 * i, 2 * i + 1) if interleaved else (i, d_model // 2 + i)
            table[position, sine] = math.sin(angle)
            table[position, cosine] = math.cos(angle)
    return table


def rotary_speed(i: int, d_head: int, base: float, scaling: Any = None) -> float:
    """The angle by which a step turns pair i of a head, stretched by a `RotaryScaling`.

    Su et al. 2021, section 3.2, arXiv:2104.09864; for the rules see `RotaryScaling`.
    """
    theta = base ** (-2 * i / d_head)
    if scaling is None:
        return theta
    s, length = scaling.factor, scaling.original_len
    if scaling.kind == "linear":
        return theta / s
    if scaling.kind == "ntk":
        return (base * s ** (d_head / max(d_head - 2, 1))) ** (-2 * i / d_head)
    if scaling.kind == "llama3":
        waves = length * theta / (2 * math.pi)  # in the longest text of the training
        low, high = scaling.low_freq_factor, scaling.high_freq_factor
        keep = min(max((waves - low) / (high - low), 0), 1)
    else:

        def pair_of(turns):
            return (
                d_head / 2 * math.log(length / (turns * 2 * math.pi)) / math.log(base)
            )

        low, high = pair_of(scaling.beta_fast), pair_of(scaling.beta_slow)
        if scaling.truncate:
            low, high = math.floor(low), math.ceil(high)
        low, high = max(low, 0), min(high, d_head - 1)
        high = high + 0.001 if low == high else high
        keep = 1 - min(max((i - low) / (high - low), 0), 1)
    return (1 - keep) * theta / s + keep * theta


def rotary(
    x: np.ndarray, base: float = 10000.0, offset: int = 0, scaling: Any = None
) -> np.ndarray:
    """Rotary positions: turn each pair (i, i + Dh/2), as a complex number, by an angle.

    Su et al. 2021, section 3.2, arXiv:2104.09864. Queries or keys are `*B T Dh`; the
    first stands at position `offset`.
    """
    (x,) = floats(x)
    size = 1.0 if scaling is None else scaling.amplitude
    turned, half = np.empty_like(x), x.shape[-1] // 2
    for *b, t, i in np.ndindex(*x.shape[:-1], half):
        angle = (offset + t) * rotary_speed(i, x.shape[-1], base, scaling)
        pair = complex(x[*b, t, i], x[*b, t, half + i]) * size * cmath.exp(1j * angle)
        turned[*b, t, i], turned[*b, t, half + i] = pair.real, pair.imag
    return turned


def alibi_slopes(n_heads: int) -> list[float]:
    """ALiBi's slope for each head.

    Press et al. 2022, section 3, arXiv:2108.12409, and the authors' code for numbers of
    heads that are not powers of two.
    """
    power = 1
    while power * 2 <= n_heads:
        power *= 2
    slopes = [2 ** (-8 * (h + 1) / power) for h in range(power)]
    between = [2 ** (-8 * (h + 1) / (2 * power)) for h in range(2 * power)][::2]
    return slopes + between[: n_heads - power]


def alibi_bias(n_heads: int, n_queries: int, n_keys: int) -> np.ndarray:
    """ALiBi: minus slope times distance, `H T S`; the last query is at the last key."""
    bias = np.zeros((n_heads, n_queries, n_keys))
    for h, i, j in np.ndindex(bias.shape):
        bias[h, i, j] = -alibi_slopes(n_heads)[h] * abs(n_keys - n_queries + i - j)
    return bias


def relative_bias(table: np.ndarray, n_queries: int, n_keys: int) -> np.ndarray:
    """Relative position bias: a table by the step from query to key, `H T S`.

    Shaw et al. 2018, section 3.2, arXiv:1803.02155; as a bias in Raffel et al. 2020,
    section 2.1, arXiv:1910.10683. The table has a row for each step from -M to M and a
    column for each head.
    """
    farthest = (len(table) - 1) // 2
    bias = np.zeros((table.shape[1], n_queries, n_keys))
    for h, i, j in np.ndindex(bias.shape):
        step = j - (n_keys - n_queries + i)
        bias[h, i, j] = table[farthest + max(-farthest, min(farthest, step)), h]
    return bias
