"""Exercises on language models: the shift by one token, and the loss of a text."""

import math

import numpy as np

from course_lib.homework import exercise as piece
from course_lib.homework.exercise import Exercise


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

EXERCISES = {"next_token_pairs": NEXT_TOKEN_PAIRS, "next_token_loss": NEXT_TOKEN_LOSS}
