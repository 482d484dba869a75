"""Pronouns with two candidates: sentences in pairs, one of each for either candidate.

The two sentences of a pair differ only in what decides. In "gender" and "number" that
is the pronoun, *he* or *she*, *it* or *they*. In "meaning" it is the last word, as in
*too tired* and *too wide*. Such pairs resemble Winograd schemas (Levesque et al. 2012),
which also exclude those that association solves.

A rule that does not read what decides gives both sentences of a pair the same noun, so
it is right in exactly one of them: always the first noun, always the nearest. The lists
were written before any model was tried on them. No noun occurs twice in a sentence.
"""

from dataclasses import dataclass

import numpy as np

from course_lib.checks import check_choice, check_size

__all__ = ["Pronoun", "pronouns"]

KINDS = ("gender", "number", "meaning")

_MEN = "man king boy brother son husband father uncle"
_WOMEN = "woman queen girl sister daughter wife mother aunt"
_PEOPLE_DO = "called thanked helped warned visited followed invited blamed paid left"
_PEOPLE_ARE = "late tired right wrong hungry rich angry happy nervous careful"
_GROUP = "firm bank company school club church hospital newspaper union court"
_GROUPS = (
    "firms banks companies schools clubs churches hospitals newspapers unions courts"
)
_GROUPS_DO = "warned paid sued joined praised visited blamed left helped called"
_GROUPS_ARE = "late right wrong worried rich small successful careful famous poor"

# First nouns, second nouns, the sentence, endings for the first and for the second.
_MEANINGS = [
    (
        "dog cat horse cow goat fox bear wolf pig donkey",
        "road street bridge highway",
        "The {} did not cross the {} because it was too {}.",
        "tired lazy weak sick hungry nervous",
        "wide long crowded busy slippery",
    ),
    (
        "piano table chair statue desk bed clock",
        "car van truck room garage box",
        "The {} did not fit into the {} because it was too {}.",
        "big large tall",
        "small tiny narrow full",
    ),
    (
        "firm company bank fund city school hospital church",
        "machine house building factory ship painting engine",
        "The {} did not buy the {} because it was too {}.",
        "poor cautious careful",
        "expensive old dangerous slow ugly",
    ),
    (
        "stone hammer rock ball brick",
        "window glass bottle mirror door",
        "The {} broke the {} because it was too {}.",
        "heavy hard solid",
        "thin weak fragile soft",
    ),
    (
        "dog cat bird mouse horse bear",
        "apple bread cake cheese corn meat",
        "The {} ate the {} because it was so {}.",
        "hungry greedy",
        "sweet fresh delicious soft",
    ),
]


@dataclass(frozen=True, kw_only=True)
class Pronoun:
    """A sentence with a pronoun, and the two nouns that it may stand for."""

    text: str  #: The sentence
    pronoun: str  #: The word whose noun is asked for
    antecedent: str  #: The noun that it stands for
    rival: str  #: The other noun

    @property
    def nearest(self) -> str:
        """The noun that stands closest before the pronoun."""
        return max(self.antecedent, self.rival, key=_words(self.text).index)


def pronouns(kind: str, n_pairs: int, *, seed: int) -> list[Pronoun]:
    """Draw pairs of sentences, all different, of one of the `KINDS`.

    The two of a pair follow each other: in the first the pronoun stands for the first
    noun, in the second for the second.
    """
    check_choice("kind", kind, KINDS)
    check_size("n_pairs", n_pairs)
    check_size("n_pairs", n_pairs)
    if n_pairs > 500:
        raise ValueError(f"n_pairs must be at most 500: got {n_pairs}.")
    rng = np.random.default_rng(seed)
    pairs: dict[tuple[Pronoun, Pronoun], None] = {}
    while len(pairs) < n_pairs:
        meaning = kind == "meaning"
        pair = _meaning(rng) if meaning else _agreeing(rng, *_AGREEMENTS[kind])
        pairs[pair] = None
    return [sentence for pair in pairs for sentence in pair]


def _agreeing(
    rng: np.random.Generator,
    nouns: tuple[str, str],
    pronouns: tuple[str, str],
    verbs: str,
    endings: str,
) -> tuple[Pronoun, Pronoun]:
    """A pair in which the pronoun agrees with one noun, in either order."""
    one, other = (words.split() for words in nouns)
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
    lists = _MEANINGS[rng.integers(len(_MEANINGS))]
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


_AGREEMENTS = {
    "gender": ((_MEN, _WOMEN), ("he was", "she was"), _PEOPLE_DO, _PEOPLE_ARE),
    "number": ((_GROUP, _GROUPS), ("it was", "they were"), _GROUPS_DO, _GROUPS_ARE),
}
