"""Exercises on the transformer block: its norm, its MLP, and its parts together."""

import math

import numpy as np

from course_lib import oracle
from course_lib.homework import exercise as piece
from course_lib.homework.exercise import Exercise

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


def _norm(
    x,
    weight,
    bias,
    eps,
    *,
    axis=-1,
    ddof=0,
    root="eps inside",
    use_eps=True,
    center="both",
    affine="both",
    total=False,
):
    if axis is not None and axis < -x.ndim:
        axis = -1  # a single vector has no such axis
    eps = eps if use_eps else 0.0
    size = x.shape[-1] if total else 1
    centered = x - x.mean(axis=axis, keepdims=True)
    if center == "none":  # not even inside the root
        variance = (x**2).mean(axis=axis, keepdims=True)
    else:
        variance = size * x.var(axis=axis, ddof=ddof, keepdims=True)
    divisor = {
        "eps inside": np.sqrt(variance + eps),
        "eps outside": np.sqrt(variance) + eps,
        "none": variance + eps,
    }[root]
    normed = (centered if center == "both" else x) / divisor
    if affine == "bias first":
        return (normed + bias) * weight
    weight = 1 if affine == "none" else weight
    return normed * weight + (bias if affine == "both" else 0)


_NORM_SLIPS = {
    "eps is added to the standard deviation; it belongs inside the root, next to "
    "the variance": {"root": "eps outside"},
    "the variance is divided by n - 1; here it is divided by n (torch.var and "
    "torch.std need correction=0)": {"ddof": 1},
    "the variance is the sum of the squares; their mean is asked for": {"total": True},
    "mean and variance run over everything; each vector has its own": {"axis": None},
    "mean and variance run over the positions; they must run over the features, "
    "the last axis": {"axis": -2},
    "the mean is not subtracted": {"center": "root only"},
    "this is RMSNorm: nothing is centered, not even inside the root": {
        "center": "none"
    },
    "eps is missing: a vector of equal numbers is 0/0": {"use_eps": False},
    "it divides by the variance, not by its root": {"root": "none"},
    "weight and bias are not used": {"affine": "none"},
    "the bias is not used": {"affine": "weight"},
    "the bias is added before the weight multiplies": {"affine": "bias first"},
}

LAYER_NORM = Exercise(
    call="f(x, weight, bias, eps)",
    cases=_norm_cases,
    oracle=oracle.layer_norm,
    forbidden=(piece.PACKAGE, *piece.LAYER_NORM),
    mistaken=_norm,
    slips=_NORM_SLIPS,
)


def _norm_weights(rng):
    return {"weight": 1 + rng.standard_normal(7) / 2, "bias": rng.standard_normal(7)}


LAYER_NORM_MODULE = Exercise(
    call="layer(x), with weight, bias and eps=1e-5, built with (7,)",
    build=(7,),
    weights=_norm_weights,
    cases=lambda rng: {
        name: case[:1] for name, case in _norm_cases(rng).items() if case[0].ndim > 1
    },
    oracle=lambda w, x: oracle.layer_norm(x, w["weight"], w["bias"], EPS),
    forbidden=LAYER_NORM.forbidden,
    mistaken=lambda w, x, **switches: _norm(x, w["weight"], w["bias"], EPS, **switches),
    slips=_NORM_SLIPS,
)


def _weights(rng, *, block=True) -> dict[str, np.ndarray]:
    start = "feed_forward." if block else ""
    shapes = {f"attention.{p}_proj": (D, D) for p in "qkvo"} if block else {}
    shapes |= {f"{start}up_proj": (F, D), f"{start}down_proj": (D, F)}
    weights = {}
    for name, shape in shapes.items():
        weights[f"{name}.weight"] = rng.standard_normal(shape) / math.sqrt(D)
        weights[f"{name}.bias"] = rng.standard_normal(shape[0]) / 10
    for name in ("attention_norm", "feed_forward_norm") if block else ():
        weights[f"{name}.weight"] = 1 + rng.standard_normal(D) / 4
        weights[f"{name}.bias"] = rng.standard_normal(D) / 4
    return weights


def _mlp(w, x, *, activation="gelu", skip=False, last=True):
    if activation == "none":
        hidden = x @ w["up_proj.weight"].T + w["up_proj.bias"]
        out = hidden @ w["down_proj.weight"].T + w["down_proj.bias"]
    else:
        out = oracle.feed_forward(x, w, activation)
    if not last:
        out = oracle.activate(out, "gelu")
    return out + x if skip else out


_ACTIVATION_SLIPS = {
    "the activation is ReLU; GELU was asked for": {"activation": "relu"},
    "GELU is the approximation with tanh; the exact one was asked for": {
        "activation": "gelu_tanh"
    },
}

FEED_FORWARD = Exercise(
    call=f"layer(x), with up_proj and down_proj, built with ({D}, {F})",
    build=(D, F),
    weights=lambda rng: _weights(rng, block=False),
    cases=lambda rng: {
        "one sequence": (rng.standard_normal((1, 5, D)),),
        "a batch": (3 * rng.standard_normal((2, 7, D)),),
    },
    oracle=lambda w, x: oracle.feed_forward(x, w, "gelu"),
    forbidden=(piece.PACKAGE,),
    mistaken=_mlp,
    slips=_ACTIVATION_SLIPS
    | {
        "there is no activation between the two layers, so they are one linear map": {
            "activation": "none"
        },
        "the input is added; the skip connection is the block's": {"skip": True},
        "there is an activation behind the second layer, too": {"last": False},
    },
)


def _block(w, x, *, form="pre", activation="gelu"):
    def norm(h, name="attention_norm"):
        return oracle.layer_norm(h, w[f"{name}.weight"], w[f"{name}.bias"], EPS)

    def attend(h):
        return oracle.multihead(h, None, oracle.part(w, "attention"), H)[0]

    def mlp(h):
        return oracle.feed_forward(h, oracle.part(w, "feed_forward"), activation)

    second = "feed_forward_norm"
    if form == "no skip":
        return mlp(norm(attend(norm(x)), second))
    if form == "no skip, post":
        return norm(mlp(norm(attend(x))), second)
    if form == "MLP first":
        h = x + mlp(norm(x, second))
        return h + attend(norm(h))
    if form == "parallel":
        return x + attend(norm(x)) + mlp(norm(x, second))
    if form == "skip after the norm":
        x = norm(x)
        x = norm(x + attend(x), second)
        return x + mlp(x)
    if form == "no norm":
        h = x + attend(x)
        return h + mlp(h)
    if form == "one norm":
        h = x + attend(norm(x))
        return h + mlp(norm(h))
    if form == "one norm, post":
        h = norm(x + attend(x))
        return norm(h + mlp(h))
    if form == "second norm missing":
        h = x + attend(norm(x))
        return h + mlp(h)
    if form == "last norm missing":
        h = norm(x + attend(x))
        return h + mlp(h)
    return oracle.block(x, w, H, form=form, activation=activation, eps=EPS)


def _block_exercise(form, slips):
    return Exercise(
        call=f"block(x), built with ({D}, {H}, {F})",
        build=(D, H, F),
        weights=_weights,
        cases=lambda rng: {
            "one sequence": (rng.standard_normal((1, 5, D)),),
            "a batch": (rng.standard_normal((2, 7, D)),),
            "a long way from 0": (3 + 10 * rng.standard_normal((2, 5, D)),),
        },
        oracle=lambda w, x: oracle.block(x, w, H, form=form, activation="gelu"),
        # Its parts may be the package's.
        forbidden=("Block", "oracle", "TransformerEncoderLayer"),
        mistaken=lambda w, x, **switches: _block(w, x, **{"form": form, **switches}),
        slips=slips | _ACTIVATION_SLIPS,
    )


PRE_NORM_BLOCK = _block_exercise(
    "pre",
    {
        "this is post-norm: the norm stands after the sum": {"form": "post"},
        "this is h + LN(f(h)): the norm must stand before f, not behind it": {
            "form": "res_post"
        },
        "there is no skip connection: x must be added to what each part returns": {
            "form": "no skip"
        },
        "the skip connection carries the normalized x; it must carry x as it came": {
            "form": "skip after the norm"
        },
        "the feed-forward network comes first; attention must": {"form": "MLP first"},
        "both parts read the block's input; the feed-forward layer must read what "
        "attention has added to": {"form": "parallel"},
        "no norm is used": {"form": "no norm"},
        "the first norm is used twice; each part has its own": {"form": "one norm"},
        "the norm before the feed-forward layer is missing": {
            "form": "second norm missing"
        },
    },
)
POST_NORM_BLOCK = _block_exercise(
    "post",
    {
        "this is pre-norm: the norm must stand after the sum": {"form": "pre"},
        "this is h + LN(f(h)): the norm must take in the skip connection": {
            "form": "res_post"
        },
        "there is no skip connection: x must be added to what each part returns": {
            "form": "no skip, post"
        },
        "no norm is used": {"form": "no norm"},
        "the first norm is used twice; each part has its own": {
            "form": "one norm, post"
        },
        "the norm after the feed-forward layer is missing": {
            "form": "last norm missing"
        },
    },
)

EXERCISES = {
    "layer_norm": LAYER_NORM,
    "layer_norm_module": LAYER_NORM_MODULE,
    "feed_forward": FEED_FORWARD,
    "pre_norm_block": PRE_NORM_BLOCK,
    "post_norm_block": POST_NORM_BLOCK,
}
