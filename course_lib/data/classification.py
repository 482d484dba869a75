"""Sequences to classify by the majority of their entries.

In one of these tasks the order decides: a rule that only counts tokens (a bag of words)
is right exactly half of the time. Ids, padding and lengths are as in
`course_lib.data.sequences`.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from course_lib.checks import check_even
from course_lib.data.sequences import PAD

__all__ = ["Labelled", "late_majority", "majority"]

HIGHEST = 7  # entry
SIDE = 5  # longest part of a late majority


@dataclass(frozen=True, eq=False)
class Labelled:
    """Sequences with a class each."""

    tokens: np.ndarray  #: Ids, padded with 0 on the right, `N T`
    lengths: np.ndarray  #: True lengths, `N`
    labels: np.ndarray  #: 0 or 1, `N`
    vocab_size: int  #: Ids run from 0 (padding) to this less 1
    names: tuple[str, str]  #: The names of the two classes
    best_accuracy: float  #: What the best rule reaches
    #: What the best rule reaches that counts tokens and ignores order.
    bag_accuracy: float


def majority(n: int, *, seed: int, max_length: int = 5) -> Labelled:
    """Class A if most entries are 5 or above, class B otherwise and in a tie.

    There are 4 entries or more, from 1 to 7, and an entry is its own id. Order does not
    matter: a score for each token, added up, solves the task. Labels are 1 for A and 0
    for B, half of each (the odd one is B).
    """
    rng = np.random.default_rng(seed)
    labels = rng.permutation((np.arange(n) % 2 == 1).astype(np.int64))

    def sizes(n: int) -> np.ndarray:
        return rng.integers(4, max_length + 1, n)

    tokens, lengths = _with_majority(rng, labels, sizes, max_length)
    return Labelled(tokens, lengths, labels, HIGHEST + 1, ("B", "A"), 1.0, 1.0)


def late_majority(n: int, *, seed: int) -> Labelled:
    """The majority task for what stands after a marker: order decides.

    A sequence is a left part, a marker and a right part. Its class is the majority
    class of the right part; the left part has the other class. Rows 2i and 2i+1
    exchange the parts, so the accuracy of a bag of words is exactly 1/2. Parts have odd
    lengths up to 5, so there are no ties. Entries run from 1 to 7, and the marker is
    the next id.
    """
    check_even("n", n, "sequences come in pairs")
    rng = np.random.default_rng(seed)

    def sizes(n: int) -> np.ndarray:
        return 2 * rng.integers(0, (SIDE + 1) // 2, n) + 1

    parts = [  # one part of class B and one of class A for each pair of rows
        _with_majority(rng, np.full(n // 2, label), sizes, SIDE) for label in (0, 1)
    ]
    labels = _opposite_pairs(rng, n)
    tokens = np.zeros((n, 2 * SIDE + 1), dtype=np.int64)
    lengths = np.zeros(n, dtype=np.int64)
    for row, label in enumerate(labels):
        left, right = (
            drawn[row // 2, : size[row // 2]]
            for drawn, size in (parts[1 - label], parts[label])
        )
        text = [*left, HIGHEST + 1, *right]
        tokens[row, : len(text)], lengths[row] = text, len(text)
    return Labelled(tokens, lengths, labels, HIGHEST + 2, ("B", "A"), 1.0, 0.5)


def _opposite_pairs(rng: np.random.Generator, n: int) -> np.ndarray:
    """Labels, of which rows 2i and 2i+1 have one each, in random order."""
    labels = np.repeat(rng.integers(0, 2, n // 2), 2)
    labels[1::2] = 1 - labels[::2]
    return labels


def _with_majority(
    rng: np.random.Generator,
    labels: np.ndarray,
    sizes: Callable[[int], np.ndarray],
    width: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Padded entries of the given classes and their lengths, by rejection sampling."""
    tokens = np.zeros((len(labels), width), dtype=np.int64)
    lengths = np.zeros(len(labels), dtype=np.int64)
    todo = np.arange(len(labels))
    while len(todo):
        size = sizes(len(todo))
        drawn = rng.integers(1, HIGHEST + 1, (len(todo), width))
        drawn[np.arange(width) >= size[:, None]] = PAD
        high = (drawn >= 5).sum(1)
        fits = (2 * high > size) == (labels[todo] == 1)
        tokens[todo[fits]], lengths[todo[fits]] = drawn[fits], size[fits]
        todo = todo[~fits]
    return tokens, lengths
