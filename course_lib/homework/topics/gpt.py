"""Exercises on language models: the loss of a text, GPT with a cache."""

import math

import numpy as np

from course_lib import oracle
from course_lib.homework import exercise as piece
from course_lib.homework.challenge import CHALLENGES
from course_lib.homework.exercise import EXERCISES, Exercise, softmax
from course_lib.homework.ledgers import NEXT_CODE


def _cases(rng):
    def case(n, t, v):
        return rng.standard_normal((n, t, v)) * 2, rng.integers(0, v, (n, t))

    return {
        "two texts of three words": case(2, 3, 5),
        "one text of seven words": case(1, 7, 2),
        "three texts of five words": case(3, 5, 11),
    }


def _loss(logits, ids):
    log_p = np.log(softmax(logits))[:, :-1]
    scores = -np.take_along_axis(log_p, ids[:, 1:, None], axis=-1)[..., 0]
    return scores.mean()


EXERCISES["next_token_loss"] = Exercise(
    call="f(logits, ids)",
    cases=_cases,
    oracle=_loss,
    forbidden=(piece.PACKAGE, *piece.CROSS_ENTROPY),
    slips={
        "each row is asked for its own token; it must be asked for the next": (
            "[:, :-1] ->; ids[:, 1:, None] -> ids[..., None]"
        ),
        "each row is asked for the token before it; it must be the one after": (
            "[:, :-1] -> [:, 1:]; ids[:, 1:, None] -> ids[:, :-1, None]"
        ),
        "the last row is asked for the first token; it has no target": (
            "[:, :-1] ->; ids[:, 1:, None] -> np.roll(ids, -1, axis=1)[..., None]"
        ),
        "these are sums over the positions; the mean is asked for": (
            "scores.mean() -> scores.sum(1).mean()"
        ),
        "this is the sum over all targets; the mean is asked for": (
            "scores.mean() -> scores.sum()"
        ),
        "the mean is over all rows, also over the last, which has no target": (
            "scores.mean() -> (scores.sum() / ids.size)"
        ),
        "these are the losses of the tokens; their mean is asked for": ".mean() ->",
        "this is in bits; nats are asked for": "return -> return 1 / math.log(2) *",
        "this is the perplexity; its logarithm is asked for": (
            "return -> return math.e **"
        ),
        "the sign is wrong: a loss is minus a log probability": "-np.take -> np.take",
        "the softmax is missing: logits are not log probabilities": (
            "np.log(softmax(logits)) -> logits"
        ),
    },
)

V, N, D, L, H = 11, 13, 12, 2, 3  # vocabulary, positions, width, layers, heads
_PARTS = ("attention", "feed_forward")


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


def _gpt_cases(rng):
    def behind(batch, old, new):
        stored = rng.standard_normal((2, L, batch, H, old, D // H))
        return rng.integers(0, V, (batch, new)), *stored

    return {
        "two texts from their start": (rng.integers(0, V, (2, 7)), None, None),
        "one token behind five": behind(2, 5, 1),
        "three tokens behind four": behind(1, 4, 3),
    }


def _linear(w, name, x):
    return x @ w[f"{name}.weight"].T + w[f"{name}.bias"]


def _norm(w, name, x):
    return oracle.layer_norm(x, w[f"{name}.weight"], w[f"{name}.bias"], 1e-5)


def _attend(w, x, keys, values):
    n, n_old = x.shape[1], keys.shape[-2]
    q, k, v = (
        _linear(w, f"{p}_proj", x).reshape(-1, n, H, D // H).swapaxes(1, 2)
        for p in "qkv"
    )
    all_k = np.concatenate([keys, k], axis=-2)
    all_v = np.concatenate([values, v], axis=-2)
    mask = np.tri(n, n_old + n, n_old) > 0
    heads, _ = oracle.attention(q, all_k, all_v, mask)
    return _linear(w, "o_proj", heads.swapaxes(1, 2).reshape(x.shape)), all_k, all_v


def _mlp(w, x):
    return _linear(w, "down", oracle.activate(_linear(w, "up", x), "gelu"))


def _gpt(w, ids, keys, values):
    if keys is None:
        keys = values = np.zeros((L, len(ids), H, 0, D // H))
    places = keys.shape[-2] + np.arange(ids.shape[1])
    x = w["tokens.weight"][ids] + w["positions.weight"][places]
    cache = []
    for i in range(L):
        block = oracle.part(w, f"blocks.{i}")
        attention, mlp = (oracle.part(block, p) for p in _PARTS)
        h = _norm(block, "attention_norm", x)
        z, *stored = _attend(attention, h, keys[i], values[i])
        x = x + z
        x = x + _mlp(mlp, _norm(block, "feed_forward_norm", x))
        cache.append(stored)
    logits = _norm(w, "norm", x) @ w["tokens.weight"].T
    keys, values = (np.stack(part) for part in zip(*cache, strict=True))
    return logits, keys, values


EXERCISES["gpt"] = Exercise(
    call="model(ids, keys, values), which returns (logits, keys, values), built with "
    f"(vocab_size, max_len, d_model, n_layers, n_heads) = ({V}, {N}, {D}, {L}, {H})",
    build=(V, N, D, L, H),
    weights=_gpt_weights,
    cases=_gpt_cases,
    oracle=_gpt,
    equation=(_attend, _gpt),
    needs=piece.LAYER_NORM,
    slips={
        "positions are counted from 0 in each call; they must go on behind the stored "
        "tokens": "keys.shape[-2] + np.arange -> np.arange",
        "positions are counted from 1; the first token stands at 0": (
            "places = keys.shape[-2] + -> places = keys.shape[-2] + 1 +"
        ),
        "the positions are not added": ' + w["positions.weight"][places] ->',
        "the causal mask is missing: positions see the tokens behind them": (
            "n_old) > 0 -> n_old) >= 0"
        ),
        "the mask lines up the first query with the first key; the last query must "
        "stand at the last key": "n_old + n, n_old) -> n_old + n)",
        "the stored keys and values are not attended to": (
            "mask = -> mask = (np.arange(n_old + n) >= n_old) *"
        ),
        "the new keys and values stand in front of the stored ones; they belong "
        "behind": "[keys, k] -> [k, keys]; [values, v] -> [v, values]",
        "every layer reads the first layer's cache; each has its own": (
            "keys[i], values[i] -> keys[0], values[0]"
        ),
        "only the new keys and values are returned; the stored ones come first": (
            "(x.shape)), all_k, all_v -> (x.shape)), k, v"
        ),
        "the norm behind the last block is missing": '_norm(w, "norm", x) -> x',
        "this is post-norm: the norm must stand before attention and before the "
        "feed-forward layer": (
            'h = _norm(block, "attention_norm", x) -> h = x; '
            'x = x + z -> x = _norm(block, "attention_norm", x + z); '
            'x + _mlp(mlp, _norm(block, "feed_forward_norm", x)) -> '
            '_norm(block, "feed_forward_norm", x + _mlp(mlp, x))'
        ),
        "the scores are not divided by sqrt(d_head)": (
            "oracle.attention(q -> oracle.attention(q * math.sqrt(D // H)"
        ),
        "the scores are divided by sqrt(d_model); each head is only d_model / n_heads "
        "wide": "oracle.attention(q -> oracle.attention(q / math.sqrt(H)",
        "the token vectors are multiplied by sqrt(d_model), as in the first "
        "transformer; GPT adds them as they are": "x = w -> x = math.sqrt(D) * w",
        "these are probabilities; logits are asked for": (
            "return logits -> return softmax(logits)"
        ),
        "keys and values have changed places; return (logits, keys, values)": (
            "keys, values = (np -> values, keys = (np"
        ),
    },
)
CHALLENGES["next_code"] = NEXT_CODE
