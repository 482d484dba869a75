"""Numbers in words: a translation task of any size, with compositional held-out data.

    two hundred and ninety-one  ->  deux cent quatre-vingt-onze

Words come from num2words. French counts 70 to 99 by sixties and eighties
("quatre-vingt-onze" is four-twenty-eleven), so words do not translate one by one. Two
sets are held out: random numbers, and combinations: some pairs of a hundreds digit with
a tens digit never occur in training, though each of the digits does, in many other
pairs. A model that learned the parts passes on both; one that learned whole phrases
passes on the first only. The best exact match is 1, as the words are a function of the
number.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from course_lib.checks import check_choice, check_range, check_size
from course_lib.optional import missing

__all__ = ["Numbers", "Phrases", "numbers"]


@dataclass(frozen=True, eq=False)
class Phrases:
    """Numbers in the words of two languages."""

    values: np.ndarray  #: The numbers, `N`, int64
    sources: tuple[str, ...]  #: Their words in the first language
    targets: tuple[str, ...]  #: Their words in the second language


@dataclass(frozen=True, eq=False)
class Numbers:
    """A translation task with two held-out sets; no number is in two of the three."""

    train: Phrases  #: The training set
    random: Phrases  #: Held out: numbers like those of training
    #: Held out: numbers with a pair of digits that training lacks, in the thousands or
    #: in the last three digits.
    combinations: Phrases
    pairs: tuple[tuple[int, int], ...]  #: These pairs, (hundreds digit, tens digit)


def numbers(
    *,
    seed: int,
    n_train: int = 5000,
    n_random: int = 500,
    n_combinations: int = 500,
    limit: int = 1_000_000,
    n_pairs: int = 8,
    source: str = "en",
    target: str = "fr",
) -> Numbers:
    """Draw numbers and write them in words.

    Short ones are frequent, as the logarithm of a number is uniform; each occurs once.

    Args:
        seed: Fixes the draw.
        n_train: Numbers in the training set.
        n_random: Numbers held out at random.
        n_combinations: Numbers held out with one of the pairs.
        limit: Numbers are below this.
        n_pairs: Pairs of a hundreds digit with a tens digit that are held out, at most
            9, with no digit in two of them.
        source: Language of the first words, as num2words calls it.
        target: Language of the second ("de", "es", "it", ...; "fr_BE" has septante).
    """
    check_size("n_train", n_train)
    check_size("n_random", n_random)
    check_range("limit", limit, 1000, 1_000_000)
    check_range("n_pairs", n_pairs, 1, 9, "so that no digit is in two")
    rng = np.random.default_rng(seed)
    hundreds, tens = (rng.permutation(np.arange(1, 10))[:n_pairs] for _ in range(2))
    pairs = tuple(sorted(zip(hundreds.tolist(), tens.tolist(), strict=True)))
    # Distinct numbers with chances like 1 / (n + 1): the Gumbel trick sorts them all.
    order = np.argsort(np.log(np.arange(limit) + 1) - rng.gumbel(size=limit))
    new = has_pair(order, pairs)
    known, combined = order[~new], order[new]
    for asked, there, kind in (
        (n_train + n_random, known, "without"),
        (n_combinations, combined, "with"),
    ):
        if asked > len(there):
            raise ValueError(
                f"limit must leave enough numbers {kind} a held-out pair: got "
                f"limit={limit:,}, which leaves {len(there):,} for {asked:,}."
            )
    ours = rng.permutation(known[: n_train + n_random])
    say = (_speaker("source", source), _speaker("target", target))
    return Numbers(
        train=_phrases(ours[:n_train], *say),
        random=_phrases(ours[n_train:], *say),
        combinations=_phrases(rng.permutation(combined[:n_combinations]), *say),
        pairs=pairs,
    )


def has_pair(values: np.ndarray, pairs: tuple[tuple[int, int], ...]) -> np.ndarray:
    """True for numbers with one of the pairs in their thousands or below, `N`."""
    listed = np.zeros((10, 10), dtype=bool)
    listed[tuple(np.array(pairs).T)] = True
    found = [listed[part // 100, part // 10 % 10] for part in divmod(values, 1000)]
    return found[0] | found[1]


def _phrases(
    values: np.ndarray, first: Callable[[int], str], second: Callable[[int], str]
) -> Phrases:
    return Phrases(
        values.astype(np.int64),
        tuple(map(first, values.tolist())),
        tuple(map(second, values.tolist())),
    )


def _speaker(name: str, language: str) -> Callable[[int], str]:
    try:
        from num2words import CONVERTER_CLASSES
    except ImportError as error:
        raise missing("Numbers in words are made by", "num2words", "data") from error
    check_choice(name, language, tuple(CONVERTER_CLASSES))
    converter = CONVERTER_CLASSES[language]
    return lambda value: re.sub(r"\s+", " ", converter.to_cardinal(value)).strip()
