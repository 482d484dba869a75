"""Exercises on language models: the shift, the loss of a text, GPT with a cache."""

import math

import numpy as np

from course_lib import oracle
from course_lib.homework import exercise as piece
from course_lib.homework.exercise import Exercise
from course_lib.homework.ledgers import NEXT_CODE


def _ids(rng):
    return {
        "two texts": (rng.integers(0, 11, (2, 5)),),
        "one text": (rng.integers(0, 7, (1, 3)),),
        "three texts of two tokens": (rng.integers(0, 29, (3, 2)),),
    }


NEXT_TOKEN_PAIRS = Exercise(
    call="f(ids), which returns (inputs, targets)",
    cases=_ids,
    oracle=lambda i: (i[:, :-1], i[:, 1:]),
    slips={
        "inputs and targets have changed places": lambda i: (i[:, 1:], i[:, :-1]),
        "the targets are the inputs themselves; they must be one token later": (
            lambda i: (i[:, :-1], i[:, :-1])
        ),
        "the last token is among the inputs, though it has no target": (
            lambda i: (i, i[:, 1:])
        ),
        "the targets come round to the first token; drop the last input instead": (
            lambda i: (i, np.roll(i, -1, axis=1))
        ),
        "texts are shifted, not tokens: the shift runs along the second axis": (
            lambda i: (i[:-1], i[1:])
        ),
    },
)


def _cases(rng):
    def case(n, t, v):
        return rng.standard_normal((n, t, v)) * 2, rng.integers(0, v, (n, t))

    return {
        "two texts of three words": case(2, 3, 5),
        "one text of seven words": case(1, 7, 2),
        "three texts of five words": case(3, 5, 11),
    }


def _shifted(ids, by):
    """Which rows are scored on which tokens."""
    last = ids.shape[1]
    return {
        "next": (slice(0, last - 1), ids[:, 1:]),
        "own": (slice(0, last), ids),
        "before": (slice(1, last), ids[:, :-1]),
        "round": (slice(0, last), np.roll(ids, -1, axis=1)),
    }[by]


def _loss(z, ids, *, by="next", over="mean", form="nats", normalize=True, sign=1):
    rows, targets = _shifted(ids, by)
    log_p = z[:, rows]
    if normalize:
        log_p = log_p - log_p.max(axis=-1, keepdims=True)
        log_p = log_p - np.log(np.exp(log_p).sum(axis=-1, keepdims=True))
    scores = -np.take_along_axis(log_p, targets[..., None], axis=-1)[..., 0]
    loss = {
        "mean": scores.mean(),
        "positions": scores.sum(axis=1).mean(),
        "all": scores.sum(),
        "all rows": scores.sum() / ids.size,
        "none": scores,
    }[over]
    loss = sign * loss
    return {"nats": loss, "bits": loss / math.log(2), "perplexity": np.exp(loss)}[form]


NEXT_TOKEN_LOSS = Exercise(
    call="f(logits, ids)",
    cases=_cases,
    oracle=_loss,
    forbidden=(
        piece.PACKAGE,
        *("cross_entropy", "cross_entropy_loss", "nll_loss", "CrossEntropyLoss"),
        *("softmax_cross_entropy", "softmax_cross_entropy_with_integer_labels"),
    ),
    mistaken=_loss,
    slips={
        "each row is asked for its own token; it must be asked for the next": {
            "by": "own"
        },
        "each row is asked for the token before it; it must be the one after": {
            "by": "before"
        },
        "the last row is asked for the first token; it has no target": {"by": "round"},
        "these are sums over the positions; the mean is asked for": {
            "over": "positions"
        },
        "this is the sum over all targets; the mean is asked for": {"over": "all"},
        "the mean is over all rows, also over the last, which has no target": {
            "over": "all rows"
        },
        "these are the losses of the tokens; their mean is asked for": {"over": "none"},
        "this is in bits; nats are asked for": {"form": "bits"},
        "this is the perplexity; its logarithm is asked for": {"form": "perplexity"},
        "the sign is wrong: a loss is minus a log probability": {"sign": -1},
        "the softmax is missing: logits are not log probabilities": {
            "normalize": False
        },
    },
)

V, N, D, L, H = 11, 13, 12, 2, 3  # vocabulary, positions, width, layers, heads


def _gpt_weights(rng):
    tables = {"tokens": (V, D), "positions": (N, D)}
    weights = {f"{n}.weight": rng.standard_normal(s) for n, s in tables.items()}
    for i in range(L):
        shapes = {f"attention.{p}_proj": (D, D) for p in "qkvo"}
        shapes |= {"feed_forward.up": (4 * D, D), "feed_forward.down": (D, 4 * D)}
        for name, (out, into) in shapes.items():
            at = f"blocks.{i}.{name}"
            weights[f"{at}.weight"] = rng.standard_normal((out, into)) / math.sqrt(into)
            weights[f"{at}.bias"] = rng.standard_normal(out) / 10
    norms = [f"blocks.{i}.{n}_norm" for i in range(L) for n in _PARTS]
    for name in [*norms, "norm"]:
        weights[f"{name}.weight"] = 1 + rng.standard_normal(D) / 4
        weights[f"{name}.bias"] = rng.standard_normal(D) / 4
    return weights


_PARTS = ("attention", "feed_forward")


def _gpt_cases(rng):
    def behind(batch, old, new):
        stored = rng.standard_normal((2, L, batch, H, old, D // H))
        return rng.integers(0, V, (batch, new)), *stored

    return {
        "two texts from their start": (rng.integers(0, V, (2, 7)), None, None),
        "one token behind five": behind(2, 5, 1),
        "three tokens behind four": behind(1, 4, 3),
    }


def _places(n_old, n_new, start):
    first = {"behind": n_old, "0": 0, "1": n_old + 1}[start]
    return np.arange(first, first + n_new)


def _may_attend(n_old, n_new, see):
    n = n_old + n_new
    return {
        "past": np.tri(n_new, n, n_old) > 0,
        "all": np.ones((n_new, n), dtype=bool),
        "first": np.tri(n_new, n) > 0,
        "new": np.tri(n_new, n, n_old) * (np.arange(n) >= n_old) > 0,
    }[see]


def _gpt(
    w,
    ids,
    keys,
    values,
    *,
    start="behind",
    see="past",
    order="behind",
    layers="own",
    give="all",
    form="pre",
    scale=1.0,
    positions=True,
    norm=True,
    table=1.0,
    out="logits",
):
    if keys is None:
        keys = values = np.zeros((L, len(ids), H, 0, D // H))
    n_old, n_new = keys.shape[-2], ids.shape[1]
    x = w["tokens.weight"][ids] * table
    if positions:
        x = x + w["positions.weight"][_places(n_old, n_new, start)]
    mask, stored = _may_attend(n_old, n_new, see), []

    def add(x, f, p):
        at = p["weight"], p["bias"], 1e-5
        if form == "pre":
            return x + f(oracle.layer_norm(x, *at))
        return oracle.layer_norm(x + f(x), *at)

    for i in range(L):
        p, old = oracle.part(w, f"blocks.{i}"), 0 if layers == "first" else i
        past = keys[old], values[old]

        def attend(x, p=p, past=past):
            heads = {
                n: _linear(x, p, f"attention.{n}_proj")
                .reshape(*x.shape[:2], H, D // H)
                .swapaxes(1, 2)
                for n in "qkv"
            }
            new = [(heads["k"], heads["v"]), past]
            pairs = zip(*(new if order == "front" else new[::-1]), strict=True)
            k, v = (np.concatenate(pair, axis=-2) for pair in pairs)
            stored.append((heads["k"], heads["v"]) if give == "new" else (k, v))
            z, _ = oracle.attention(heads["q"] * scale, k, v, mask)
            z = z.swapaxes(1, 2).reshape(x.shape)
            return _linear(z, p, "attention.o_proj")

        def think(x, p=p):
            hidden = oracle.activate(_linear(x, p, "feed_forward.up"), "gelu")
            return _linear(hidden, p, "feed_forward.down")

        for name, f in zip(_PARTS, (attend, think), strict=True):
            x = add(x, f, oracle.part(p, f"{name}_norm"))
    if norm:
        x = oracle.layer_norm(x, w["norm.weight"], w["norm.bias"], 1e-5)
    logits = x @ w["tokens.weight"].T
    if out == "probabilities":
        logits = np.exp(logits - logits.max(axis=-1, keepdims=True))
        logits = logits / logits.sum(axis=-1, keepdims=True)
    k, v = (np.stack(part) for part in zip(*stored, strict=True))
    return (logits, v, k) if give == "swapped" else (logits, k, v)


def _linear(x, w, name):
    return x @ w[f"{name}.weight"].T + w[f"{name}.bias"]


GPT = Exercise(
    call="model(ids, keys, values), which returns (logits, keys, values), built with "
    f"(vocab_size, max_len, d_model, n_layers, n_heads) = ({V}, {N}, {D}, {L}, {H})",
    build=(V, N, D, L, H),
    weights=_gpt_weights,
    cases=_gpt_cases,
    oracle=_gpt,
    mistaken=_gpt,
    slips={
        "positions are counted from 0 in each call; they must go on behind the stored "
        "tokens": {"start": "0"},
        "positions are counted from 1; the first token stands at 0": {"start": "1"},
        "the positions are not added": {"positions": False},
        "the causal mask is missing: positions see the tokens behind them": {
            "see": "all"
        },
        "the mask lines up the first query with the first key; the last query must "
        "stand at the last key": {"see": "first"},
        "the stored keys and values are not attended to": {"see": "new"},
        "the new keys and values stand in front of the stored ones; they belong "
        "behind": {"order": "front"},
        "every layer reads the first layer's cache; each has its own": {
            "layers": "first"
        },
        "only the new keys and values are returned; the stored ones come first": {
            "give": "new"
        },
        "the norm behind the last block is missing": {"norm": False},
        "this is post-norm: the norm must stand before attention and before the "
        "feed-forward layer": {"form": "post"},
        "the scores are not divided by sqrt(d_head)": {"scale": math.sqrt(D // H)},
        "the scores are divided by sqrt(d_model); each head is only d_model / n_heads "
        "wide": {"scale": 1 / math.sqrt(H)},
        "the token vectors are multiplied by sqrt(d_model), as in the first "
        "transformer; GPT adds them as they are": {"table": math.sqrt(D)},
        "these are probabilities; logits are asked for": {"out": "probabilities"},
        "keys and values have changed places; return (logits, keys, values)": {
            "give": "swapped"
        },
    },
)


EXERCISES = {
    "next_token_pairs": NEXT_TOKEN_PAIRS,
    "next_token_loss": NEXT_TOKEN_LOSS,
    "gpt": GPT,
}
CHALLENGES = {"next_code": NEXT_CODE}
