"""Exercises on the transformer block: its norm, and its parts put together."""

import importlib
import math

import numpy as np

from course_lib import oracle
from course_lib.homework.marking import Exercise

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


def _norm(x, weight, bias, eps, *, axis=-1, ddof=0, outside=False, center=True):
    """Layer norm with switches for its mistakes; with none set it is right."""
    if axis is not None and axis < -x.ndim:
        axis = -1  # a single vector has no such axis
    centered = x - x.mean(axis=axis, keepdims=True)
    variance = x.var(axis=axis, ddof=ddof, keepdims=True)
    root = np.sqrt(variance) + eps if outside else np.sqrt(variance + eps)
    return (centered if center else x) / root * weight + bias


def _norm_slip(**switches):
    return lambda x, weight, bias, eps: _norm(x, weight, bias, eps, **switches)


LAYER_NORM = Exercise(
    call="f(x, weight, bias, eps)",
    cases=_norm_cases,
    oracle=oracle.layer_norm,
    slips={
        "eps is added to the standard deviation; it belongs inside the root, next to "
        "the variance": _norm_slip(outside=True),
        "the variance is divided by n - 1; here it is divided by n (torch.var and "
        "torch.std need correction=0)": _norm_slip(ddof=1),
        "mean and variance run over everything; each vector has its own": (
            _norm_slip(axis=None)
        ),
        "mean and variance run over the positions; they must run over the features, "
        "the last axis": _norm_slip(axis=-2),
        "the mean is not subtracted": _norm_slip(center=False),
        "this is RMSNorm: nothing is centered, not even inside the root": (
            lambda x, weight, bias, eps: (
                x / np.sqrt((x**2).mean(axis=-1, keepdims=True) + eps) * weight + bias
            )
        ),
        "eps is missing: a vector of equal numbers is 0/0": (
            lambda x, weight, bias, eps: _norm(x, weight, bias, 0.0)
        ),
        "it divides by the variance, not by its root": lambda x, weight, bias, eps: (
            (x - x.mean(axis=-1, keepdims=True))
            / (x.var(axis=-1, keepdims=True) + eps)
            * weight
            + bias
        ),
        "weight and bias are not used": lambda x, weight, bias, eps: _norm(
            x, 1.0, 0.0, eps
        ),
        "the bias is not used": lambda x, weight, bias, eps: _norm(x, weight, 0.0, eps),
        "the bias is added before the weight multiplies": lambda x, weight, bias, eps: (
            (_norm(x, 1.0, 0.0, eps) + bias) * weight
        ),
    },
)


def _weights() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(2020)
    shapes = {f"attention.{p}_proj": (D, D) for p in "qkvo"}
    shapes |= {"feed_forward.up_proj": (F, D), "feed_forward.down_proj": (D, F)}
    weights = {}
    for name, shape in shapes.items():
        weights[f"{name}.weight"] = rng.standard_normal(shape) / math.sqrt(D)
        weights[f"{name}.bias"] = rng.standard_normal(shape[0]) / 10
    for name in ("attention_norm", "feed_forward_norm"):
        weights[f"{name}.weight"] = 1 + rng.standard_normal(D) / 4
        weights[f"{name}.bias"] = rng.standard_normal(D) / 4
    return weights


def _build(cls, wing: str):
    """The reader's block, with the exercise's weights in it."""
    lib = importlib.import_module(f"course_lib.{wing}")
    if wing == "torch":
        block = cls(D, H, F)
    else:
        block = cls(D, H, F, rngs=importlib.import_module("flax.nnx").Rngs(0))
    lib.set_weights(block, _weights())
    return block


def _block(x, *, form="pre", activation="gelu"):
    """A block with switches for its mistakes."""
    w = _weights()

    def norm(h, name="attention_norm"):
        return oracle.layer_norm(h, w[f"{name}.weight"], w[f"{name}.bias"], EPS)

    def listen(h):
        return oracle.multihead(h, None, oracle.part(w, "attention"), H)[0]

    def think(h):
        net = oracle.part(w, "feed_forward")
        return oracle.feed_forward(h, net, activation)

    second = "feed_forward_norm"
    if form == "no bypass":
        return think(norm(listen(norm(x)), second))
    if form == "think first":
        h = x + think(norm(x, second))
        return h + listen(norm(h))
    if form == "parallel":
        return x + listen(norm(x)) + think(norm(x, second))
    if form == "bypass after the norm":
        x = norm(x)
        x = norm(x + listen(x), second)
        return x + think(x)
    if form == "no norm":
        h = x + listen(x)
        return h + think(h)
    if form == "one norm":
        h = x + listen(norm(x))
        return h + think(norm(h))
    if form == "second norm missing":
        h = x + listen(norm(x))
        return h + think(h)
    return oracle.block(x, w, H, form=form, activation=activation, eps=EPS)


def _block_slip(**switches):
    return lambda x: _block(x, **switches)


PRE_NORM_BLOCK = Exercise(
    call=f"block(x), built with ({D}, {H}, {F})",
    build=_build,
    cases=lambda rng: {
        "one sequence": (rng.standard_normal((1, 5, D)),),
        "a batch": (rng.standard_normal((2, 7, D)),),
        "a long way from 0": (3 + 10 * rng.standard_normal((2, 5, D)),),
    },
    oracle=_block,
    slips={
        "this is post-norm: the norm stands after the sum": _block_slip(form="post"),
        "this is h + LN(f(h)): the norm must stand before f, not behind it": (
            _block_slip(form="res_post")
        ),
        "there is no skip connection: x must be added to what each part returns": (
            _block_slip(form="no bypass")
        ),
        "the skip connection carries the normalized x; it must carry x as it came": (
            _block_slip(form="bypass after the norm")
        ),
        "the feed-forward network comes first; attention must": (
            _block_slip(form="think first")
        ),
        "both parts read the block's input; the feed-forward layer must read what "
        "attention has added to": _block_slip(form="parallel"),
        "no norm is used": _block_slip(form="no norm"),
        "the first norm is used twice; each part has its own": (
            _block_slip(form="one norm")
        ),
        "the norm before the feed-forward layer is missing": (
            _block_slip(form="second norm missing")
        ),
        "the activation is ReLU; GELU was asked for": _block_slip(activation="relu"),
        "GELU is the approximation with tanh; the exact one was asked for": (
            _block_slip(activation="gelu_tanh")
        ),
    },
)

EXERCISES = {"layer_norm": LAYER_NORM, "pre_norm_block": PRE_NORM_BLOCK}
