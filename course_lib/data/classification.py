"""Sequences to be told apart: by which token comes first, or by what most entries are.

In two of these tasks the order decides, and it is arranged that a rule that only counts
tokens is right exactly half of the time. Ids, padding and lengths are as in
`course_lib.data.sequences`.
"""

from dataclasses import dataclass

import numpy as np

from course_lib.checks import check_choice, check_size
from course_lib.data.sequences import PAD, check_lengths


@dataclass(frozen=True, eq=False)
class Labelled:
    """Sequences with a class each.

    Args:
        tokens: Ids, padded with 0 on the right, `N T`.
        lengths: True lengths, `N`.
        labels: 0 or 1, `N`.
        vocab_size: Ids run from 0 (padding) to this less 1.
        names: What the two classes are called.
        best_accuracy: What the best rule reaches.
        bag_accuracy: What the best rule reaches that counts tokens and ignores order.
    """

    tokens: np.ndarray
    lengths: np.ndarray
    labels: np.ndarray
    vocab_size: int
    names: tuple[str, str]
    best_accuracy: float
    bag_accuracy: float


def which_came_first(
    n: int, *, seed: int, length: int = 16, n_symbols: int = 8
) -> Labelled:
    """Two marked symbols among others: class 1 if the first of them comes first.

    Rows 2i and 2i+1 are the same sequence with the two marked symbols exchanged. They
    hold the same tokens and belong to different classes, so a rule that ignores order
    is right on exactly one of them: its accuracy is 1/2, not about 1/2.

    Args:
        n: Number of sequences, an even number.
        seed: Fixes the draw.
        length: T; at least 2.
        n_symbols: Ordinary symbols, ids 1 to `n_symbols`; the two marked ones are
            `n_symbols + 1` and `n_symbols + 2`.

    Raises:
        ValueError: `n` is odd, or the sequences are too short.
    """
    _check_even(n)
    if length < 2:
        raise ValueError(f"length must be at least 2, for two symbols: got {length}.")
    check_size("n_symbols", n_symbols)
    rng = np.random.default_rng(seed)
    tokens = rng.integers(1, n_symbols + 1, (n // 2, length))
    places = rng.permuted(np.tile(np.arange(length), (n // 2, 1)), axis=1)[:, :2]
    places.sort(axis=1)
    pairs = np.repeat(tokens, 2, axis=0)
    labels = np.repeat(rng.integers(0, 2, n // 2), 2)
    labels[1::2] = 1 - labels[::2]
    first, second = np.repeat(places, 2, axis=0).T
    rows = np.arange(n)
    pairs[rows, first] = np.where(labels == 1, n_symbols + 1, n_symbols + 2)
    pairs[rows, second] = np.where(labels == 1, n_symbols + 2, n_symbols + 1)
    return Labelled(
        tokens=pairs,
        lengths=np.full(n, length),
        labels=labels,
        vocab_size=n_symbols + 3,
        names=("second first", "first first"),
        best_accuracy=1.0,
        bag_accuracy=0.5,
    )


MAJORITY_EXAMPLES = (
    ((5, 5, 5, 1, 1), "A"),
    ((5, 5, 6, 3, 2), "A"),
    ((7, 3, 6, 5), "A"),
    ((2, 3, 5, 1, 1), "B"),
    ((3, 1, 1, 1, 4), "B"),
    ((1, 3, 4, 5), "B"),
)
"""The six sequences that Atzberger's slides print for this task, with their classes."""


def majority_class(entries: np.ndarray | tuple[int, ...] | list[int]) -> str:
    """Class "A" if more than half of the entries are 5 or above; a tie is "B"."""
    entries = np.asarray(entries)
    return "A" if 2 * int((entries >= 5).sum()) > len(entries) else "B"


def majority(
    n: int,
    *,
    seed: int,
    max_length: int = 5,
    min_length: int = 4,
    highest: int = 7,
    ties: str = "B",
) -> Labelled:
    """Class A if most entries are 5 or above, class B otherwise.

    The slides leave open what happens when exactly half are: here it is class B ("A"
    needs more than half), or such sequences are left out. The examples have no tie.
    Order says nothing: adding up a number for each token solves the task.

    Args:
        n: Number of sequences, N.
        seed: Fixes the draw.
        max_length: T, the longest sequence.
        min_length: The shortest.
        highest: Entries run from 1 to this; an entry is its own id.
        ties: "B" to count them to class B, "none" to draw another sequence instead.

    Returns:
        Labels are 1 for class A and 0 for class B, half of each (the odd one is B).

    Raises:
        ValueError: The lengths are not in order, or no entry can be 5.
    """
    check_choice("ties", ties, ("B", "none"))
    check_lengths(min_length, max_length)
    _check_highest(highest)
    rng = np.random.default_rng(seed)
    labels = rng.permutation((np.arange(n) % 2 == 1).astype(np.int64))
    tokens = np.zeros((n, max_length), dtype=np.int64)
    lengths = np.zeros(n, dtype=np.int64)
    todo = np.arange(n)
    while len(todo):  # draw until each row has the class that was drawn for it
        size = rng.integers(min_length, max_length + 1, len(todo))
        drawn = rng.integers(1, highest + 1, (len(todo), max_length))
        drawn[np.arange(max_length) >= size[:, None]] = PAD
        high = (drawn >= 5).sum(1)
        fits = (2 * high > size) == (labels[todo] == 1)
        if ties == "none":
            fits &= 2 * high != size
        tokens[todo[fits]], lengths[todo[fits]] = drawn[fits], size[fits]
        todo = todo[~fits]
    return Labelled(tokens, lengths, labels, highest + 1, ("B", "A"), 1.0, 1.0)


def late_majority(n: int, *, seed: int, side: int = 5, highest: int = 7) -> Labelled:
    """The majority task for what stands after a marker: order decides.

    A sequence is a left part, a marker and a right part; its class is the majority
    class of the right part, and the left part always has the other class. Rows 2i and
    2i+1 exchange the parts: same tokens, other class, so that a rule that ignores order
    has an accuracy of exactly 1/2. Both parts have an odd length, so there are no ties.

    Args:
        n: Number of sequences, an even number.
        seed: Fixes the draw.
        side: The longest part, an odd number; parts have odd lengths up to it and
            T = 2 side + 1.
        highest: Entries run from 1 to this; the marker is `highest + 1`.

    Returns:
        Labels are 1 for class A and 0 for class B, half of each.

    Raises:
        ValueError: `n` is odd, `side` is even, or no entry can be 5.
    """
    _check_even(n)
    _check_highest(highest)
    if side < 1 or side % 2 == 0:
        raise ValueError(
            f"side must be odd, so that no part is tied: got {side}. "
            f"The nearest that fits is {max(1, side - 1)}."
        )
    rng = np.random.default_rng(seed)
    parts = []  # one part of class B and one of class A for each pair of rows
    for label in (0, 1):
        drawn = np.zeros((n // 2, side), dtype=np.int64)
        size = np.zeros(n // 2, dtype=np.int64)
        todo = np.arange(n // 2)
        while len(todo):
            odd = 2 * rng.integers(0, (side + 1) // 2, len(todo)) + 1
            part = rng.integers(1, highest + 1, (len(todo), side))
            part[np.arange(side) >= odd[:, None]] = PAD
            fits = (2 * (part >= 5).sum(1) > odd) == (label == 1)
            drawn[todo[fits]], size[todo[fits]] = part[fits], odd[fits]
            todo = todo[~fits]
        parts.append((drawn, size))
    labels = np.repeat(rng.integers(0, 2, n // 2), 2)
    labels[1::2] = 1 - labels[::2]
    tokens = np.zeros((n, 2 * side + 1), dtype=np.int64)
    lengths = np.zeros(n, dtype=np.int64)
    for row, label in enumerate(labels):
        (left, n_left), (right, n_right) = (
            (drawn[row // 2], size[row // 2])
            for drawn, size in (parts[1 - label], parts[label])
        )
        text = [*left[:n_left], highest + 1, *right[:n_right]]
        tokens[row, : len(text)], lengths[row] = text, len(text)
    return Labelled(tokens, lengths, labels, highest + 2, ("B", "A"), 1.0, 0.5)


def _check_even(n: int) -> None:
    if n % 2:
        raise ValueError(
            f"n must be even, because sequences come in pairs: got {n}. "
            f"The nearest that fits is {n + 1}."
        )


def _check_highest(highest: int) -> None:
    if highest < 5:
        raise ValueError(
            f"highest must be at least 5, or class A is empty: got {highest}."
        )
