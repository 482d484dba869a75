"""Exercises on the next token: the set that top-p keeps, and a draw from what stays."""

import numpy as np

from course_lib import oracle
from course_lib.homework.marking import Exercise


def _softmax(scores: np.ndarray) -> np.ndarray:
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


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


def _right(logits: np.ndarray, p: float) -> np.ndarray:
    kept = np.apply_along_axis(oracle.keep_top_p, -1, logits, p)
    return np.apply_along_axis(oracle.softmax, -1, kept)


def _ranked(logits: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Probabilities in falling order, their running sum, and the way back."""
    probabilities = _softmax(logits)
    order = np.argsort(-probabilities, axis=-1, kind="stable")
    ordered = np.take_along_axis(probabilities, order, -1)
    return ordered, ordered.cumsum(-1), np.argsort(order, axis=-1)


def _keep(logits: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """Renormalize what is kept; nothing kept is 0/0."""
    share = np.where(kept, _softmax(logits), 0)
    return share / share.sum(-1, keepdims=True)


def _without_crossing(logits, p):
    _, reached, back = _ranked(logits)
    return _keep(logits, np.take_along_axis(reached <= p, back, -1))


def _smallest_first(logits, p):
    probabilities = _softmax(logits)
    order = np.argsort(probabilities, axis=-1, kind="stable")
    ordered = np.take_along_axis(probabilities, order, -1)
    kept = ordered.cumsum(-1) - ordered < p
    return _keep(logits, np.take_along_axis(kept, np.argsort(order, axis=-1), -1))


def _in_order_of_ids(logits, p):
    share = _softmax(logits)
    return _keep(logits, share.cumsum(-1) - share < p)


def _left_in_order(logits, p):
    ordered, reached, _ = _ranked(logits)
    share = np.where(reached - ordered < p, ordered, 0)
    return share / share.sum(-1, keepdims=True)


def _zero_scores(logits, p):
    return _softmax(np.where(_right(logits, p) > 0, logits, 0))


TOP_P = Exercise(
    call="f(logits, p)",
    cases=_top_p_cases,
    oracle=_right,
    slips={
        "the token that carries the sum past p is left out; it belongs to the set": (
            _without_crossing
        ),
        "what is kept no longer sums to 1; divide by its sum": (
            lambda z, p: np.where(_right(z, p) > 0, _softmax(z), 0)
        ),
        "a score of 0 still gets weight; set what is out to -inf": _zero_scores,
        "the sum runs in the order of the ids; it must start with the likeliest": (
            _in_order_of_ids
        ),
        "the sum starts with the least likely token": _smallest_first,
        "the probabilities are still in sorted order; bring them back to their ids": (
            _left_in_order
        ),
        "each token is compared with p alone; it is the running sum that counts": (
            lambda z, p: _keep(z, _softmax(z) >= p)
        ),
        "tokens are compared with the likeliest one (that is min-p); top-p adds up": (
            lambda z, p: _keep(z, _softmax(z) >= p * _softmax(z).max(-1, keepdims=True))
        ),
        "nothing was left out": lambda z, p: _softmax(z),
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


def _count(passed: np.ndarray) -> np.ndarray:
    return passed.sum(-1).astype(np.float64)


def _drawn(logits: np.ndarray, uniform: np.ndarray) -> np.ndarray:
    pairs = zip(logits, uniform, strict=True)
    return np.array([float(oracle.sample(row, float(u))) for row, u in pairs])


DRAW = Exercise(
    call="f(logits, uniform)",
    cases=_draw_cases,
    oracle=_drawn,
    slips={
        "the likeliest token is taken whatever the number says": (
            lambda z, u: z.argmax(-1).astype(np.float64)
        ),
        "a number on the edge between two shares belongs to the second; a forbidden "
        "token has no share": lambda z, u: _count(_reached(z) < u[:, None]),
        "one token too far: the first whose sum passes the number is asked for": (
            lambda z, u: _count(_reached(z) <= u[:, None]) + 1
        ),
        "these are places in a sorted list; return ids": (
            lambda z, u: _count(_reached(-np.sort(-z, axis=-1)) <= u[:, None])
        ),
        "the scores are exponentiated but not divided by their sum": (
            lambda z, u: _count(np.exp(z).cumsum(-1) <= u[:, None])
        ),
        "each probability is compared with the number; it is the running sum that "
        "counts": lambda z, u: _count(_softmax(z) <= u[:, None]),
        "the shares are laid out from the last token backwards": (
            lambda z, u: z.shape[-1] - 1 - _count(_reached(z[..., ::-1]) <= u[:, None])
        ),
    },
)

EXERCISES = {"draw": DRAW, "top_p": TOP_P}
