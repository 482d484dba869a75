"""Numbers in words: a translation task of any size, with compositional held-out data.

    two hundred and ninety-one  ->  deux cent quatre-vingt-onze

Words come from num2words. French counts 70 to 99 by sixties and eighties
("quatre-vingt-onze" is four-twenty-eleven), so words do not translate one by one. Two
sets are held out: random numbers, and combinations: some numbers of two digits, such as
97, never occur in training, neither alone nor within a larger number, though each of
their digits does, in other company. A model that learned parts and how they go together
passes on both; one that learned whole phrases passes on the first only. The best exact
match is 1, as the words are a function of the number.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from course_lib.checks import check_range
from course_lib.optional import missing

__all__ = ["Numbers", "Phrases", "numbers"]


@dataclass(frozen=True, eq=False)
class Phrases:
    """Numbers in the words of two languages."""

    values: np.ndarray  #: The numbers, `N`, int64
    sources: tuple[str, ...]  #: Their words in English
    targets: tuple[str, ...]  #: Their words in French


@dataclass(frozen=True, eq=False)
class Numbers:
    """A translation task with two held-out sets; no number is in two of the three."""

    train: Phrases  #: The training set
    random: Phrases  #: Held out: numbers like those of training
    #: Held out: numbers with two digits that training lacks together, at the end or at
    #: the end of the thousands.
    combinations: Phrases
    unseen: tuple[int, ...]  #: These two digits, as numbers from 21 to 99


def numbers(
    *,
    seed: int,
    n_train: int = 5000,
    n_random: int = 500,
    n_combinations: int = 500,
    limit: int = 1_000_000,
    unseen: Sequence[int] = (21, 38, 46, 52, 69, 73, 85, 97),
) -> Numbers:
    """Draw numbers and write them in English and French words.

    Short ones are frequent, as the logarithm of a number is uniform; each occurs once.

    Args:
        seed: Fixes the draw.
        n_train: Numbers in the training set.
        n_random: Numbers held out at random.
        n_combinations: Numbers held out with one of `unseen` in them.
        limit: Numbers are below this.
        unseen: Numbers from 21 to 99, such as 97, that training lacks everywhere. Their
            words are two words each, so none of them may end in 0.
    """
    for number in unseen:
        check_range("unseen", number, 21, 99, "of two words, such as ninety-seven")
        if number % 10 == 0:
            raise ValueError(
                "unseen must hold numbers of two words, such as ninety-seven: got "
                f"{number}, one word that training would never show."
            )
    rng = np.random.default_rng(seed)
    # Distinct numbers with chances like 1 / (n + 1): the Gumbel trick sorts them all.
    order = np.argsort(np.log(np.arange(limit) + 1) - rng.gumbel(size=limit))
    # One of them ends the number or its thousands.
    new = np.isin(order % 100, unseen) | np.isin(order // 1000 % 100, unseen)
    known, combined = order[~new], order[new]
    for asked, there, kind in (
        (n_train + n_random, known, "without"),
        (n_combinations, combined, "with"),
    ):
        if asked > len(there):
            raise ValueError(
                f"limit must leave enough numbers {kind} unseen digits: got "
                f"limit={limit:,}, which leaves {len(there):,} for {asked:,}."
            )
    ours = rng.permutation(known[: n_train + n_random])
    say = (_speaker("en"), _speaker("fr"))
    return Numbers(
        train=_phrases(ours[:n_train], *say),
        random=_phrases(ours[n_train:], *say),
        combinations=_phrases(rng.permutation(combined[:n_combinations]), *say),
        unseen=tuple(unseen),
    )


def _phrases(
    values: np.ndarray, first: Callable[[int], str], second: Callable[[int], str]
) -> Phrases:
    return Phrases(
        values.astype(np.int64),
        tuple(map(first, values.tolist())),
        tuple(map(second, values.tolist())),
    )


def _speaker(language: str) -> Callable[[int], str]:
    try:
        from num2words import CONVERTER_CLASSES
    except ImportError as error:
        raise missing("Numbers in words are made by", "num2words", "data") from error
    converter = CONVERTER_CLASSES[language]
    return lambda value: re.sub(r"\s+", " ", converter.to_cardinal(value)).strip()
