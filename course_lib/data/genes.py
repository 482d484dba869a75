"""Stretches of genes: does reading stop early? The letters alone do not tell.

A gene is read from its start, three letters at a time. Each three letters form a codon,
and three of the 64 codons, TAA, TAG and TGA, end the reading. Every stretch drawn here
contains the letters of exactly one stop, anywhere. It ends the reading if it begins at
a place that 3 divides, and is read across otherwise.
"""

from dataclasses import dataclass

import numpy as np

from course_lib.checks import check_even

__all__ = ["Genes", "draw_genes"]

LETTERS = "ACGT"
STOPS = ("TAA", "TAG", "TGA")


@dataclass(frozen=True, kw_only=True)
class Genes:
    """Stretches of DNA of one length, in random order."""

    letters: np.ndarray  #: Numbers of the letters in `LETTERS`, `n L`
    place: np.ndarray  #: Where the only stop begins, counted from 0, `n`
    #: The label, 1 where reading stops there, else 0, `n`; half of each.
    stops: np.ndarray


def draw_genes(n: int, *, length: int = 60, seed: int) -> Genes:
    """Draw `n` stretches of `length` letters.

    Places in frame are equally likely before those are dropped that contain a second
    stop by chance, and so are places out of frame.
    """
    check_even("n", n, "half have each label")
    if length < 6 or length % 3:
        raise ValueError(
            f"length must be a multiple of 3 and at least 6: got {length}."
        )
    rng = np.random.default_rng(seed)
    places = np.arange(length - 2)
    found = [
        _draw(rng, n // 2, length, places[(places % 3 == 0) == in_frame])
        for in_frame in (False, True)
    ]
    order = rng.permutation(n)
    letters, place = (
        np.concatenate(parts)[order] for parts in zip(*found, strict=True)
    )
    return Genes(letters=letters, place=place, stops=(place % 3 == 0).astype(np.int64))


def _draw(
    rng: np.random.Generator, n: int, length: int, places: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Random letters with a stop at one of the places, kept if it is the only one."""
    stops = np.array([[LETTERS.index(letter) for letter in stop] for stop in STOPS])
    codes = stops @ (16, 4, 1)
    kept, total = [], 0
    while total < n:
        letters = rng.integers(0, 4, (4096, length))
        place = rng.choice(places, len(letters))
        columns = place[:, None] + np.arange(3)
        stop = stops[rng.integers(0, 3, len(letters))]
        np.put_along_axis(letters, columns, stop, axis=1)
        triplets = 16 * letters[:, :-2] + 4 * letters[:, 1:-1] + letters[:, 2:]
        only = np.isin(triplets, codes).sum(axis=1) == 1
        kept.append((letters[only], place[only]))
        total += only.sum()
    letters, place = (np.concatenate(parts)[:n] for parts in zip(*kept, strict=True))
    return letters, place
