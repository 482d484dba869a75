"""Exercises on positions: a table of waves, and vectors turned by where they stand."""

import numpy as np

from course_lib import oracle
from course_lib.homework.marking import Exercise


def _waves(
    n_positions, d_model, *, base=1e4, first=0, step=2, sign=-1, cos_first=False
):
    """Sines and cosines of positions, `T 2 D/2`, with switches for mistakes."""
    speeds = base ** (sign * step * np.arange(d_model // 2) / d_model)
    angles = (first + np.arange(n_positions))[:, None] * speeds
    pairs = np.stack([np.sin(angles), np.cos(angles)], axis=1)
    return pairs[:, ::-1] if cos_first else pairs


def _in_turns(n_positions, d_model, **switches):
    pairs = _waves(n_positions, d_model, **switches)
    return pairs.swapaxes(1, 2).reshape(n_positions, d_model)


def _own_speeds(n_positions, d_model):
    features = np.arange(d_model)
    angles = np.arange(n_positions)[:, None] * 1e4 ** -(features / d_model)
    return np.where(features % 2 == 0, np.sin(angles), np.cos(angles))


def _wave(**switches):
    return lambda n_positions, d_model: _in_turns(n_positions, d_model, **switches)


SINUSOIDAL = Exercise(
    call="f(n_positions, d_model)",
    cases=lambda rng: {
        "six features": (11, 6),
        "many positions": (101, 16),
        "two features": (5, 2),
    },
    oracle=oracle.sinusoidal,
    slips={
        "every feature has a wavelength of its own; a sine and the cosine after it "
        "share one": _own_speeds,
        "the exponent is i / d_model; it is 2i / d_model, with i counting pairs": (
            _wave(step=1)
        ),
        "the sines come first and then the cosines; they take turns": (
            lambda n_positions, d_model: _waves(n_positions, d_model).reshape(
                n_positions, d_model
            )
        ),
        "the cosine comes before the sine": _wave(cos_first=True),
        "positions are counted from 1; they start at 0": _wave(first=1),
        "the angle is multiplied by the power of 10000; it is divided by it": (
            _wave(sign=1)
        ),
        "all pairs turn at the same speed; the power of 10000 slows them": (
            _wave(base=1.0)
        ),
        "the result is transposed: one row for each position": (
            lambda n_positions, d_model: _in_turns(n_positions, d_model).T
        ),
    },
)


def _turn(x, offset, *, halves=True, sign=1, base=1e4, step=2, first=0, keep=True):
    """Rotary positions with switches for their mistakes."""
    start = first + (0 if offset is None or not keep else offset)
    speeds = base ** -(step * np.arange(x.shape[-1] // 2) / x.shape[-1])
    angles = sign * (start + np.arange(x.shape[-2]))[:, None] * speeds
    if halves:
        a, b = np.split(x, 2, axis=-1)
    else:
        a, b = x[..., ::2], x[..., 1::2]
    turned = (
        a * np.cos(angles) - b * np.sin(angles),
        b * np.cos(angles) + a * np.sin(angles),
    )
    if halves:
        return np.concatenate(turned, axis=-1)
    return np.stack(turned, axis=-1).reshape(x.shape)


def _slip(**switches):
    return lambda x, offset: _turn(x, offset, **switches)


ROTARY = Exercise(
    call="f(x, offset)",
    cases=lambda rng: {
        "one sequence": (rng.standard_normal((7, 6)), None),
        "a batch with heads": (rng.standard_normal((2, 3, 5, 8)), None),
        "an offset": (rng.standard_normal((2, 5, 6)), 11),
    },
    oracle=lambda x, offset: oracle.rotary(x, offset=offset or 0),
    slips={
        "neighbors make a pair, features 0 and 1; here feature i goes with i + Dh/2": (
            _slip(halves=False)
        ),
        "the vectors turn the other way: check the two signs of the sine": (
            _slip(sign=-1)
        ),
        "the exponent is i / Dh; it is 2i / Dh, with i counting pairs": _slip(step=1),
        "all pairs turn at the same speed; the power of 10000 slows them": (
            _slip(base=1.0)
        ),
        "positions are counted from 1; they start at 0": _slip(first=1),
        "the positions run along an axis before the last two; they are the last but "
        "one": lambda x, offset: _turn(x.swapaxes(0, -2), offset).swapaxes(0, -2),
        "the offset is not used: it is where the first vector stands": (
            _slip(keep=False)
        ),
        "the position was added as a wave; RoPE multiplies": (
            lambda x, offset: x + oracle.sinusoidal(*x.shape[-2:])
        ),
    },
)

EXERCISES = {"sinusoidal": SINUSOIDAL, "rotary": ROTARY}
