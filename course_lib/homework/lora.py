"""Exercises on LoRA: a frozen linear layer and a low-rank update beside it.

Hu et al. 2021, section 4.1, arXiv:2106.09685.
"""

import math

import numpy as np

from course_lib.homework.exercise import Exercise

_D_IN, _D_OUT, _RANK, _ALPHA = 7, 5, 2, 6.0


def _cases(rng):
    def case(*batch, d_in=_D_IN, d_out=_D_OUT, rank=_RANK, alpha=_ALPHA):
        shapes = (*batch, d_in), (d_out, d_in), (rank, d_in), (d_out, rank)
        return *(rng.standard_normal(shape) for shape in shapes), alpha

    return {
        "one vector": case(),
        "a batch": case(2, 3),
        "rank one": case(3, rank=1, alpha=0.5),
    }


def _lora(x, w, a, b, alpha, *, scale="alpha / r", base=True, update=True, act=False):
    rank = len(a)
    factor = {
        "alpha / r": alpha / rank,
        "1": 1,
        "alpha": alpha,
        "r": 1 / rank,
        "root": alpha / math.sqrt(rank),
        "flipped": rank / alpha,
    }[scale]
    inner = x @ a.T
    inner = np.maximum(inner, 0) if act else inner
    return base * (x @ w.T) + update * factor * inner @ b.T


_SLIPS = {
    "the update is not scaled by alpha / r": {"scale": "1"},
    "the update is scaled by alpha; divide by the rank r": {"scale": "alpha"},
    "the update is divided by the rank r, but not multiplied by alpha": {"scale": "r"},
    "the update is divided by the root of the rank r; LoRA divides by r": {
        "scale": "root"
    },
    "the update is scaled by r / alpha; it is alpha / r": {"scale": "flipped"},
    "the frozen layer is missing: the update is added to it": {"base": False},
    "the update is not used": {"update": False},
    "there is an activation between A and B; the update is linear": {"act": True},
}

LORA = Exercise(
    call="f(x, w, a, b, alpha)",
    cases=_cases,
    oracle=lambda x, w, a, b, alpha: x @ (w + alpha / len(a) * b @ a).T,
    mistaken=_lora,
    slips=_SLIPS,
)


def _weights(rng):
    shapes = {
        "base.weight": (_D_OUT, _D_IN),
        "base.bias": (_D_OUT,),
        "a": (_RANK, _D_IN),
        "b": (_D_OUT, _RANK),
    }
    return {name: rng.standard_normal(shape) for name, shape in shapes.items()}


def _layer(w, x, *, bias=True, **switches):
    parts = w["base.weight"], w["a"], w["b"], _ALPHA
    return _lora(x, *parts, **switches) + bias * w["base.bias"]


LORA_LINEAR = Exercise(
    call="layer(x), with base, a and b, built with (d_in, d_out, rank, alpha) = "
    f"({_D_IN}, {_D_OUT}, {_RANK}, {_ALPHA:g})",
    build=(_D_IN, _D_OUT, _RANK, _ALPHA),
    weights=_weights,
    cases=lambda rng: {
        "one vector": (rng.standard_normal(_D_IN),),
        "a batch": (rng.standard_normal((2, 3, _D_IN)),),
    },
    oracle=lambda w, x: (
        x @ (w["base.weight"] + _ALPHA / _RANK * w["b"] @ w["a"]).T + w["base.bias"]
    ),
    forbidden=("course_lib", "LoRALinear", "LoRA"),
    mistaken=_layer,
    slips=_SLIPS | {"the bias of the frozen layer is missing": {"bias": False}},
)

EXERCISES = {"lora": LORA, "lora_linear": LORA_LINEAR}
