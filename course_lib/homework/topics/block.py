"""Exercises on the transformer block: its norm, its MLP, and its parts together."""

import math

import numpy as np

from course_lib import oracle
from course_lib.homework import exercise as piece
from course_lib.homework.exercise import EXERCISES, Exercise

D, H, F = 12, 3, 20
EPS = 1e-5


def _norm_cases(rng):
    def vectors(*batch, width=7, size=1.0, mean=0.0):
        x = mean + size * rng.standard_normal((*batch, width))
        return x, 1 + rng.standard_normal(width) / 2, rng.standard_normal(width), EPS

    x, weight, bias, eps = vectors(2, 3)
    return {
        "one vector": vectors(),
        "a batch of sequences": (x, weight, bias, eps),
        "a large mean": vectors(2, 3, mean=5.0),
        "a variance as small as eps": vectors(2, 3, size=3e-3),
        "a vector of equal numbers": (0 * x + 2.0, weight, bias, eps),
    }


def _mean(x):
    return x.mean(axis=-1, keepdims=True)


def _norm(x, weight, bias, eps):
    centered = x - _mean(x)
    variance = _mean(centered**2)
    return centered / np.sqrt(variance + eps) * weight + bias


def _norm_layer(w, x):
    return _norm(x, w["weight"], w["bias"], EPS)


_NORM_SLIPS = {
    "eps is added to the standard deviation; it belongs inside the root, next to "
    "the variance": "np.sqrt(variance + eps) -> (np.sqrt(variance) + eps)",
    "the variance is divided by n - 1; here it is divided by n: set correction "
    "or ddof to 0": "= _mean(centered**2) -> = x.var(-1, ddof=1)[..., None]",
    "the variance is the sum of the squares; their mean is asked for": (
        "= _mean(centered**2) -> = x.shape[-1] * _mean(centered**2)"
    ),
    "mean and variance run over everything; each vector has its own": (
        "axis=-1 -> axis=None"
    ),
    "mean and variance run over the positions; they must run over the features, "
    "the last axis": "axis=-1 -> axis=max(-2, -x.ndim)",
    "only the mean is divided by the root; put the difference in parentheses": (
        "return centered -> return (x - _mean(x); + eps) -> + eps))"
    ),
    "the mean is not subtracted": "return centered -> return x",
    "this is RMSNorm: nothing is centered, not even inside the root": " - _mean(x) ->",
    "eps is missing: a vector of equal numbers is 0/0": " + eps ->",
    "it divides by the variance, not by its root": "np.sqrt( -> (",
    "weight and bias are not used": " * weight + bias ->",
    "the bias is not used": " + bias ->",
    "the bias is added before the weight multiplies": "+ bias -> + bias * weight",
}

EXERCISES["layer_norm"] = Exercise(
    call="f(x, weight, bias, eps)",
    cases=_norm_cases,
    oracle=oracle.layer_norm,
    equation=(_mean, _norm),
    forbidden=(piece.PACKAGE, *piece.LAYER_NORM),
    slips=_NORM_SLIPS,
)

EXERCISES["layer_norm_module"] = Exercise(
    call="layer(x), with weight, bias and eps=1e-5, built with (7,)",
    build=(7,),
    weights=lambda rng: {
        "weight": 1 + rng.standard_normal(7) / 2,
        "bias": rng.standard_normal(7),
    },
    cases=lambda rng: {
        name: case[:1] for name, case in _norm_cases(rng).items() if case[0].ndim > 1
    },
    oracle=lambda w, x: oracle.layer_norm(x, w["weight"], w["bias"], EPS),
    equation=(_mean, _norm, _norm_layer),
    forbidden=(piece.PACKAGE, *piece.LAYER_NORM),
    slips=_NORM_SLIPS,
)


def _mlp_weights(rng, start="") -> dict[str, np.ndarray]:
    return _linears(rng, {f"{start}up_proj": (F, D), f"{start}down_proj": (D, F)})


def _linears(rng, shapes):
    weights = {}
    for name, shape in shapes.items():
        weights[f"{name}.weight"] = rng.standard_normal(shape) / math.sqrt(D)
        weights[f"{name}.bias"] = rng.standard_normal(shape[0]) / 10
    return weights


def _block_weights(rng):
    weights = _linears(rng, {f"attention.{p}_proj": (D, D) for p in "qkvo"})
    weights |= _mlp_weights(rng, "feed_forward.")
    for name in ("attention_norm", "feed_forward_norm"):
        weights[f"{name}.weight"] = 1 + rng.standard_normal(D) / 4
        weights[f"{name}.bias"] = rng.standard_normal(D) / 4
    return weights


def _mlp(w, x):
    up = x @ w["up_proj.weight"].T + w["up_proj.bias"]
    hidden = oracle.activate(up, "gelu")
    return hidden @ w["down_proj.weight"].T + w["down_proj.bias"]


GAUSSIAN = ("cdf", "normal")  # the exact GELU's, by its name
_ACTIVATION_SLIPS = {
    "the activation is ReLU; GELU was asked for": '"gelu" -> "relu"',
    "GELU is the approximation with tanh; the exact one was asked for": (
        '"gelu" -> "gelu_tanh"'
    ),
}

EXERCISES["feed_forward"] = Exercise(
    call=f"layer(x), with up_proj and down_proj, built with ({D}, {F})",
    build=(D, F),
    needs=GAUSSIAN,
    weights=_mlp_weights,
    cases=lambda rng: {
        "one sequence": (rng.standard_normal((1, 5, D)),),
        "a batch": (3 * rng.standard_normal((2, 7, D)),),
    },
    oracle=lambda w, x: oracle.feed_forward(x, w, "gelu"),
    equation=(_mlp,),
    slips=_ACTIVATION_SLIPS
    | {
        "there is no activation between the two layers, so they are one linear map": (
            'oracle.activate(up, "gelu") -> up'
        ),
        "the input is added; the skip connection is the block's": (
            "return -> return x +"
        ),
        "there is an activation behind the second layer, too": (
            "hidden @ -> oracle.activate(hidden @; "
            'down_proj.bias"] -> down_proj.bias"], "gelu")'
        ),
    },
)


def _parts(w):
    """Norm, attention, norm and MLP of a block with these weights."""

    def norm(h, name):
        return oracle.layer_norm(h, w[f"{name}.weight"], w[f"{name}.bias"], EPS)

    return (
        lambda h: norm(h, "attention_norm"),
        lambda h: oracle.multihead(h, None, oracle.part(w, "attention"), H)[0],
        lambda h: norm(h, "feed_forward_norm"),
        lambda h: _mlp(oracle.part(w, "feed_forward"), h),
    )


def _pre_norm(w, x):
    norm, attend, norm2, mlp = _parts(w)
    h = x + attend(norm(x))
    return h + mlp(norm2(h))


def _post_norm(w, x):
    norm, attend, norm2, mlp = _parts(w)
    h = norm(x + attend(x))
    return norm2(h + mlp(h))


def _block_exercise(form, equation, slips):
    return Exercise(
        call=f"block(x), built with ({D}, {H}, {F})",
        build=(D, H, F),
        weights=_block_weights,
        cases=lambda rng: {
            "one sequence": (rng.standard_normal((1, 5, D)),),
            "a batch": (rng.standard_normal((2, 7, D)),),
            "a long way from 0": (3 + 10 * rng.standard_normal((2, 5, D)),),
        },
        oracle=lambda w, x: oracle.block(x, w, H, form=form, activation="gelu"),
        equation=(_mlp, _parts, equation),
        # Its parts may be the package's.
        forbidden=("torch.block", "nnx.block", "oracle", "TransformerEncoderLayer"),
        needs=(*piece.LAYER_NORM, *GAUSSIAN),
        slips=slips | _ACTIVATION_SLIPS,
    )


EXERCISES["pre_norm_block"] = _block_exercise(
    "pre",
    _pre_norm,
    {
        "this is post-norm: the norm stands after the sum": (
            "x + attend(norm(x)) -> norm(x + attend(x)); "
            "h + mlp(norm2(h)) -> norm2(h + mlp(h))"
        ),
        "this is h + LN(f(h)): the norm must stand before f, not behind it": (
            "attend(norm(x)) -> norm(attend(x)); mlp(norm2(h)) -> norm2(mlp(h))"
        ),
        "there is no skip connection: x must be added to what each part returns": (
            "x + attend -> attend; h + mlp -> mlp"
        ),
        "the skip connection carries the normalized x; it must carry x as it came": (
            "x + attend -> norm(x) + attend; h + mlp -> norm2(h) + mlp"
        ),
        "the feed-forward network comes first; attention must": (
            "attend(norm(x)) -> mlp(norm2(x)); mlp(norm2(h)) -> attend(norm(h))"
        ),
        "both parts read the block's input; the feed-forward layer must read what "
        "attention has added to": "norm2(h) -> norm2(x)",
        "no norm is used": "norm(x) -> x; norm2(h) -> h",
        "the first norm is used twice; each part has its own": "norm2(h) -> norm(h)",
        "the norm before the feed-forward layer is missing": "norm2(h) -> h",
    },
)
EXERCISES["post_norm_block"] = _block_exercise(
    "post",
    _post_norm,
    {
        "this is pre-norm: the norm must stand after the sum": (
            "norm(x + attend(x)) -> x + attend(norm(x)); "
            "norm2(h + mlp(h)) -> h + mlp(norm2(h))"
        ),
        "this is h + LN(f(h)): the norm must take in the skip connection": (
            "norm(x + attend(x)) -> x + norm(attend(x)); "
            "norm2(h + mlp(h)) -> h + norm2(mlp(h))"
        ),
        "there is no skip connection: x must be added to what each part returns": (
            "x + attend -> attend; h + mlp -> mlp"
        ),
        "no norm is used": "norm(x + -> (x +; norm2(h + -> (h +",
        "the first norm is used twice; each part has its own": "norm2(h + -> norm(h +",
        "the norm after the feed-forward layer is missing": "norm2(h + -> (h +",
    },
)
