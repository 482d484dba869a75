"""Exercises on generation: what is kept of the next token, beams, and the cache."""

import math

import numpy as np

from course_lib import oracle
from course_lib.homework import exercise as piece
from course_lib.homework.exercise import Exercise
from course_lib.homework.toy_model import ToyModel


def _softmax(scores: np.ndarray) -> np.ndarray:
    most = scores.max(axis=-1, keepdims=True, initial=-np.inf)  # of nothing, too
    e = np.exp(scores - most)
    return e / e.sum(axis=-1, keepdims=True)


def _heated(z, t, *, heat="divide", out="probabilities"):
    if heat == "late":
        share = _softmax(z) / t
    elif heat == "power":
        share = _softmax(z) ** t
        share = share / share.sum(-1, keepdims=True)
    else:
        z = {"divide": z / t, "multiply": z * t, "root": z / math.sqrt(t), "no": z}[
            heat
        ]
        share = z if out == "logits" else _softmax(z)
    return share


TEMPERATURE = Exercise(
    call="f(logits, temperature)",
    cases=lambda rng: {
        "cold": (rng.standard_normal((3, 7)), 0.5),
        "hot": (rng.standard_normal((2, 5)), 3.0),
        "as it is": (rng.standard_normal(11), 1.0),
        "large logits": (200 * rng.standard_normal((2, 5)), 0.7),
    },
    oracle=_heated,
    mistaken=_heated,
    slips={
        "the logits are multiplied by the temperature, not divided": {
            "heat": "multiply"
        },
        "the temperature is not used": {"heat": "no"},
        "the probabilities are divided by the temperature; the logits must be": {
            "heat": "late"
        },
        "the logits are divided by the root of the temperature": {"heat": "root"},
        "these are logits; probabilities are asked for": {"out": "logits"},
        "exp overflows; subtract each row's largest score first": lambda z, t: (
            np.exp((z / t).astype(np.float32))
            / np.exp((z / t).astype(np.float32)).sum(-1, keepdims=True)
        ),
    },
)


def _kept_of(z, kept, out):
    """Probabilities of what is kept, or one of three mistakes in making them."""
    if out == "not divided":
        return np.where(kept, _softmax(z), 0)
    if out == "zero scores":
        return _softmax(np.where(kept, z, 0))
    share = np.where(kept, _softmax(z), 0)
    return share / share.sum(-1, keepdims=True)


def _top_k(z, k, *, more=0, largest=True, out="probabilities"):
    ranks = np.argsort(np.argsort(-z if largest else z, axis=-1), axis=-1)
    if out == "logits":
        return np.where(ranks < k, z, -np.inf)
    return _kept_of(z, ranks < k + more, out)


_NOT_DIVIDED = "what is kept no longer sums to 1; divide by its sum"
_ZERO_SCORES = "a score of 0 still gets weight; set what is out to -inf"

TOP_K = Exercise(
    call="f(logits, k)",
    cases=lambda rng: {
        "one distribution": (rng.standard_normal(11), 3),
        "a batch": (1.5 * rng.standard_normal((3, 7)), 2),
        "everything": (rng.standard_normal((2, 5)), 5),
        "only one": (rng.standard_normal((2, 5)), 1),
    },
    oracle=lambda z, k: _softmax(np.apply_along_axis(oracle.keep_top_k, -1, z, k)),
    mistaken=_top_k,
    slips={
        _NOT_DIVIDED: {"out": "not divided"},
        _ZERO_SCORES: {"out": "zero scores"},
        "one token too many is kept": {"more": 1},
        "one token too few is kept": {"more": -1},
        "the least likely tokens are kept": {"largest": False},
        "these are logits; probabilities are asked for": {"out": "logits"},
        "nothing was left out": lambda z, k: _softmax(z),
    },
)


def _top_p_cases(rng):
    def scores(*shape):
        return 1.5 * rng.standard_normal(shape)

    sharp = scores(3, 7)
    sharp[:, 4] += 6  # one token has more than p
    return {
        "one distribution": (0.5 * scores(11), 0.6),
        "a batch": (scores(5, 11), 0.8),
        "a small p": (scores(3, 13), 0.3),
        "one token has it all": (sharp, 0.5),
        "everything": (scores(2, 5), 1.0),
    }


def _top_p(z, p, *, order="falling", keep="crossing", out="probabilities"):
    share = _softmax(z)
    ranked = {"falling": -share, "rising": share, "ids": np.zeros_like(share)}[order]
    order_ids = np.argsort(ranked, axis=-1, kind="stable")
    ordered = np.take_along_axis(share, order_ids, -1)
    reached = ordered.cumsum(-1)
    kept = {
        "crossing": reached - ordered < p,
        "before": reached <= p,
        "alone": ordered >= p,
        "min-p": ordered >= p * ordered.max(-1, keepdims=True),
        "all": reached > -1,
    }[keep]
    if out == "sorted":
        ordered = np.where(kept, ordered, 0)
        return ordered / ordered.sum(-1, keepdims=True)
    back = np.argsort(order_ids, axis=-1)
    return _kept_of(z, np.take_along_axis(kept, back, -1), out)


TOP_P = Exercise(
    call="f(logits, p)",
    cases=_top_p_cases,
    oracle=lambda z, p: _softmax(np.apply_along_axis(oracle.keep_top_p, -1, z, p)),
    mistaken=_top_p,
    slips={
        "the token that carries the sum past p is left out; it belongs to the set": {
            "keep": "before"
        },
        _NOT_DIVIDED: {"out": "not divided"},
        _ZERO_SCORES: {"out": "zero scores"},
        "the sum runs in the order of the ids; it must start with the likeliest": {
            "order": "ids"
        },
        "the sum starts with the least likely token": {"order": "rising"},
        "the probabilities are still in sorted order; bring them back to their ids": {
            "out": "sorted"
        },
        "each token is compared with p alone; it is the running sum that counts": {
            "keep": "alone"
        },
        "tokens are compared with the likeliest one (that is min-p); top-p adds up": {
            "keep": "min-p"
        },
        "nothing was left out": {"keep": "all"},
    },
)


def _draw_cases(rng):
    some = 1.5 * rng.standard_normal((7, 5))
    some[:, 1] = -np.inf
    first_is_out = rng.standard_normal((3, 5))
    first_is_out[:, 0] = -np.inf
    return {
        "a batch": (1.5 * rng.standard_normal((13, 11)), rng.random(13)),
        "a forbidden token": (some, rng.random(7)),
        "0 was drawn, and the first token is forbidden": (first_is_out, np.zeros(3)),
    }


def _reached(logits: np.ndarray) -> np.ndarray:
    return _softmax(logits).cumsum(-1)


DRAW = Exercise(
    call="f(logits, uniform)",
    cases=_draw_cases,
    oracle=lambda z, u: np.array(
        [oracle.sample(row, float(one)) for row, one in zip(z, u, strict=True)]
    ),
    forbidden=(piece.PACKAGE, "multinomial", "categorical"),
    slips={
        "the likeliest token is taken whatever the number says": (
            lambda z, u: z.argmax(-1)
        ),
        "a number on the edge between two shares belongs to the second; a forbidden "
        "token has no share": lambda z, u: (_reached(z) < u[:, None]).sum(-1),
        "one token too far: the first whose sum passes the number is asked for": (
            lambda z, u: (_reached(z) <= u[:, None]).sum(-1) + 1
        ),
        "these are places in a sorted list; return ids": (
            lambda z, u: (_reached(-np.sort(-z, axis=-1)) <= u[:, None]).sum(-1)
        ),
        "the scores are exponentiated but not divided by their sum": (
            lambda z, u: (np.exp(z).cumsum(-1) <= u[:, None]).sum(-1)
        ),
        "each probability is compared with the number; it is the running sum that "
        "counts": lambda z, u: (_softmax(z) <= u[:, None]).sum(-1),
        "the shares are laid out from the last token backwards": (
            lambda z, u: z.shape[-1] - 1 - (_reached(z[:, ::-1]) <= u[:, None]).sum(-1)
        ),
    },
)


def _beam_cases(rng):
    def beams(k, v, n):
        log_p = np.log(_softmax(2 * rng.standard_normal((k, v))))
        return np.sort(-5 * rng.random(k))[::-1].copy(), log_p, n

    return {
        "two beams": beams(2, 5, 2),
        "one beam opens": beams(1, 7, 3),
        "more beams than tokens": beams(5, 3, 4),
    }


def _beam_step(scores, log_p, n, *, add="sum", rank="best", over="all", ids="split"):
    total = {
        "sum": scores[:, None] + log_p,
        "new": log_p,
        "product": scores[:, None] * log_p,
        "shares": np.exp(scores[:, None]) + np.exp(log_p),
        "old": scores[:, None] + 0 * log_p,
    }[add]
    width = log_p.shape[1]
    if over == "each beam":
        best = total.argmax(axis=1) + width * np.arange(len(total))
        flat = best[np.argsort(-total.ravel()[best], kind="stable")][:n]
    else:
        key = total.ravel() if rank == "worst" else -total.ravel()
        flat = np.argsort(key, kind="stable")[:n]
    flat = flat[::-1] if rank == "rising" else flat
    beams, tokens = {
        "split": (flat // width, flat % width),
        "swapped": (flat % width, flat // width),
        "flat": (flat // width, flat),
        "by beams": (flat // len(total), flat % len(total)),
    }[ids]
    return total.ravel()[flat], beams, tokens


BEAM_STEP = Exercise(
    call="f(scores, log_p, n), which returns (scores, beams, tokens), the best first",
    cases=_beam_cases,
    oracle=_beam_step,
    mistaken=_beam_step,
    slips={
        "the score so far is lost: add it to the log probability of the next token": {
            "add": "new"
        },
        "log probabilities are added, not multiplied": {"add": "product"},
        "probabilities are added; add their logarithms": {"add": "shares"},
        "each beam continues by its own best token; the n best of all continuations "
        "are asked for": {"over": "each beam"},
        "the worst continuations are kept": {"rank": "worst"},
        "the best stands last; it must stand first": {"rank": "rising"},
        "beams and tokens have changed places": {"ids": "swapped"},
        "the tokens are places in the flat list; take the remainder by the size of the "
        "vocabulary": {"ids": "flat"},
        "the places are divided by the number of beams; divide by the size of the "
        "vocabulary": {"ids": "by beams"},
    },
)


def _cache_cases(rng):
    def case(*batch, s=5, d=3, dv=7):
        q, k, v, old_k, old_v = (
            rng.standard_normal((*batch, *shape))
            for shape in ((1, d), (1, d), (1, dv), (s, d), (s, dv))
        )
        return q, k, v, old_k, old_v

    return {
        "a batch with heads": case(2, 3),
        "one sequence": case(s=7),
        "an empty cache": case(2, s=0),
    }


def _cached(q, k, v, keys, values, *, order="behind", scale=True, new=True, give="new"):
    join = [(keys, k), (values, v)]
    if order == "in front":
        join = [pair[::-1] for pair in join]
    if order == "front values":
        join[1] = join[1][::-1]
    all_k, all_v = (np.concatenate(pair, axis=-2) for pair in join)
    use_k, use_v = {True: (all_k, all_v), "only": (k, v), False: (keys, values)}[new]
    scores = q @ np.swapaxes(use_k, -1, -2)
    weights = _softmax(scores / math.sqrt(q.shape[-1]) if scale else scores)
    given = {"new": (all_k, all_v), "old": (keys, values), "swapped": (all_v, all_k)}
    return (weights @ use_v, *given[give])


CACHED_ATTENTION = Exercise(
    call="f(q, k, v, keys, values), which returns (output, keys, values)",
    cases=_cache_cases,
    oracle=lambda q, k, v, keys, values: (
        oracle.attention(
            q, *(np.concatenate(p, axis=-2) for p in ((keys, k), (values, v)))
        )[0],
        np.concatenate((keys, k), axis=-2),
        np.concatenate((values, v), axis=-2),
    ),
    forbidden=(piece.PACKAGE, *piece.ATTENTION),
    mistaken=_cached,
    slips={
        "the new key and value stand in front of the old; they belong behind": {
            "order": "in front"
        },
        "the new value stands in front of the old, so values no longer fit their "
        "keys": {"order": "front values"},
        "the cache is not used: the query attends to its own token alone": {
            "new": "only"
        },
        "the query does not see its own key and value; append them first": {
            "new": False
        },
        "the cache is handed back as it came; append the new key and value": {
            "give": "old"
        },
        "keys and values have changed places; return (output, keys, values)": {
            "give": "swapped"
        },
        "the scores are not divided by sqrt(d)": {"scale": False},
    },
)


def _generate_cases(rng):
    def case(batch, prompt, new, cached, v=7):
        tables = 1.5 * rng.standard_normal((2, v, v))
        model = ToyModel(tables[0], tables[1], prompt, cached)
        ids = rng.integers(0, v, (batch, prompt))
        return model, ids, rng.random((batch, new)), cached

    return {
        "with a cache": case(3, 5, 7, True),
        "without a cache": case(3, 5, 4, False),
        "a prompt of one token": case(2, 1, 11, True),
    }


def _generate(
    model,
    prompt,
    uniform,
    cached,
    *,
    choose="draw",
    number="own",
    at=-1,
    cache="new",
    twice=False,
    reads=True,
    give="new",
):
    text, first = prompt, model.read(prompt)
    logits, *stored = first
    for t in range(uniform.shape[1]):
        if cached and twice and t == 0:
            logits, *stored = model.read(text[:, -1:], *stored)
        share = _softmax(logits[:, at])
        drawn = uniform[:, [t if number == "own" else 0]]
        if choose == "greedy":
            token = share.argmax(-1)[:, None]
        else:
            token = (share.cumsum(-1) <= drawn).sum(-1, keepdims=True)
        text = np.concatenate([text, token], axis=1)
        if reads and cached:
            stored = stored if cache == "new" else first[1:]
            logits, *stored = model.read(token, *stored)
        elif reads:
            logits, *_ = model.read(text)
    return text if give == "all" else text[:, prompt.shape[1] :]


GENERATE = Exercise(
    call="f(model, prompt, uniform, cached)",
    cases=_generate_cases,
    oracle=_generate,
    forbidden=(piece.PACKAGE, "multinomial", "categorical"),
    mistaken=_generate,
    slips={
        "the likeliest token is taken; draw with the numbers": {"choose": "greedy"},
        "the first number of a row is used for every token; the t-th token takes the "
        "t-th": {"number": "first"},
        "the logits of the first position are used; the last position tells about the "
        "next token": {"at": 0},
        "every token is drawn from the distribution behind the prompt; read each new "
        "token before you draw the next": {"reads": False},
        "every call gets the prompt's keys and values; hand over those that the last "
        "call returned": {"cache": "prompt's"},
        "the last token of the prompt is read twice: its logits came with the prompt": {
            "twice": True
        },
        "the prompt is returned, too; return the new tokens": {"give": "all"},
    },
)

EXERCISES = {
    "temperature": TEMPERATURE,
    "top_k": TOP_K,
    "top_p": TOP_P,
    "draw": DRAW,
    "beam_step": BEAM_STEP,
    "cached_attention": CACHED_ATTENTION,
    "generate": GENERATE,
}
