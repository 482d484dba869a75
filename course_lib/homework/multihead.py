"""Exercises on multi-head attention: classes with the four projections.

The challenge is a look-up in which two relations have to be found.
"""

import math

import numpy as np

from course_lib import oracle
from course_lib.homework import exercise as piece
from course_lib.homework.challenge import Challenge, draw_explained, explained
from course_lib.homework.exercise import Exercise

D, H = 12, 3
_PARTS = ("q_proj", "k_proj", "v_proj", "o_proj")


def _weights(rng) -> dict[str, np.ndarray]:
    weights = {
        f"{p}.weight": rng.standard_normal((D, D)) / math.sqrt(D) for p in _PARTS
    }
    return weights | {f"{p}.bias": rng.standard_normal(D) / 10 for p in _PARTS}


def _cases(rng):
    def sequences(t, s=None):
        x = rng.standard_normal((2, t, D))
        return x, None if s is None else rng.standard_normal((2, s, D))

    mask = rng.random((2, 1, 5, 5)) < 0.6
    mask[..., 0], mask[..., 1] = True, False  # nor is a row empty if it is flipped
    return {
        "self-attention": (*sequences(5), None),
        "cross-attention": (*sequences(5, 7), None),
        "a mask": (*sequences(5), mask),
    }


_SCALES = {"d_head": 1.0, "none": math.sqrt(D // H), "d_model": 1 / math.sqrt(H)}


def _multihead(
    w,
    x,
    context,
    mask,
    *,
    split="heads",
    join="heads",
    scale="d_head",
    output=True,
    heads=H,
    of_keys="context",
    of_values="context",
    of_queries="x",
    masking="used",
    late=False,
):
    sources = {"x": x, "context": x if context is None else context}
    q, k, v = (
        sources[source] @ w[f"{p}.weight"].T + w[f"{p}.bias"]
        for p, source in zip(_PARTS, (of_queries, of_keys, of_values), strict=False)
    )
    width = D // heads

    def apart(t):
        if split == "reshape":  # positions and features run together
            return t.reshape(len(t), heads, t.shape[1], width)
        if split == "strided":  # head h takes features h, h + H, ...
            return t.reshape(*t.shape[:2], width, heads).transpose(0, 3, 1, 2)
        return t.reshape(*t.shape[:2], heads, width).transpose(0, 2, 1, 3)

    if mask is not None:
        mask = {"used": mask, "not": None, "flipped": ~mask}[masking]
    z, _ = oracle.attention(apart(q) * _SCALES[scale], apart(k), apart(v), mask)
    z = z / math.sqrt(width) if late else z  # B H T Dh
    if join == "strided":
        z = z.transpose(0, 2, 3, 1)
    elif join == "heads":
        z = z.transpose(0, 2, 1, 3)
    z = z.reshape(len(z), -1, D)
    return z @ w["o_proj.weight"].T + w["o_proj.bias"] if output else z


_SLIPS = {
    "the output projection W_O is missing": {"output": False},
    "the scores are divided by sqrt(d_model); each head is only d_model / n_heads "
    "wide": {"scale": "d_model"},
    "the scores are not divided by sqrt(d_head)": {"scale": "none"},
    "the heads are divided by sqrt(d_head) after the softmax; divide the scores before "
    "it": {"scale": "none", "late": True},
    "there is only one head: split the features before attending": {"heads": 1},
    "a reshape to (B, H, T, Dh) mixes positions with features; reshape to "
    "(B, T, H, Dh), then swap T and H": {"split": "reshape", "join": "reshape"},
    "the heads are split by a reshape to (B, H, T, Dh), which mixes positions with "
    "features, though they are joined rightly; reshape to (B, T, H, Dh), then swap T "
    "and H": {"split": "reshape"},
    "the heads are not moved back behind the positions before they are joined": {
        "join": "reshape"
    },
    "head h takes every H-th feature; it should take d_head features in a row": {
        "split": "strided",
        "join": "strided",
    },
    "the mask is not used": {"masking": "not"},
    "the mask is read the wrong way round: True means may attend": {
        "masking": "flipped"
    },
}

MULTIHEAD = Exercise(
    call=f"layer(x, context, mask=mask), built with ({D}, {H})",
    keywords=("mask",),
    build=(D, H),
    weights=_weights,
    cases=_cases,
    oracle=lambda w, x, context, mask: oracle.multihead(x, context, w, H, None, mask)[
        0
    ],
    forbidden=(piece.PACKAGE, *piece.ATTENTION),
    mistaken=_multihead,
    slips=_SLIPS
    | {
        "the context is not used: keys and values come from it": {
            "of_keys": "x",
            "of_values": "x",
        },
    },
)


def _cross_cases(rng):
    def case(t, s, mask):
        return *(rng.standard_normal((2, n, D)) for n in (t, s)), mask

    padding = oracle.padding_mask(np.array([6, 3]), 7)
    return {
        "a longer memory": case(5, 7, None),
        "as long as the memory": case(5, 5, None),
        "a padded memory": case(3, 7, padding),
    }


CROSS_ATTENTION = Exercise(
    call=f"layer(x, memory, mask=mask), built with ({D}, {H})",
    keywords=("mask",),
    build=(D, H),
    weights=_weights,
    cases=_cross_cases,
    oracle=MULTIHEAD.oracle,
    forbidden=MULTIHEAD.forbidden,
    mistaken=_multihead,
    slips=_SLIPS
    | {
        "keys and values come from x; they must come from the memory": {
            "of_keys": "x",
            "of_values": "x",
        },
        "queries and memory have changed places: the queries come from x": {
            "of_queries": "context",
            "of_keys": "x",
            "of_values": "x",
        },
        "the queries come from the memory; they must come from x": {
            "of_queries": "context"
        },
        "the keys come from x; they must come from the memory": {"of_keys": "x"},
        "the values come from x; they must come from the memory": {"of_values": "x"},
    },
)

EXERCISES = {"multihead": MULTIHEAD, "cross_attention": CROSS_ATTENTION}

_FIRMS, _NAME = 10, 6  # in a table; numbers in a name
_CUSTOMER, _SUPPLIER, _NOISE = 1.0, -0.8, 0.4


def _tables(rng, n, mixing):
    """Rows of firms, the changes of their cash flows, and what of these is no noise."""
    names = rng.standard_normal((n, _FIRMS, _NAME))
    names *= math.sqrt(_NAME) / np.linalg.norm(names, axis=-1, keepdims=True)
    surprise = rng.standard_normal((n, _FIRMS))
    steps = rng.permuted(np.tile(np.arange(1, _FIRMS), (n, _FIRMS, 1)), axis=-1)
    partners = (np.arange(_FIRMS)[:, None] + steps[..., :2]) % _FIRMS
    columns, signal = [names], np.zeros((n, _FIRMS))
    for n_th, effect in enumerate((_CUSTOMER, _SUPPLIER)):
        partner = partners[..., n_th]
        columns.append(np.take_along_axis(names, partner[..., None], axis=1))
        signal += effect * np.take_along_axis(surprise, partner, axis=1)
    mixed = np.concatenate(columns, axis=-1) @ mixing
    noise = _NOISE * rng.standard_normal(signal.shape)
    return np.concatenate([mixed, surprise[..., None]], -1), signal + noise, signal


def _draw(rng):
    mixing, _ = np.linalg.qr(rng.standard_normal((3 * _NAME, 3 * _NAME)))
    x, y, _ = _tables(rng, 2000, mixing)
    x_new, y_new, signal = _tables(rng, 500, mixing)

    def columns(x):  # a firm's own row, and the mean of the other rows
        others = (x.sum(1, keepdims=True) - x) / (_FIRMS - 1)
        ones = np.ones((*x.shape[:2], 1))
        return np.concatenate([ones, x, others], -1).reshape(-1, 1 + 2 * x.shape[-1])

    slopes = np.linalg.lstsq(columns(x), y.ravel())[0]
    fitted = (columns(x_new) @ slopes).reshape(y_new.shape)
    return {
        "new tables": draw_explained(
            (x, y, x_new), y_new, baseline=fitted, bound=signal
        )
    }


# One head explains 1 / (1 + 0.8² + 0.4²) = 0.56 at best, two heads 0.91.
CHALLENGES = {
    "supply_chain": Challenge(
        call="f(x, y, x_new)",
        draw=_draw,
        score=explained,
        measure="R²",
        baseline="a regression on a firm's own row and the mean of the others",
        bound="the true customers and suppliers",
        full=0.95,
    )
}
