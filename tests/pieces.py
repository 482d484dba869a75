"""The pieces of both wings as rows of one table, with what each of them promises.

A shape is a word with a letter for each axis: `T Dh`. Axes of a batch stand in front of
it and are not written. `test_pieces.py` has what is asked of every row.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from course_lib import oracle
from course_lib.config import ACTIVATIONS, Experts, QKNorm, RotaryScaling, Scoring

# Those that meet in a piece differ, so that a swapped axis fails.
SIZES = {
    "1": 1, "T": 7, "S": 11, "H": 6, "G": 3, "Dh": 4, "Dv": 13, "D": 24, "F": 17,
    "V": 19, "P": 17, "Q": 3,
}  # fmt: skip
FAR = 65_000.0  # nearly the largest number of float16
H, G, DH, D, F, V = (SIZES[x] for x in ("H", "G", "Dh", "D", "F", "V"))


@dataclass(frozen=True)
class Piece:
    """A row: how it is made, what it is given and gives, and what holds of it.

    Args:
        make: Of a wing, the function, or the module in evaluation mode, where none of
            what it could drop is dropped.
        inputs: The shape of each argument. One that is no float is a pair: "bool", or
            "share" for numbers between 0 and 1, or the letter of the size that whole
            numbers stay below; then the shape.
        out: The shapes of what it gives.
        right: The oracle: of weights and inputs, the outputs of one of the batch.
        call: How it is called, if not with its inputs alone.
        order: Axes whose order means nothing: outputs are reordered as inputs are.
        causal: Whether position t of T gives the same whatever stands behind it.
        batch: What a batch is: "any" axes in front, "whole" where all of them make
            one output, or "none".
        slopes: Whether it is something to take gradients of.
        exact: How large inputs may be for 16 bits to give the oracle's numbers; 0 for a
            piece that chooses by them.
        keeps: Whether floats come out in the kind in which they went in.
        far: Whether the oracle can follow to numbers of tens of thousands.
    """

    make: Callable[[Any], Any]
    inputs: dict[str, Any]
    out: tuple[str, ...]
    right: Callable[..., Any]
    call: Callable[..., Any] = field(default=lambda f, **given: f(**given))
    order: tuple[str, ...] = ()
    causal: bool = False
    batch: str = "any"
    slopes: bool = True
    exact: float = 1.0
    keeps: bool = True
    far: bool = True

    @property
    def mask(self) -> str | None:
        """The argument that says what may be seen; its last axis is what it hides."""
        found = [
            name for name in self.inputs if name in ("mask", "memory_mask", "edges")
        ]
        return found[-1] if found else None

    def axes(self, name: str) -> list[str]:
        """The axes of an argument behind those of the batch."""
        shape = self.inputs[name]
        return (shape[1] if isinstance(shape, tuple) else shape).split()

    def floats(self) -> list[str]:
        """The arguments that are floats."""
        return [name for name, shape in self.inputs.items() if isinstance(shape, str)]


def draw(piece: Piece, batch: tuple[int, ...], *, size=1.0, seed=0, sizes=SIZES):
    """Inputs of a piece in float64; a mask hides the first of all rows whole."""
    rng = np.random.default_rng(seed)
    given = {}
    for name, kind in piece.inputs.items():
        kind = kind[0] if isinstance(kind, tuple) else "float"
        shape = (*batch, *(sizes[axis] for axis in piece.axes(name)))
        if kind == "float":
            given[name] = size * rng.standard_normal(shape)
        elif kind == "share":
            given[name] = rng.random(shape)
        elif kind == "bool":
            given[name] = rng.random(shape) < 0.6
        else:
            given[name] = rng.integers(0, SIZES[kind], shape)
    if piece.mask and given[piece.mask].size:
        rows = given[piece.mask].reshape(-1, given[piece.mask].shape[-1])
        rows[0] = len(rows) == 1  # one row that hides all would show nothing
    return given


QKV = {"q": "T Dh", "k": "S Dh", "v": "S Dv"}
OWN = {"q": "T Dh", "k": "T Dh", "v": "T Dv"}
HEADS = {"q": "H T Dh", "k": "G S Dh", "v": "G S Dv"}
OWN_HEADS = {"q": "H T Dh", "k": "G T Dh", "v": "G T Dv"}
MASK = ("bool", "T S")
X = {"x": "T D"}
CROSS = {"x": "T D", "context": "S D"}
BIAS = {"score_bias": "H T T"}
SELF_MASK = {"mask": ("bool", "1 T T")}


def attend(w, q, k, v, *, mask=None, scale=None, rule=None, **options):
    """The oracle's attention, with a rule for pairs besides the mask."""
    if rule is not None:
        rule = oracle.mask(len(q), len(k), rule)
        mask = rule if mask is None else mask & rule
    q = q if scale is None else q * scale * np.sqrt(q.shape[-1])
    return oracle.attention(q, k, v, mask, **options)


def fused(w, q, k, v, *, score_bias=None, mask=None, **options):
    """The same, head after head, each group of them with its keys and values."""
    heads, group = [], len(q) // len(k)
    for h, one in enumerate(q):
        own = {
            "mask": None if mask is None else mask[0],
            "bias": None if score_bias is None else score_bias[h],
        }
        pair = k[h // group], v[h // group]
        heads.append(attend(w, one, *pair, **own, **options)[0])
    return np.stack(heads)


def a_fused(inputs=HEADS, *, right=None, order=(), **options):
    def call(f, **given):
        offset = given["k"].shape[-2] - given["q"].shape[-2]
        return f(**given, offset=offset, **options)

    return Piece(
        lambda w: w.lib.fused_attention,
        inputs,
        ("H T Dv",),
        partial(fused, **(right or {})),
        call,
        order=order,
        causal=inputs is OWN_HEADS,
    )


def a_multihead(
    inputs, *, options=lambda w: {}, right=None, causal=False, order=("T",)
):
    """Multi-head attention and its maps; `options` of a wing, and the oracle's."""
    cross = "context" in inputs

    def expected(w, x, context=None, mask=None, score_bias=None):
        if causal:
            past = oracle.causal_mask(len(x), len(x))
            mask = past if mask is None else mask & past
        rules = {"mask": mask, "bias": score_bias} | (right or {})
        return oracle.multihead(x, context, w, H, **rules)

    def both(f, **given):
        given |= {"causal": True} if causal else {}
        return f(**given), f.maps(**given)

    return Piece(
        lambda w: w.make(w.lib.MultiHeadAttention, D, H, dropout=0.5, **options(w)),
        inputs,
        ("T D", "H T S" if cross else "H T T"),
        expected,
        both,
        order=() if causal else order,
        causal=causal,
    )


def a_block(inputs, *, turned=False, causal=False, order=("T",), **options):
    """A block; the oracle's names for its options are nearly the same."""
    same = {
        "n_kv_heads": options.get("n_kv_heads"),
        "form": options.get("norm", "pre"),
        "activation": options.get("activation", "gelu"),
        "rotary_base": 10000.0 if turned else None,
    }

    def expected(w, x, score_bias=None, **given):
        given |= {"mask": oracle.causal_mask(len(x), len(x))} if causal else {}
        return oracle.block(x, w, H, eps=1e-3, bias=score_bias, **same, **given)

    def make(w):
        rotary = {"rotary": w.lib.Rotary(DH)} if turned else {}
        return w.make(
            w.lib.Block, D, H, F, norm_eps=1e-3, dropout=0.5, **rotary, **options
        )

    return Piece(
        make,
        inputs,
        ("T D",),
        expected,
        lambda f, **given: f(**given, causal=causal),
        order=() if turned or causal else order,
        causal=causal,
    )


def normed(kind, eps):
    def expected(w, x):
        x = x[None]
        if kind == "layer":
            return oracle.layer_norm(x, w["weight"], w["bias"], eps)[0]
        return oracle.rms_norm(x, w["weight"], eps)[0]

    return Piece(
        lambda w: w.make(w.lib.norm_layer, D, kind=kind, eps=eps),
        {"x": "D"},
        ("D",),
        expected,
        lambda f, x: f(x),
        exact=FAR,
    )


def a_map(**options):
    return Piece(
        lambda w: w.make(w.lib.FeedForward, D, F, dropout=0.5, **options),
        {"x": "D"},
        ("D",),
        lambda w, x: oracle.feed_forward(x, w, options.get("activation", "gelu")),
        exact=20.0,
    )


def some_experts(top_k=2, normalize=True, balance_bias=False, **form):
    chosen = Experts(
        n_experts=5, top_k=top_k, normalize=normalize, balance_bias=balance_bias
    )
    activation = form.get("activation", "silu")
    return Piece(
        lambda w: w.make(w.lib.MixtureOfExperts, D, F, experts=chosen, **form),
        {"x": "T D"},
        ("T D",),
        lambda w, x: oracle.experts(
            x, w, top_k, normalize=normalize, activation=activation
        ),
        order=("T",),
        exact=0,
    )


def recurrent(name, *, reverse=False):
    step = -1 if reverse else 1

    def expected(w, x, mask):
        x, mask = x[::step], mask[::step]
        states = [np.zeros(F)]
        if mask.any():  # a step that is not read leaves the state as it is
            states += list(getattr(oracle, name.lower())(x[mask], w))
        states = np.stack(states)[np.cumsum(mask)]
        return states[::step], states[-1]

    def call(f, **given):
        outputs, state = f(**given, reverse=reverse)
        return outputs, state[0]

    return Piece(
        lambda w: w.make(getattr(w.lib, name), D, F),
        X | {"mask": ("bool", "T")},
        ("T F", "F"),
        expected,
        call,
        causal=not reverse,
    )


def kernel(name, bandwidth):
    return Piece(
        lambda w: partial(w.lib.kernel_regression, kernel=name, bandwidth=bandwidth),
        QKV | {"mask": MASK},
        ("T Dv", "T S"),
        lambda w, q, k, v, mask: oracle.kernel_regression(
            q, k, v, bandwidth, name, mask
        ),
        order=("T", "S"),
        exact=float(name == "gaussian"),
        far=name != "gaussian",  # the oracle's weights all become 0
    )


def entropy(w, logits, targets, *, ignore=0):
    """Cross-entropy of the targets that count, one after the other."""
    losses = []
    for at in np.ndindex(targets.shape):
        if targets[at] != ignore:
            logs = logits[at] - logits[at].max()
            logs = logs - np.log(np.exp(logs).sum())
            losses.append(-logs[targets[at]])
    return sum(losses) / max(len(losses), 1)


def a_cut(name, setting):
    """A rule of sampling that forbids some tokens."""
    return Piece(
        lambda w: lambda logits: getattr(w.lib, name)(logits, setting),
        {"logits": "V"},
        ("V",),
        lambda w, logits: getattr(oracle, name)(logits, setting),
        order=("V",),
        slopes=False,
    )


def scheme(make, right, call=lambda f, x: f.add(x, 2), *, shape="T D"):
    """Positions that are added to tokens, from position 2 on."""
    plain = shape == "T D"
    return Piece(make, {"x": shape}, (shape,), right, call, causal=plain, exact=20.0)


def a_bias(make, right, call=lambda f, t, s, like: f.bias(t, s, s - t, like)):
    """Positions that are added to the scores; the last query stands at the last key."""
    return Piece(
        make,
        {"queries": "T D", "keys": "S D"},
        ("H T S",),
        lambda w, queries, keys: right(w, len(queries), len(keys)),
        lambda f, queries, keys: call(f, len(queries), len(keys), queries),
        batch="none",
        slopes=False,
    )


def grid(w, x):
    cells = [
        np.concatenate([row, column])
        for row in w["rows.weight"]
        for column in w["columns.weight"]
    ]
    return x + np.concatenate([np.zeros((2, D)), cells])


YARN = RotaryScaling(kind="yarn", factor=4.0, original_len=32)
PIECES = {
    "attention": Piece(
        lambda w: w.lib.attention,
        QKV | {"mask": MASK},
        ("T Dv", "T S"),
        attend,
        order=("T", "S"),
    ),
    "attention, biased behind a cap": Piece(
        lambda w: partial(w.lib.attention, scale=0.3, cap=0.7),
        QKV | {"bias": "T S", "mask": MASK},
        ("T Dv", "T S"),
        partial(attend, scale=0.3, cap=0.7),
        order=("T", "S"),
    ),
    "fused attention": a_fused(order=("T", "S")),
    "fused attention, masked": a_fused(
        HEADS | {"mask": ("bool", "1 T S")}, order=("T", "S")
    ),
    "fused attention, biased and masked": a_fused(
        HEADS | {"score_bias": "H T S", "mask": ("bool", "1 T S")}, order=("T", "S")
    ),
    "fused attention, causal": a_fused(
        OWN_HEADS, causal=True, right={"rule": lambda i, j: j <= i}
    ),
    "fused attention, causal in a window behind a cache": a_fused(
        causal=True,
        scoring=Scoring(window=3, scale=0.3),
        right={"rule": lambda i, j: 0 <= i - j < 3, "scale": 0.3},
    ),
    "fused attention, capped": a_fused(
        HEADS | {"score_bias": "H T S"},
        scoring=Scoring(cap=0.7),
        right={"cap": 0.7},
        order=("T", "S"),
    ),
    "multi-head attention": a_multihead(X | SELF_MASK),
    "multi-head attention, causal": a_multihead(X, causal=True),
    "multi-head attention, biased and masked": a_multihead(X | BIAS | SELF_MASK),
    "multi-head attention, of a context without biases": a_multihead(
        CROSS | {"mask": ("bool", "1 T S")},
        options=lambda w: {"bias": False},
        order=("T", "S"),
    ),
    "grouped attention, turned and causal": a_multihead(
        X | SELF_MASK,
        options=lambda w: {"n_kv_heads": G, "rotary": w.lib.Rotary(DH)},
        right={"n_kv_heads": G, "rotary_base": 10000.0},
        causal=True,
    ),
    "multi-query attention in a window": a_multihead(
        X | BIAS,
        options=lambda w: {"n_kv_heads": 1, "scoring": Scoring(window=3)},
        right={"n_kv_heads": 1, "window": 3},
        order=(),
    ),
    "multi-head attention, scaled and capped": a_multihead(
        X | BIAS | SELF_MASK,
        options=lambda w: {"scoring": Scoring(scale=0.3, cap=0.7)},
        right={"scale": 0.3, "cap": 0.7},
    ),
    "multi-head attention, of normed queries and keys": a_multihead(
        X | SELF_MASK,
        options=lambda w: {"qk_norm": QKNorm(eps=1e-3)},
        right={"eps": 1e-3},
    ),
    "self-attention": Piece(
        lambda w: w.make(w.lib.SelfAttention, D, DH),
        X | {"mask": ("bool", "T T")},
        ("T D",),
        lambda w, x, mask: oracle.multihead(x, None, w, 1, mask=mask)[0],
        order=("T",),
    ),
    "self-attention, turned": Piece(
        lambda w: w.make(w.lib.SelfAttention, D, DH, w.lib.Rotary(DH)),
        X,
        ("T D",),
        lambda w, x: oracle.multihead(x, None, w, 1, rotary_base=10000.0)[0],
    ),
    "split heads": Piece(
        lambda w: partial(w.lib.split_heads, d_head=DH),
        X,
        ("H T Dh",),
        lambda w, x: np.stack(np.split(x, H, axis=-1)),
        order=("T",),
    ),
    "merge heads": Piece(
        lambda w: w.lib.merge_heads,
        {"heads": "H T Dh"},
        ("T D",),
        lambda w, heads: np.concatenate(list(heads), axis=-1),
        order=("T",),
    ),
    "repeat heads": Piece(
        lambda w: partial(w.lib.repeat_heads, n_heads=H),
        {"t": "G S Dh"},
        ("H S Dh",),
        lambda w, t: np.stack([t[h * G // H] for h in range(H)]),
        order=("S",),
    ),
    **{
        f"activation {name}": Piece(
            lambda w, name=name: partial(w.lib.activate, name=name),
            {"x": "D"},
            ("D",),
            lambda w, x, name=name: oracle.activate(x, name),
            order=("D",),
            exact=FAR,
        )
        for name in ACTIVATIONS[:-1]
    },
    **{
        f"feed-forward network, {name}": a_map(activation=name) for name in ACTIVATIONS
    },
    "feed-forward network, gated without biases": a_map(
        activation="gelu", gated=True, bias=False
    ),
    "layer norm": normed("layer", 1e-5),
    "layer norm of a large eps": normed("layer", 0.1),
    "RMS norm": normed("rms", 1e-5),
    "RMS norm of a large eps": normed("rms", 0.1),
    "block": a_block(X | BIAS | SELF_MASK),
    "block, causal": a_block(X | BIAS, causal=True, activation="gelu_tanh"),
    "block, normed behind each sum": a_block(
        X | {"memory": "S D", "memory_mask": ("bool", "1 1 S")},
        norm="post", activation="relu", cross_attention=True, order=("T", "S"),
    ),
    "block, normed before each sum": a_block(
        X | SELF_MASK, norm="res_post", norm_kind="rms", activation="swiglu",
        bias=False, n_kv_heads=G, turned=True,
    ),
    "block, normed twice": a_block(
        X | {"memory": "S D", "memory_mask": ("bool", "1 T S")},
        norm="sandwich", norm_kind="rms", activation="silu", cross_attention=True,
        order=("T", "S"),
    ),
    "experts": some_experts(),
    "experts, balanced, with gates that sum to less than 1": some_experts(
        3, False, True, activation="relu", gated=False
    ),
    "linear": Piece(
        lambda w: w.make(w.lib.linear, D, F),
        {"x": "D"},
        ("F",),
        lambda w, x: w["weight"] @ x + w["bias"],
        lambda f, x: f(x),
    ),
    "embedding": Piece(
        lambda w: w.make(w.lib.Embedding, V, D),
        {"ids": ("V", "T")},
        ("T D",),
        lambda w, ids: w["weight"][ids],
        order=("T",),
    ),
    "sinusoidal positions": scheme(
        lambda w: w.make(w.lib.Sinusoidal, 11, D),
        lambda w, x: x + oracle.sinusoidal(2 + len(x), D)[2:],
    ),
    "sinusoidal positions, sines first": scheme(
        lambda w: w.make(w.lib.Sinusoidal, 11, D, interleaved=False),
        lambda w, x: x + oracle.sinusoidal(2 + len(x), D, interleaved=False)[2:],
    ),
    "learned positions": scheme(
        lambda w: w.make(w.lib.Learned, 11, D),
        lambda w, x: x + w["table.weight"][2 : 2 + len(x)],
    ),
    "learned positions of a grid": scheme(
        lambda w: w.make(w.lib.Learned2D, 3, 5, D),
        grid,
        lambda f, x: f.add(x),
        shape="P D",
    ),
    "rotary positions": scheme(
        lambda w: w.lib.Rotary(D),
        lambda w, x: oracle.rotary(x, offset=1009),
        call=lambda f, x: f(x, 1009),
    ),
    "rotary positions, stretched": scheme(
        lambda w: w.lib.Rotary(D, 500.0, YARN),
        lambda w, x: oracle.rotary(x, 500.0, 2, YARN),
        call=lambda f, x: f(x, 2),
    ),
    "ALiBi": a_bias(
        lambda w: w.lib.ALiBi(H), lambda w, t, s: oracle.alibi_bias(H, t, s)
    ),
    "ALiBi, the last query at the last key": a_bias(
        lambda w: w.lib.alibi_bias,
        lambda w, t, s: oracle.alibi_bias(H, t, s),
        lambda f, t, s, like: f(H, t, s, like=like),
    ),
    "relative positions": a_bias(
        lambda w: w.make(w.lib.RelativeBias, H, 3),
        lambda w, t, s: oracle.relative_bias(w["table.weight"], t, s),
    ),
    "relative positions, the last query at the last key": a_bias(
        lambda w: w.make(w.lib.RelativeBias, H, 3),
        lambda w, t, s: oracle.relative_bias(w["table.weight"], t, s),
        lambda f, t, s, like: f(t, s),
    ),
    "Gaussian kernel regression": kernel("gaussian", 2.0),
    "Epanechnikov kernel regression": kernel("epanechnikov", 4.0),
    "boxcar kernel regression": kernel("boxcar", 3.0),
    "kernel regression, a bandwidth a feature": Piece(
        lambda w: w.lib.kernel_regression,
        QKV | {"bandwidth": ("share", "Dh")},
        ("T Dv", "T S"),
        lambda w, **given: oracle.kernel_regression(*given.values()),
        order=("T", "S"),
        batch="none",
        exact=0,
        far=False,
    ),
    "leave-one-out error": Piece(
        lambda w: partial(w.lib.leave_one_out, bandwidth=3.0, kernel="epanechnikov"),
        {"keys": "S Dh", "values": "S Dv"},
        ("",),
        lambda w, keys, values: oracle.leave_one_out(keys, values, 3.0, "epanechnikov"),
        order=("S",),
        batch="none",
    ),
    "learned metric": Piece(
        lambda w: w.make(w.lib.LearnedMetric, DH),
        QKV,
        ("T Dv",),
        lambda w, **given: oracle.kernel_regression(
            *given.values(), np.exp(w["log_bandwidth"])
        )[0],
        order=("T", "S"),
        far=False,
    ),
    "RNN": recurrent("RNN"),
    "LSTM": recurrent("LSTM"),
    "LSTM, backward": recurrent("LSTM", reverse=True),
    "cross-entropy": Piece(
        lambda w: partial(w.lib.cross_entropy, ignore_index=0),
        {"logits": "T V", "targets": ("V", "T")},
        ("",),
        entropy,
        order=("T",),
        batch="whole",
        keeps=False,
    ),
    "pinball loss": Piece(
        lambda w: partial(w.lib.pinball, levels=(0.2, 0.5, 0.9)),
        {"quantiles": "T Q", "actual": "T"},
        ("",),
        lambda w, quantiles, actual: oracle.pinball(
            quantiles, actual, (0.2, 0.5, 0.9)
        ).mean(),
        order=("T",),
        batch="whole",
        exact=FAR,
        keeps=False,
    ),
    "greedy": Piece(
        lambda w: w.lib.greedy,
        {"logits": "V"},
        ("",),
        lambda w, logits: logits.argmax(),
        slopes=False,
    ),
    "top k": a_cut("keep_top_k", 3),
    "top p": a_cut("keep_top_p", 0.7),
    "min p": a_cut("keep_min_p", 0.3),
    "repetition penalty": Piece(
        lambda w: partial(w.lib.penalize_repetition, penalty=1.3),
        {"logits": "V", "seen": ("bool", "V")},
        ("V",),
        lambda w, logits, seen: oracle.penalize_repetition(
            logits, list(np.flatnonzero(seen)), 1.3
        ),
        order=("V",),
        slopes=False,
    ),
    "sample": Piece(
        lambda w: w.lib.sample,
        {"logits": "V", "uniform": ("share", "")},
        ("",),
        lambda w, logits, uniform: oracle.sample(logits, uniform),
        slopes=False,
        exact=0,
    ),
}  # fmt: skip
