"""Pronouns with two candidates: sentences in pairs, one of each for either candidate.

The two sentences of a pair differ only in what decides. In "gender" and "number" that
is the pronoun, *he* or *she*, *it* or *they*. In "meaning" it is the last word, as in
*too tired* and *too wide*. Such pairs resemble Winograd schemas (Levesque et al. 2012),
which also exclude those that association solves.

A rule that does not read what decides gives both sentences of a pair the same noun, so
it is right in exactly one of them: always the first noun, always the nearest. The lists
in `pronouns.txt` were written before any model was tried on them: nouns, other nouns,
what stands between, and endings. No noun occurs twice in a sentence.
"""

from dataclasses import dataclass
from functools import cache
from importlib import resources

import numpy as np

from course_lib.checks import check_choice

__all__ = ["Pronoun", "pronouns"]

KINDS = ("gender", "number", "meaning")


@dataclass(frozen=True, kw_only=True)
class Pronoun:
    """A sentence with a pronoun, and the two nouns that it may stand for."""

    text: str  #: The sentence
    pronoun: str  #: The word whose noun is asked for
    antecedent: str  #: The noun that it stands for
    rival: str  #: The other noun


def pronouns(kind: str, n_pairs: int, *, seed: int) -> list[Pronoun]:
    """Draw pairs of sentences, all different, of one of the `KINDS`.

    The two of a pair follow each other: in the first the pronoun stands for the first
    noun, in the second for the second.
    """
    check_choice("kind", kind, KINDS)
    if n_pairs > 500:
        raise ValueError(f"n_pairs must be at most 500: got {n_pairs}.")
    rng = np.random.default_rng(seed)
    pairs: dict[tuple[Pronoun, Pronoun], None] = {}
    while len(pairs) < n_pairs:
        pairs[_meaning(rng) if kind == "meaning" else _agreeing(rng, kind)] = None
    return [sentence for pair in pairs for sentence in pair]


@cache
def _lists() -> list[list[str]]:
    """Lists of gender, of number, and then those of the meanings."""
    text = (resources.files("course_lib.data") / "pronouns.txt").read_text("ascii")
    return [block.splitlines() for block in text.split("\n\n")]


def _agreeing(rng: np.random.Generator, kind: str) -> tuple[Pronoun, Pronoun]:
    """A pair in which the pronoun agrees with one noun, in either order."""
    *nouns, between, verbs, endings = _lists()[KINDS.index(kind)]
    (one, other), pronouns = (w.split() for w in nouns), between.split(", ")
    i, j = rng.choice(len(one), 2, replace=False)  # firm and firms are one lemma
    first, second = (one[i], pronouns[0]), (other[j], pronouns[1])
    if rng.random() < 0.5:
        first, second = second, first
    start = f"The {first[0]} {_draw(rng, verbs)} the {second[0]} because"
    end = _draw(rng, endings)
    return (
        _question(f"{start} {first[1]} {end}.", first[0], second[0]),
        _question(f"{start} {second[1]} {end}.", second[0], first[0]),
    )


def _meaning(rng: np.random.Generator) -> tuple[Pronoun, Pronoun]:
    meanings = _lists()[2:]
    lists = meanings[rng.integers(len(meanings))]
    first, second = (_draw(rng, nouns) for nouns in lists[:2])
    tired, wide = (_draw(rng, endings) for endings in lists[3:])
    return (
        _question(lists[2].format(first, second, tired), first, second),
        _question(lists[2].format(first, second, wide), second, first),
    )


def _draw(rng: np.random.Generator, words: str) -> str:
    choices = words.split()
    return choices[rng.integers(len(choices))]


def _question(text: str, antecedent: str, rival: str) -> Pronoun:
    words = _words(text)
    pronoun = words[words.index("because") + 1]
    return Pronoun(text=text, pronoun=pronoun, antecedent=antecedent, rival=rival)


def _words(text: str) -> list[str]:
    return text.rstrip(".").split()
