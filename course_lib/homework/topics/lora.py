"""Exercises on LoRA: a frozen linear layer and a low-rank update beside it.

Hu et al. 2021, section 4.1, arXiv:2106.09685.
"""

from course_lib.homework.exercise import EXERCISES, Exercise

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


def _lora(x, w, a, b, alpha):
    r = len(a)
    return x @ w.T + alpha / r * (x @ a.T) @ b.T


_SLIPS = {
    "the update is not scaled by alpha / r": " alpha / r * ->",
    "the update is scaled by alpha; divide by the rank r": " / r ->",
    "the update is divided by the rank r, but not multiplied by alpha": (
        "alpha / r -> 1 / r"
    ),
    "the update is divided by the root of the rank r; LoRA divides by r": (
        "/ r -> / math.sqrt(r)"
    ),
    "the update is scaled by r / alpha; it is alpha / r": "alpha / r -> r / alpha",
    "the frozen layer is missing: the update is added to it": "x @ w.T + ->",
    "the update is not used": "+ alpha -> + 0",
    "there is an activation between A and B; the update is linear": (
        "(x @ a.T) -> np.maximum(x @ a.T, 0)"
    ),
}

EXERCISES["lora"] = Exercise(
    call="f(x, w, a, b, alpha)",
    cases=_cases,
    oracle=lambda x, w, a, b, alpha: x @ (w + alpha / len(a) * b @ a).T,
    equation=(_lora,),
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


def _layer(w, x):
    return _lora(x, w["base.weight"], w["a"], w["b"], _ALPHA) + w["base.bias"]


EXERCISES["lora_linear"] = Exercise(
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
    equation=(_lora, _layer),
    forbidden=("course_lib", "LoRALinear", "LoRA"),
    slips=_SLIPS | {"the bias of the frozen layer is missing": ' + w["base.bias"] ->'},
)
