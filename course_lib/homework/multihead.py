"""Exercises on multi-head attention: classes with the four projections."""

import math

import numpy as np

from course_lib import oracle
from course_lib.homework import exercise as piece
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
