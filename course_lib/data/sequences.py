"""Short tasks on sequences of symbols, each with the best result there is.

Conventions, the same in every task: ids are int64; 0 is padding, on the right only,
with the true `lengths` beside it; symbols start at 1, and special symbols come after
the ordinary ones; a target of `IGNORE` (-100) is not counted.
"""

import math
from dataclasses import dataclass

import numpy as np

from course_lib.data.masked import IGNORE
from course_lib.shapes import check_choice, check_size

PAD = 0


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


@dataclass(frozen=True, eq=False)
class NextToken:
    """Sequences in which a token is to be predicted at each position.

    Args:
        tokens: What the model reads, `N T`.
        targets: What it should say at each position, `N T`; `IGNORE` is not counted.
        vocab_size: Ids run from 0 (padding, which never occurs here) to this less 1.
        best_loss: The expected loss of the best predictor at each position, in nats,
            `T`; NaN where nothing is counted.
        chance: Accuracy of a guess that looks at nothing.
    """

    tokens: np.ndarray
    targets: np.ndarray
    vocab_size: int
    best_loss: np.ndarray
    chance: float


@dataclass(frozen=True, eq=False)
class Pairs:
    """Sequences to be turned into others.

    Args:
        sources: Ids, padded with 0 on the right, `N S`.
        targets: `<start>`, the answer, `<end>`, then padding, `N S+2`. A decoder reads
            `targets[:, :-1]` and should say `targets[:, 1:]`.
        lengths: True lengths of the sources, `N`; an answer is as long as its source.
        vocab_size: Ids run from 0 (padding) to this less 1.
        start_id: The id of `<start>`.
        end_id: The id of `<end>`.
        best_accuracy: Exact match that the best rule reaches.
    """

    sources: np.ndarray
    targets: np.ndarray
    lengths: np.ndarray
    vocab_size: int
    start_id: int
    end_id: int
    best_accuracy: float


def induction(n: int, *, seed: int, n_pairs: int = 16, n_symbols: int = 8) -> NextToken:
    """A code that holds for one sequence only: key, value, key, value, ...

    Each sequence draws its own code, a value for every symbol, and then asks for
    symbols at random. Where a key returns, its value must be copied from the place
    where the key stood before; nothing can be remembered from other sequences. Keys
    come with repetition, so neither distance nor position gives the answer away.

    The best predictor pays log(n_symbols) for each key and for a value whose key is
    new, and nothing for a value whose key has been seen. The i-th key (from 0) is new
    with probability (1 - 1/n_symbols)^i, which gives `best_loss` exactly.

    Args:
        n: Number of sequences, N.
        seed: Fixes the draw.
        n_pairs: Pairs in a sequence; T = 2 n_pairs - 1, as the last token is only
            asked.
        n_symbols: Symbols, ids 1 to `n_symbols`, which serve as keys and as values.

    Returns:
        `targets[:, t]` is the token after `tokens[:, t]`.
    """
    check_size("n_pairs", n_pairs)
    check_size("n_symbols", n_symbols)
    rng = np.random.default_rng(seed)
    code = rng.integers(1, n_symbols + 1, (n, n_symbols + 1))
    keys = rng.integers(1, n_symbols + 1, (n, n_pairs))
    values = np.take_along_axis(code, keys, axis=1)
    text = np.stack([keys, values], axis=2).reshape(n, 2 * n_pairs)
    best = np.full(2 * n_pairs, math.log(n_symbols))
    best[1::2] *= (1 - 1 / n_symbols) ** np.arange(n_pairs)
    return NextToken(
        tokens=text[:, :-1],
        targets=text[:, 1:],
        vocab_size=n_symbols + 1,
        best_loss=best[1:],
        chance=1 / n_symbols,
    )


def recall(
    n: int, *, seed: int, distance: int, length: int = 32, n_symbols: int = 8
) -> NextToken:
    """Random symbols; at each position, say the one that stood `distance` steps before.

    Args:
        n: Number of sequences, N.
        seed: Fixes the draw.
        distance: Steps back, at least 0 and less than `length`.
        length: T.
        n_symbols: Symbols, ids 1 to `n_symbols`.

    Returns:
        The first `distance` targets are `IGNORE`; from there on the best loss is 0.

    Raises:
        ValueError: The distance reaches beyond the sequence.
    """
    if not 0 <= distance < length:
        raise ValueError(
            f"distance must be at least 0 and less than length: got {distance} for "
            f"length {length}."
        )
    check_size("n_symbols", n_symbols)
    tokens = np.random.default_rng(seed).integers(1, n_symbols + 1, (n, length))
    targets = np.full_like(tokens, IGNORE)
    targets[:, distance:] = tokens[:, : length - distance]
    best = np.zeros(length)
    best[:distance] = np.nan
    return NextToken(tokens, targets, n_symbols + 1, best, chance=1 / n_symbols)


def reversal(
    n: int, *, seed: int, max_length: int = 12, min_length: int = 4, n_symbols: int = 8
) -> Pairs:
    """Random symbols, to be written backwards.

    Args:
        n: Number of pairs, N.
        seed: Fixes the draw.
        max_length: S, the longest source.
        min_length: The shortest source.
        n_symbols: Symbols, ids 1 to `n_symbols`; `<start>` and `<end>` come after them.

    Raises:
        ValueError: The lengths are not in order.
    """
    _check_lengths(min_length, max_length)
    check_size("n_symbols", n_symbols)
    rng = np.random.default_rng(seed)
    lengths = rng.integers(min_length, max_length + 1, n)
    symbols = rng.integers(1, n_symbols + 1, (n, max_length))
    start, end = n_symbols + 1, n_symbols + 2
    sources = np.where(np.arange(max_length) < lengths[:, None], symbols, PAD)
    targets = np.full((n, max_length + 2), PAD)
    targets[:, 0] = start
    back = lengths[:, None] - 1 - np.arange(max_length)  # negative beyond the source
    mirrored = np.take_along_axis(sources, np.maximum(back, 0), axis=1)
    targets[:, 1:-1] = np.where(back >= 0, mirrored, PAD)
    targets[np.arange(n), lengths + 1] = end
    return Pairs(sources, targets, lengths, n_symbols + 3, start, end, 1.0)


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
    _check_lengths(min_length, max_length)
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


def _check_lengths(shortest: int, longest: int) -> None:
    if not 1 <= shortest <= longest:
        raise ValueError(
            "min_length must be at least 1 and at most max_length: got min_length="
            f"{shortest}, max_length={longest}."
        )
