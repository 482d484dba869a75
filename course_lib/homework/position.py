"""Exercises on positions: sinusoidal encoding, rotary positions (RoPE).

The challenge is a feed of events in which the last one of the same kind counts.
"""

import numpy as np

from course_lib import oracle
from course_lib.homework.challenge import Challenge, draw_explained, explained
from course_lib.homework.exercise import Exercise


def _waves(
    n_positions,
    d_model,
    *,
    base=1e4,
    first=0,
    step=2,
    sign=-1,
    order="sin cos",
    own=False,
    flip=False,
):
    features = np.arange(d_model)
    i = features / 2 if own else features // 2
    angles = (first + np.arange(n_positions))[:, None] * base ** (
        sign * step * i / d_model
    )
    sines = np.where(features % 2 == (order == "cos sin"), np.sin(angles), 0)
    waves = np.where(features % 2 == (order == "cos sin"), sines, np.cos(angles))
    if order == "halves":
        waves = np.concatenate([waves[:, ::2], waves[:, 1::2]], axis=1)
    return waves.T if flip else waves


SINUSOIDAL = Exercise(
    call="f(n_positions, d_model)",
    cases=lambda rng: {
        "six features": (11, 6),
        "many positions": (101, 16),
        "two features": (5, 2),
    },
    oracle=oracle.sinusoidal,
    mistaken=_waves,
    slips={
        "every feature has a wavelength of its own; a sine and the cosine after it "
        "share one": {"own": True},
        "the exponent is i / d_model; it is 2i / d_model, with i counting pairs": {
            "step": 1
        },
        "the sines come first and then the cosines; they take turns": {
            "order": "halves"
        },
        "the cosine comes before the sine": {"order": "cos sin"},
        "positions are counted from 1; they start at 0": {"first": 1},
        "the angle is multiplied by the power of 10000; it is divided by it": {
            "sign": 1
        },
        "all pairs turn at the same speed; the power of 10000 slows them": {
            "base": 1.0
        },
        "the result is transposed: one row for each position": {"flip": True},
    },
)


def _turn(
    x, offset, *, pairs="halves", sign=1, base=1e4, step=2, first=0, keep=True, at=-2
):
    x = x.swapaxes(at, -2)
    start = first + (0 if offset is None or not keep else offset)
    speeds = base ** -(step * np.arange(x.shape[-1] // 2) / x.shape[-1])
    angles = sign * (start + np.arange(x.shape[-2]))[:, None] * speeds
    if pairs == "halves":
        a, b = np.split(x, 2, axis=-1)
    else:
        a, b = x[..., ::2], x[..., 1::2]
    turned = (
        a * np.cos(angles) - b * np.sin(angles),
        b * np.cos(angles) + a * np.sin(angles),
    )
    if pairs == "halves":
        turned = np.concatenate(turned, axis=-1)
    else:
        turned = np.stack(turned, axis=-1).reshape(x.shape)
    return turned.swapaxes(at, -2)


ROTARY = Exercise(
    call="f(x, offset)",
    cases=lambda rng: {
        "one sequence": (rng.standard_normal((7, 6)), None),
        "a batch with heads": (rng.standard_normal((2, 3, 5, 8)), None),
        "an offset": (rng.standard_normal((2, 5, 6)), 11),
    },
    oracle=lambda x, offset: oracle.rotary(x, offset=offset or 0),
    mistaken=_turn,
    slips={
        "neighbors make a pair, features 0 and 1; here feature i goes with i + Dh/2": {
            "pairs": "neighbors"
        },
        "the vectors turn the other way: check the two signs of the sine": {"sign": -1},
        "the exponent is i / Dh; it is 2i / Dh, with i counting pairs": {"step": 1},
        "all pairs turn at the same speed; the power of 10000 slows them": {
            "base": 1.0
        },
        "positions are counted from 1; they start at 0": {"first": 1},
        "the positions run along an axis before the last two; they are the last but "
        "one": {"at": 0},
        "the offset is not used: it is where the first vector stands": {"keep": False},
        "the position was added as a wave; RoPE multiplies": (
            lambda x, offset: x + oracle.sinusoidal(*x.shape[-2:])
        ),
    },
)

EXERCISES = {"sinusoidal": SINUSOIDAL, "rotary": ROTARY}

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


CHALLENGES = {
    "rating_news": Challenge(
        call="f(x, y, x_new)",
        draw=_draw,
        score=explained,
        measure="R²",
        baseline="the mean return after the same code",
        bound="what the codes mean and how returns respond",
        full=0.9,
    )
}
