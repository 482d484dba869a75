"""Exercises on positions: sinusoidal encoding, rotary positions (RoPE).

The challenge is a feed of events in which the last one of the same kind counts.
"""

import numpy as np

from course_lib import oracle
from course_lib.homework.challenge import (
    CHALLENGES,
    Challenge,
    draw_explained,
    explained,
)
from course_lib.homework.exercise import EXERCISES, Exercise


def _waves(n_positions, d_model):
    features = np.arange(d_model)
    i = features // 2  # pairs
    angles = np.arange(n_positions)[:, None] / 10000 ** (2 * i / d_model)
    return np.where(features % 2 == 0, np.sin(angles), np.cos(angles))


def _table_sizes(rng):
    few, some = (int(n) for n in rng.permutation(13)[:2] + 5)
    return {
        "six features": (few, 6),
        "many positions": (int(rng.integers(90, 110)), 2 * int(rng.integers(7, 11))),
        "two features": (some, 2),
    }


EXERCISES["sinusoidal"] = Exercise(
    call="f(n_positions, d_model)",
    cases=_table_sizes,
    oracle=oracle.sinusoidal,
    equation=(_waves,),
    slips={
        "every feature has a wavelength of its own; a sine and the cosine after it "
        "share one": "features // 2 -> features / 2",
        "the pair's number is not doubled in the exponent: pair 3 has 6 / d_model": (
            "2 * i -> i"
        ),
        "hardly anything turns: 10000 ** 2 * m / d is not 10000 ** (2 * m / d)": (
            "10000 ** (2 * i / d_model) -> 10000**2 * i / d_model"
        ),
        "the sines come first and then the cosines; they take turns": (
            "arange(d_model) -> r_[0:d_model:2, 1:d_model:2]"
        ),
        "the cosine comes before the sine": "== 0 -> == 1",
        "positions are counted from 1; they start at 0": (
            "arange(n_positions) -> arange(1, n_positions + 1)"
        ),
        "the angle is multiplied by the power of 10000; it is divided by it": (
            "/ 10000 -> * 10000"
        ),
        "all pairs turn at the same speed; the power of 10000 slows them": "10000 -> 1",
        "the result is transposed: one row for each position": (
            "return np -> return np.transpose(np; np.cos(angles) -> np.cos(angles))"
        ),
    },
)


def _rotary(x, offset):
    n, d = x.shape[-2:]
    i = np.arange(d // 2)
    positions = (offset or 0) + np.arange(n)
    angles = positions[:, None] / 10000 ** (2 * i / d)
    a, b = x[..., : d // 2], x[..., d // 2 :]
    left = a * np.cos(angles) - b * np.sin(angles)
    right = b * np.cos(angles) + a * np.sin(angles)
    return np.concatenate([left, right], axis=-1)


EXERCISES["rotary"] = Exercise(
    call="f(x, offset)",
    cases=lambda rng: {
        "one sequence": (rng.standard_normal((7, 6)), None),
        "a batch with heads": (rng.standard_normal((2, 3, 5, 8)), None),
        "an offset": (rng.standard_normal((2, 5, 6)), 11),
    },
    oracle=lambda x, offset: oracle.rotary(x, offset=offset or 0),
    equation=(_rotary,),
    slips={
        "neighbors make a pair, features 0 and 1; here features 0 and d/2 do": (
            "x[..., : d // 2], x[..., d // 2 :] -> x[..., ::2], x[..., 1::2]; "
            "np.concatenate -> np.stack; axis=-1) -> axis=-1).reshape(x.shape)"
        ),
        "the vectors turn the other way: check the two signs of the sine": (
            "positions[:, None] -> -positions[:, None]"
        ),
        "the pair's number is not doubled in the exponent: pair 3 has 6 / d": (
            "2 * i -> i"
        ),
        "hardly anything turns: 10000 ** 2 * m / d is not 10000 ** (2 * m / d)": (
            "10000 ** (2 * i / d) -> 10000**2 * i / d"
        ),
        "all pairs turn at the same speed; the power of 10000 slows them": "10000 -> 1",
        "positions are counted from 1; they start at 0": "(n) -> (1, n + 1)",
        "the positions run along an axis before the last two; they are the last but "
        "one": "n, d = x.shape[-2:] -> x = x.swapaxes(0, -2)\n    n, d = x.shape[-2:]; "
        "axis=-1) -> axis=-1).swapaxes(0, -2)",
        "the offset is not used: it is where the first vector stands": (
            "(offset or 0) + ->"
        ),
        "the position was added as a wave; RoPE multiplies": (
            lambda x, offset: x + oracle.sinusoidal(*x.shape[-2:])
        ),
    },
)

_FIRMS, _RATINGS, _EVENTS, _NOISE = 4, 4, 12, 0.5


def _feeds(rng, n, codes):
    """Announcements of ratings as codes, the returns, and what of these is no noise."""
    firm = rng.integers(0, _FIRMS, (n, _EVENTS))
    rating = rng.integers(0, _RATINGS, (n, _EVENTS))
    last = np.zeros((n, _FIRMS), dtype=int)  # a first rating can't be a downgrade
    signal = np.zeros((n, _EVENTS))
    rows = np.arange(n)
    for t in range(_EVENTS):
        signal[:, t] = -np.maximum(last[rows, firm[:, t]] - rating[:, t], 0)
        last[rows, firm[:, t]] = rating[:, t]
    returns = signal + _NOISE * rng.standard_normal(signal.shape)
    return codes[firm * _RATINGS + rating], returns, signal


def _draw(rng):
    codes = rng.permutation(_FIRMS * _RATINGS)
    x, y, _ = _feeds(rng, 4000, codes)
    x_new, y_new, signal = _feeds(rng, 500, codes)
    means = np.array([y[x == code].mean() for code in range(codes.size)])
    return {
        "new feeds": draw_explained(
            (x, y, x_new), y_new, baseline=means[x_new], bound=signal
        )
    }


CHALLENGES["rating_news"] = Challenge(
    call="f(x, y, x_new)",
    draw=_draw,
    score=explained,
    measure="R²",
    baseline="the mean return after the same code",
    bound="what the codes mean and how returns respond",
    full=0.9,
)
