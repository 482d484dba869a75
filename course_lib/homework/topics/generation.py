"""Exercises on generation: what is kept of the next token, and the cache."""

import math

import numpy as np

from course_lib import oracle
from course_lib.homework import exercise as piece
from course_lib.homework.exercise import EXERCISES, Exercise, softmax
from course_lib.homework.toy_model import ToyModel

# What draws by itself, also where its random numbers are replaced.
_DRAWS = ("multinomial", "categorical", "choice")


def _kept_of(z, kept):
    share = np.where(kept, softmax(z), 0)
    return share / share.sum(-1, keepdims=True)


_KEPT_SLIPS = {
    "what is kept no longer sums to 1; divide by its sum": (
        " / share.sum(-1, keepdims=True) ->"
    ),
    "a score of 0 still gets weight; set what is out to -inf": (
        "np.where(kept, softmax(z), 0) -> softmax(np.where(kept, z, 0))"
    ),
}


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


def _top_p(z, p):
    share = softmax(z)
    order = np.argsort(-share, axis=-1, kind="stable")
    ordered = np.take_along_axis(share, order, -1)
    before = ordered.cumsum(-1) - ordered
    kept = before < p
    return _kept_of(z, np.take_along_axis(kept, np.argsort(order, axis=-1), -1))


EXERCISES["top_p"] = Exercise(
    call="f(logits, p)",
    cases=_top_p_cases,
    oracle=lambda z, p: softmax(np.apply_along_axis(oracle.keep_top_p, -1, z, p)),
    equation=(_kept_of, _top_p),
    slips={
        "the token that carries the sum past p is left out; it belongs to the set": (
            "before < p -> before + ordered <= p"
        ),
        **_KEPT_SLIPS,
        "the sum runs in the order of the ids; it must start with the likeliest": (
            "-share -> 0 * share"
        ),
        "the sum starts with the least likely token": "-share -> share",
        "the probabilities are still in sorted order; bring them back to their ids": (
            "_kept_of(z, np.take_along_axis(kept, np.argsort(order, axis=-1), -1)) -> "
            "_kept_of(np.log(ordered), kept)"
        ),
        "each token is compared with p alone; it is the running sum that counts": (
            "before < p -> ordered >= p"
        ),
        "tokens are compared with the likeliest one (that is min-p); top-p adds up": (
            "before < p -> ordered >= p * ordered.max(-1, keepdims=True)"
        ),
        "nothing was left out": "before < p -> before < 2",
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


def _draw(z, u):
    sums = softmax(z).cumsum(-1)
    return (sums <= u[:, None]).sum(-1)


EXERCISES["draw"] = Exercise(
    call="f(logits, uniform)",
    cases=_draw_cases,
    oracle=lambda z, u: np.array(
        [oracle.sample(row, float(one)) for row, one in zip(z, u, strict=True)]
    ),
    equation=(_draw,),
    forbidden=(piece.PACKAGE, *_DRAWS),
    slips={
        "the likeliest token is taken whatever the number says": (
            "(sums <= u[:, None]).sum(-1) -> z.argmax(-1)"
        ),
        "a number on the edge between two shares belongs to the second; a forbidden "
        "token has no share": "<= -> <",
        "one token too far: the first whose sum passes the number is asked for": (
            "return -> return 1 +"
        ),
        "these are places in a sorted list; return ids": (
            "softmax(z) -> softmax(-np.sort(-z))"
        ),
        "the scores are exponentiated but not divided by their sum": (
            "softmax(z) -> np.exp(z)"
        ),
        "each probability is compared with the number; it is the running sum that "
        "counts": ".cumsum(-1) ->",
        "the shares are laid out from the last token backwards": (
            "softmax(z) -> softmax(z[:, ::-1]); return -> return z.shape[-1] - 1 -"
        ),
    },
)


def _rule_cases(rng):
    def pair(*shape):
        return tuple(softmax(1.5 * rng.standard_normal((2, *shape))))

    p, q = pair(3, 7)
    p[:, 2] = 0  # a token that the target never writes
    return {
        "one place": pair(5),
        "a batch": pair(2, 3, 7),
        "a token that the target never writes": (p / p.sum(-1, keepdims=True), q),
    }


def _speculative_rule(p, q):
    kept = np.minimum(p / q, 1)
    rest = np.maximum(p - q, 0)
    return kept, rest / rest.sum(-1, keepdims=True)


def _rule_of_rows(p, q):
    rows = zip(p.reshape(-1, p.shape[-1]), q.reshape(-1, p.shape[-1]), strict=True)
    found = np.array([oracle.speculative_rule(*row) for row in rows])
    return found[:, 0].reshape(p.shape), found[:, 1].reshape(p.shape)


EXERCISES["speculative_rule"] = Exercise(
    call="f(p, q), which returns (kept, rest)",
    cases=_rule_cases,
    oracle=_rule_of_rows,
    equation=(_speculative_rule,),
    slips={
        "the ratio is upside down; a token is kept with p / q": "p / q -> q / p",
        "a probability above 1; what p has more of is always kept": (
            "np.minimum(p / q, 1) -> p / q"
        ),
        "this is the probability to draft and keep; divide by q": (
            "np.minimum(p / q, 1) -> np.minimum(p, q)"
        ),
        "after a rejection, draw from what p has more of, not from p itself": (
            "np.maximum(p - q, 0) -> p"
        ),
        "what p has less of is drawn; it is p - q that counts": (
            "np.maximum(p - q, 0) -> np.maximum(q - p, 0)"
        ),
        "the absolute difference is drawn from; where q is larger it must be 0": (
            "np.maximum(p - q, 0) -> np.abs(p - q)"
        ),
        "the rest does not sum to 1; divide by its sum": (
            " / rest.sum(-1, keepdims=True) ->"
        ),
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


def _cached_attention(q, k, v, keys, values):
    all_k = np.concatenate([keys, k], axis=-2)
    all_v = np.concatenate([values, v], axis=-2)
    output = softmax(q @ all_k.mT / math.sqrt(q.shape[-1])) @ all_v
    return output, all_k, all_v


EXERCISES["cached_attention"] = Exercise(
    call="f(q, k, v, keys, values), which returns (output, keys, values)",
    cases=_cache_cases,
    oracle=lambda q, k, v, keys, values: (
        oracle.attention(
            q, *(np.concatenate(p, axis=-2) for p in ((keys, k), (values, v)))
        )[0],
        np.concatenate((keys, k), axis=-2),
        np.concatenate((values, v), axis=-2),
    ),
    equation=(_cached_attention,),
    forbidden=(piece.PACKAGE, *piece.ATTENTION),
    slips={
        "the new key and value stand in front of the old; they belong behind": (
            "[keys, k] -> [k, keys]; [values, v] -> [v, values]"
        ),
        "the new value stands in front of the old, so values no longer fit their "
        "keys": "[values, v] -> [v, values]",
        "the cache is not used: the query attends to its own token alone": (
            "q @ all_k -> q @ k; @ all_v -> @ v"
        ),
        "the query does not see its own key and value; append them first": (
            "q @ all_k -> q @ keys; @ all_v -> @ values"
        ),
        "the cache is handed back as it came; append the new key and value": (
            "output, all_k, all_v -> output, keys, values"
        ),
        "keys and values have changed places; return (output, keys, values)": (
            "output, all_k, all_v -> output, all_v, all_k"
        ),
        "the scores are not divided by sqrt(d)": " / math.sqrt(q.shape[-1]) ->",
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


def _generate(model, prompt, uniform, cached):
    text = prompt
    logits, *cache = model.read(prompt)
    for t in range(uniform.shape[1]):
        last = logits[:, -1]
        sums = softmax(last).cumsum(-1)
        token = (sums <= uniform[:, [t]]).sum(-1, keepdims=True)
        text = np.concatenate([text, token], axis=1)
        if cached:
            logits, *cache = model.read(token, *cache)
        else:
            logits, *_ = model.read(text)
    return text[:, prompt.shape[1] :]


EXERCISES["generate"] = Exercise(
    call="f(model, prompt, uniform, cached)",
    cases=_generate_cases,
    oracle=_generate,
    forbidden=(piece.PACKAGE, *_DRAWS),
    slips={
        "the likeliest token is taken; draw with the numbers": (
            "(sums <= uniform[:, [t]]).sum(-1, -> last.argmax(-1,"
        ),
        "the first number of a row is used for every token; the t-th token takes the "
        "t-th": "[t] -> [0]",
        "the logits of the first position are used; the last position tells about the "
        "next token": "logits[:, -1] -> logits[:, 0]",
        "every token is drawn from the distribution behind the prompt; read each new "
        "token before you draw the next": (
            "if cached -> if None; model.read(text) -> [logits]"
        ),
        "every call gets the prompt's keys and values; hand over those that the last "
        "call returned": "*cache = model.read(token -> *_ = model.read(token",
        "the last token of the prompt is read twice: its logits came with the prompt": (
            "model.read(prompt) -> model.read(prompt[:, -1:], *model.read(prompt)[1:]) "
            "if cached else model.read(prompt)"
        ),
        "the prompt is returned, too; return the new tokens": (
            "prompt.shape[1] : -> :"
        ),
    },
)
