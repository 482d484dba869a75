"""Exercises on multi-head attention: classes with the four projections.

The challenge is a look-up in which two relations have to be found.
"""

import math
from dataclasses import replace

import numpy as np

from course_lib import oracle
from course_lib.homework import exercise as piece
from course_lib.homework.challenge import (
    CHALLENGES,
    Challenge,
    draw_explained,
    explained,
)
from course_lib.homework.exercise import EXERCISES, Exercise

D, H = 12, 3
_PARTS = ("q_proj", "k_proj", "v_proj", "o_proj")


def _weights(rng) -> dict[str, np.ndarray]:
    weights = {
        f"{p}.weight": rng.standard_normal((D, D)) / math.sqrt(D) for p in _PARTS
    }
    return weights | {f"{p}.bias": rng.standard_normal(D) / 10 for p in _PARTS}


def _oracle(w, x, context, mask):
    return oracle.multihead(x, context, w, H, None, mask)[0]


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


def _split(x, heads):  # B T D to B H T Dh
    return x.reshape(len(x), x.shape[1], heads, -1).swapaxes(1, 2)


def _join(z):  # and back
    return z.swapaxes(1, 2).reshape(len(z), -1, D)


def _multihead(w, x, context, mask, heads=H):
    context = x if context is None else context
    q = _split(x @ w["q_proj.weight"].T + w["q_proj.bias"], heads)
    k = _split(context @ w["k_proj.weight"].T + w["k_proj.bias"], heads)
    v = _split(context @ w["v_proj.weight"].T + w["v_proj.bias"], heads)
    z, _ = oracle.attention(q, k, v, mask)
    return _join(z) @ w["o_proj.weight"].T + w["o_proj.bias"]


_SLIPS = {
    "the output projection W_O is missing": (
        ' @ w["o_proj.weight"].T + w["o_proj.bias"] ->'
    ),
    "the scores are divided by sqrt(d_model); each head is only d_model / n_heads "
    "wide": "attention(q -> attention(q / math.sqrt(H)",
    "the scores are not divided by sqrt(d_head)": (
        "attention(q -> attention(q * math.sqrt(D // H)"
    ),
    "the heads are divided by sqrt(d_head) after the softmax; divide the scores before "
    "it": "attention(q -> attention(q * math.sqrt(D // heads); "
    "return _join(z) -> return _join(z / math.sqrt(D // heads))",
    "there is only one head: split the features before attending": "heads=H -> heads=1",
    "a reshape to (B, H, T, Dh) mixes positions with features; reshape to "
    "(B, T, H, Dh), then swap T and H": (
        "x.shape[1], heads, -1).swapaxes(1, 2) -> heads, x.shape[1], -1); "
        "z.swapaxes(1, 2) -> z"
    ),
    "the heads are split by a reshape to (B, H, T, Dh), which mixes positions with "
    "features, though they are joined rightly; reshape to (B, T, H, Dh), then swap T "
    "and H": "x.shape[1], heads, -1).swapaxes(1, 2) -> heads, x.shape[1], -1)",
    "the heads are not moved back behind the positions before they are joined": (
        "z.swapaxes(1, 2) -> z"
    ),
    "head h takes every H-th feature; it should take d_head features in a row": (
        "heads, -1).swapaxes(1, 2) -> -1, heads).transpose(0, 3, 1, 2); "
        "z.swapaxes(1, 2) -> z.transpose(0, 2, 3, 1)"
    ),
    "the mask is not used": "v, mask) -> v)",
    "the mask is read the wrong way round: True means may attend": (
        "v, mask) -> v, None if mask is None else ~mask)"
    ),
}

EXERCISES["multihead"] = Exercise(
    call=f"layer(x, context, mask=mask), built with ({D}, {H})",
    keywords=("mask",),
    build=(D, H),
    weights=_weights,
    cases=_cases,
    oracle=_oracle,
    equation=(_split, _join, _multihead),
    forbidden=(piece.PACKAGE, *piece.ATTENTION),
    slips=_SLIPS
    | {
        "the context is not used: keys and values come from it": (
            'context @ w["k -> x @ w["k; context @ w["v -> x @ w["v'
        ),
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


EXERCISES["cross_attention"] = replace(
    EXERCISES["multihead"],
    call=f"layer(x, memory, mask=mask), built with ({D}, {H})",
    cases=_cross_cases,
    slips=_SLIPS
    | {
        "keys and values come from x; they must come from the memory": (
            'context @ w["k -> x @ w["k; context @ w["v -> x @ w["v'
        ),
        "queries and memory have changed places: the queries come from x": (
            "context = x if context is None else context -> x, context = context, x"
        ),
        "the queries come from the memory; they must come from x": (
            "_split(x @ -> _split(context @"
        ),
        "the keys come from x; they must come from the memory": (
            'context @ w["k -> x @ w["k'
        ),
        "the values come from x; they must come from the memory": (
            'context @ w["v -> x @ w["v'
        ),
    },
)

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
CHALLENGES["supply_chain"] = Challenge(
    call="f(x, y, x_new)",
    draw=_draw,
    score=explained,
    measure="R²",
    baseline="a regression on a firm's own row and the mean of the others",
    bound="the true customers and suppliers",
    full=0.95,
)
