"""Exercises on masked language modeling (BERT): corruption, targets and loss."""

import numpy as np

from course_lib.homework.exercise import Exercise
from course_lib.homework.gpt import NEXT_TOKEN_LOSS
from course_lib.homework.ledgers import MISSING_CODES

_MASK = 3


def _cases(rng):
    def case(n, t, v, share=0.4):
        ids = rng.integers(4, v, (n, t))
        chosen = rng.random((n, t)) < share
        return ids, chosen, rng.random((n, t)), rng.integers(4, v, (n, t))

    return {
        "two texts of seven words": case(2, 7, 29),
        "eleven texts of thirteen words": case(11, 13, 53),
        "every word chosen": case(5, 17, 31, share=2.0),
    }


def _cover(ids, chosen, fate, words, *, mask=0.8, random=0.9, at="chosen", swap=False):
    """Fates below `mask` show [MASK], below `random` the random word, else the word."""
    between, above = (ids, words) if swap else (words, ids)
    shown = np.where(fate < mask, _MASK, np.where(fate < random, between, above))
    places = {"chosen": chosen, "all": chosen | True, "others": ~chosen}[at]
    return np.where(places, shown, ids)


COVER_WORDS = Exercise(
    call="f(ids, chosen, fate, words)",
    cases=_cases,
    oracle=_cover,
    mistaken=_cover,
    slips={
        "words that were not chosen are covered too": {"at": "all"},
        "every chosen word became [MASK]; a fifth of them must not": {"mask": 1.0},
        "the last tenth shows a random word; it must show the word itself": {
            "random": 1.0
        },
        "no chosen word is replaced by a random one; a tenth must be": {"random": 0.8},
        "random words and the words themselves have changed places": {"swap": True},
        "[MASK] is shown with probability 0.1 and the random word with 0.8": {
            "mask": 0.1
        },
        "what was not chosen became [MASK], and the chosen words stayed": {
            "at": "others"
        },
        "what is returned are the targets (-100 where no word is asked for)": (
            lambda i, c, f, w: np.where(c, i, -100)
        ),
    },
)

MLM_TARGETS = Exercise(
    call="f(ids, chosen)",
    cases=lambda rng: {name: case[:2] for name, case in _cases(rng).items()},
    oracle=lambda ids, chosen: np.where(chosen, ids, -100),
    slips={
        "every word is a target; only the chosen ones are": lambda i, c: i,
        "the chosen words are left out, and the others are targets": (
            lambda i, c: np.where(c, -100, i)
        ),
        "0 is the id of a token; -100 is what the loss leaves out": (
            lambda i, c: np.where(c, i, 0)
        ),
        "the chosen words are [MASK] here; the target is the word itself": (
            lambda i, c: np.where(c, _MASK, -100)
        ),
        "these are the inputs, with [MASK] where words were chosen": (
            lambda i, c: np.where(c, _MASK, i)
        ),
    },
)


def _loss_cases(rng):
    def case(n, t, v, kept):
        targets = rng.integers(0, v, (n, t))
        asked = np.zeros((n, t), dtype=bool)
        for row, n_asked in zip(asked, kept, strict=True):
            row[rng.permutation(t)[:n_asked]] = True
        logits = 2 * rng.standard_normal((n, t, v))
        return logits, np.where(asked, targets, -100)

    return {
        "two texts": case(2, 5, 7, (1, 3)),
        "three texts": case(3, 7, 11, (2, 1, 5)),
        "every word asked for": case(1, 3, 5, (3,)),
    }


def _masked_loss(z, targets, *, over="asked", normalize=True, sign=1, rest="out"):
    asked = targets != -100
    if normalize:
        z = z - z.max(axis=-1, keepdims=True)
        z = z - np.log(np.exp(z).sum(axis=-1, keepdims=True))
    if rest == "next":  # the row before is scored on each target
        z, targets, asked = z[:, :-1], targets[:, 1:], asked[:, 1:]
    ids = np.where(asked, targets, 0)
    losses = -sign * np.take_along_axis(z, ids[..., None], axis=-1)[..., 0]
    kept = np.ones_like(asked) if rest == "0" else asked
    sums, counts = (losses * kept).sum(axis=1), kept.sum(axis=1)
    return {
        "asked": sums.sum() / counts.sum(),
        "all": sums.sum() / ids.size,
        "texts": (sums / counts).mean(),
        "sum": sums.sum(),
    }[over]


MASKED_LOSS = Exercise(
    call="f(logits, targets)",
    cases=_loss_cases,
    oracle=_masked_loss,
    forbidden=NEXT_TOKEN_LOSS.forbidden,
    mistaken=_masked_loss,
    slips={
        "the sum is divided by all positions; divide by those that have a target": {
            "over": "all"
        },
        "this is the sum; the mean is asked for": {"over": "sum"},
        "each text counts the same; each target must": {"over": "texts"},
        "positions without a target are asked for word 0; leave them out": {
            "rest": "0"
        },
        "each target is asked of the row before it; here nothing is shifted": {
            "rest": "next"
        },
        "the softmax is missing: logits are not log probabilities": {
            "normalize": False
        },
        "the sign is wrong: a loss is minus a log probability": {"sign": -1},
    },
)

EXERCISES = {
    "cover_words": COVER_WORDS,
    "mlm_targets": MLM_TARGETS,
    "masked_loss": MASKED_LOSS,
}
CHALLENGES = {"missing_codes": MISSING_CODES}
