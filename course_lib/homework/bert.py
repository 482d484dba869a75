"""Exercises on BERT: what a text looks like once words of it are hidden."""

import numpy as np

from course_lib.homework.marking import Exercise

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


def _cover(ids, chosen, fate, words, *, mask=0.8, random=0.9, keep=None):
    """Fates below `mask` show [MASK], below `random` the random word, else the word."""
    shown = np.where(fate < mask, _MASK, np.where(fate < random, words, ids))
    return np.where(chosen, shown, ids if keep is None else keep)


COVER_WORDS = Exercise(
    call="f(ids, chosen, fate, words)",
    cases=_cases,
    oracle=_cover,
    slips={
        "words that were not chosen are covered too": (
            lambda i, c, f, w: _cover(i, np.ones_like(c), f, w)
        ),
        "every chosen word became [MASK]; a fifth of them must not": (
            lambda i, c, f, w: _cover(i, c, f, w, mask=1.0)
        ),
        "the last tenth shows a random word; it must show the word itself": (
            lambda i, c, f, w: _cover(i, c, f, w, random=1.0)
        ),
        "no chosen word is replaced by a random one; a tenth must be": (
            lambda i, c, f, w: _cover(i, c, f, w, random=0.8)
        ),
        "random words and the words themselves have changed places": (
            lambda i, c, f, w: np.where(
                c & (f >= 0.8), np.where(f < 0.9, i, w), _cover(i, c, f, w)
            )
        ),
        "[MASK] is shown with probability 0.1 and the random word with 0.8": (
            lambda i, c, f, w: np.where(
                c, np.where(f < 0.1, _MASK, np.where(f < 0.9, w, i)), i
            )
        ),
        "what was not chosen became [MASK], and the chosen words stayed": (
            lambda i, c, f, w: _cover(i, ~c, f, w)
        ),
        "what is returned are the targets (-100 where no word is asked for)": (
            lambda i, c, f, w: np.where(c, i, -100)
        ),
    },
)

EXERCISES = {"cover_words": COVER_WORDS}
