"""Exercises on language models: the loss of a text, in nats and in bits per byte."""

import math

import numpy as np

from course_lib.homework.marking import Exercise


def _cases(rng):
    def case(n, t, v):
        return rng.standard_normal((n, t, v)) * 2, rng.integers(0, v, (n, t))

    return {
        "two texts of three words": case(2, 3, 5),
        "one text of seven words": case(1, 7, 2),
        "three texts of five words": case(3, 5, 11),
    }


def _scores(logits, ids):
    log_p = logits - logits.max(axis=-1, keepdims=True)
    log_p = log_p - np.log(np.exp(log_p).sum(axis=-1, keepdims=True))
    return -np.take_along_axis(log_p, ids[..., None], axis=-1)[..., 0]


def _loss(logits, ids):
    return _scores(logits[:, :-1], ids[:, 1:]).mean()


NEXT_TOKEN_LOSS = Exercise(
    call="f(logits, ids)",
    cases=_cases,
    oracle=_loss,
    slips={
        "each row is asked for its own token; it must be asked for the next": (
            lambda z, i: _scores(z, i).mean()
        ),
        "each row is asked for the token before it; it must be the one after": (
            lambda z, i: _scores(z[:, 1:], i[:, :-1]).mean()
        ),
        "the last row is asked for the first token; it has no target": (
            lambda z, i: _scores(z, np.roll(i, -1, axis=1)).mean()
        ),
        "these are sums over the positions; the mean is asked for": (
            lambda z, i: _scores(z[:, :-1], i[:, 1:]).sum(axis=1).mean()
        ),
        "the mean is over all rows, also over the last, which has no target": (
            lambda z, i: _scores(z[:, :-1], i[:, 1:]).sum() / i.size
        ),
        "this is in bits; nats are asked for": (lambda z, i: _loss(z, i) / math.log(2)),
        "this is the perplexity; its logarithm is asked for": (
            lambda z, i: np.exp(_loss(z, i))
        ),
        "the sign is wrong: a loss is minus a log probability": (
            lambda z, i: -_loss(z, i)
        ),
        "the softmax is missing: logits are not log probabilities": (
            lambda z, i: -np.take_along_axis(z[:, :-1], i[:, 1:, None], -1).mean()
        ),
    },
)

EXERCISES = {"next_token_loss": NEXT_TOKEN_LOSS}
