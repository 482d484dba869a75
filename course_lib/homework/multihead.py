"""Exercises on many heads: a class with the four projections."""

import importlib
import math

import numpy as np

from course_lib import oracle
from course_lib.homework.marking import Exercise

D, H = 12, 3
_PARTS = ("q_proj", "k_proj", "v_proj", "o_proj")


def _weights() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(2017)
    weights = {
        f"{p}.weight": rng.standard_normal((D, D)) / math.sqrt(D) for p in _PARTS
    }
    return weights | {f"{p}.bias": rng.standard_normal(D) / 10 for p in _PARTS}


def _build(cls, wing: str):
    """The reader's layer, with the exercise's weights in it."""
    lib = importlib.import_module(f"course_lib.{wing}")
    if wing == "torch":
        layer = cls(D, H)
    else:
        layer = cls(D, H, rngs=importlib.import_module("flax.nnx").Rngs(0))
    lib.set_weights(layer, _weights())
    return lambda x, context=None, mask=None: layer(x, context, mask=mask)


def _cases(rng):
    def sequences(t, s=None):
        x = rng.standard_normal((2, t, D))
        return x, None if s is None else rng.standard_normal((2, s, D))

    mask = rng.random((2, 1, 5, 5)) < 0.6
    mask[..., 0] = True
    return {
        "self-attention": (*sequences(5), None),
        "cross-attention": (*sequences(5, 7), None),
        "a mask": (*sequences(5), mask),
    }


def _multihead(x, context, mask, *, split="heads", scale=None, output=True, heads=H):
    """Multi-head attention with switches for its mistakes."""
    context = x if context is None else context
    w = _weights()
    q, k, v = (
        inputs @ w[f"{p}.weight"].T + w[f"{p}.bias"]
        for p, inputs in zip(_PARTS, (x, context, context), strict=False)
    )
    width = D // heads

    def apart(t):
        if split == "reshape":  # positions and features run together
            return t.reshape(len(t), heads, t.shape[1], width)
        if split == "strided":  # head h takes features h, h + H, ...
            return t.reshape(*t.shape[:2], width, heads).transpose(0, 3, 1, 2)
        return t.reshape(*t.shape[:2], heads, width).transpose(0, 2, 1, 3)

    q, k, v = apart(q), apart(k), apart(v)
    q = q * math.sqrt(width) / (math.sqrt(width) if scale is None else scale)
    z, _ = oracle.attention(q, k, v, mask)  # B H T Dh
    if split in ("reshape", "no transpose back"):
        z = z.reshape(x.shape)
    elif split == "strided":
        z = z.transpose(0, 2, 3, 1).reshape(x.shape)
    else:
        z = z.transpose(0, 2, 1, 3).reshape(x.shape)
    return z @ w["o_proj.weight"].T + w["o_proj.bias"] if output else z


def _slip(**switches):
    return lambda x, context, mask: _multihead(x, context, mask, **switches)


MULTIHEAD = Exercise(
    call=f"layer(x, context, mask=mask), built with ({D}, {H})",
    build=_build,
    cases=_cases,
    oracle=lambda x, context, mask: oracle.multihead(
        x, context, _weights(), H, None, mask
    )[0],
    slips={
        "the output projection W_O is missing": _slip(output=False),
        "the scores are divided by sqrt(d_model); each head is only d_model / n_heads "
        "wide": _slip(scale=math.sqrt(D)),
        "the scores are not divided by sqrt(d_head)": _slip(scale=1),
        "there is only one head: split the features before attending": _slip(heads=1),
        "a reshape to (B, H, T, Dh) mixes positions with features; reshape to "
        "(B, T, H, Dh), then swap T and H": _slip(split="reshape"),
        "the heads are not moved back behind the positions before they are joined": (
            _slip(split="no transpose back")
        ),
        "head h takes every H-th feature; it should take d_head features in a row": (
            _slip(split="strided")
        ),
        "the context is not used: keys and values come from it": (
            lambda x, context, mask: _multihead(x, None, mask)
        ),
        "the mask is not used": lambda x, context, mask: _multihead(x, context, None),
        "the mask is read the wrong way round: True means may attend": (
            lambda x, context, mask: _multihead(
                x, context, None if mask is None else ~mask
            )
        ),
    },
)

EXERCISES = {"multihead": MULTIHEAD}
