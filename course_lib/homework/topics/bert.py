"""Exercises on masked language modeling (BERT): corruption, targets and loss."""

import numpy as np

from course_lib.homework import exercise as piece
from course_lib.homework.challenge import CHALLENGES
from course_lib.homework.exercise import EXERCISES, Exercise, softmax
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


def _cover(ids, chosen, fate, words):
    shown = np.where(fate < 0.8, _MASK, np.where(fate < 0.9, words, ids))
    return np.where(chosen, shown, ids)


EXERCISES["cover_words"] = Exercise(
    call="f(ids, chosen, fate, words)",
    cases=_cases,
    oracle=_cover,
    slips={
        "words that were not chosen are covered too": "where(chosen -> where(True",
        "every chosen word became [MASK]; a fifth of them must not": "0.8 -> 1",
        "the last tenth shows a random word; it must show the word itself": "0.9 -> 1",
        "no chosen word is replaced by a random one; a tenth must be": "0.9 -> 0.8",
        "random words and the words themselves have changed places": (
            "words, ids)) -> ids, words))"
        ),
        "[MASK] is shown with probability 0.1 and the random word with 0.8": (
            "0.8 -> 0.1"
        ),
        "what was not chosen became [MASK], and the chosen words stayed": (
            "where(chosen -> where(~chosen"
        ),
        "what is returned are the targets (-100 where no word is asked for)": (
            "chosen, shown, ids -> chosen, ids, -100"
        ),
    },
)


def _targets(ids, chosen):
    return np.where(chosen, ids, -100)


EXERCISES["mlm_targets"] = Exercise(
    call="f(ids, chosen)",
    cases=lambda rng: {name: case[:2] for name, case in _cases(rng).items()},
    oracle=_targets,
    slips={
        "every word is a target; only the chosen ones are": "-100 -> ids",
        "the chosen words are left out, and the others are targets": (
            "ids, -100 -> -100, ids"
        ),
        "0 is the id of a token; -100 is what the loss leaves out": "-100 -> 0",
        "the chosen words are [MASK] here; the target is the word itself": (
            "ids, -100 -> _MASK, -100"
        ),
        "these are the inputs, with [MASK] where words were chosen": (
            "ids, -100 -> _MASK, ids"
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


def _masked_loss(logits, targets):
    asked = targets != -100
    ids = np.where(asked, targets, 0)
    log_p = np.log(softmax(logits))
    losses = -np.take_along_axis(log_p, ids[..., None], axis=-1)[..., 0] * asked
    return losses.sum() / asked.sum()


EXERCISES["masked_loss"] = Exercise(
    call="f(logits, targets)",
    cases=_loss_cases,
    oracle=_masked_loss,
    forbidden=(piece.PACKAGE, *piece.CROSS_ENTROPY),
    slips={
        "the sum is divided by all positions; divide by those that have a target": (
            "/ asked.sum() -> / asked.size"
        ),
        "this is the sum; the mean is asked for": " / asked.sum() ->",
        "each text counts the same; each target must": (
            "losses.sum() / asked.sum() -> (losses.sum(1) / asked.sum(1)).mean()"
        ),
        "positions without a target are asked for word 0; leave them out": (
            "targets, 0) -> targets, 0)\n    asked = asked | True"
        ),
        "each target is asked of the row before it; here nothing is shifted": (
            "asked = -> logits, targets = logits[:, :-1], targets[:, 1:]\n    asked ="
        ),
        "the softmax is missing: logits are not log probabilities": (
            "np.log(softmax(logits)) -> logits"
        ),
        "the sign is wrong: a loss is minus a log probability": "-np.take -> np.take",
    },
)

CHALLENGES["missing_codes"] = MISSING_CODES
