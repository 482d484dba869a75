"""Where a text ends: at a stop token, a stop word, or the last new token.

Both wings choose tokens and stop asking when every text has ended here.
"""

import math
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from course_lib.generation.inputs import GenerationInputs


def gathered(given: GenerationInputs, columns: Iterable[list[int]]) -> list[list[int]]:
    """What `in_order` says, by rows: the new tokens of each text."""
    texts: list[list[int]] = [[] for _ in given.ids]
    for row, token in in_order(given, columns):
        texts[row].append(token)
    return texts


def in_order(
    given: GenerationInputs, columns: Iterable[list[int]]
) -> Iterator[tuple[int, int]]:
    """Row and token, one after another, as soon as a token is sure to be in its text.

    One that may begin a stop word waits for the next. When all texts have ended no
    more columns are asked for.

    Args:
        given: What is being continued.
        columns: A token of each row, from place `given.start` on. One below 0 says that
            there was none to choose.
    """
    words, n = stop_words(given.stops), given.uniforms.shape[1]
    texts: list[list[int]] = [[] for _ in given.ids]
    said, going = [0] * len(texts), set(range(len(texts)))
    for t, column in enumerate(columns, given.start):
        for row, token in enumerate(column):
            if token < 0:
                check_scored(math.nan, f"token {t} of row {row}")
            if row not in going or t < given.lengths[row]:
                continue
            text = texts[row]
            text.append(token)
            stays, ended = sure(text, words)
            if not ended and len(text) == n:
                stays, ended = n, True
            for new in text[said[row] : stays]:
                yield row, new
            said[row] = stays
            if ended:
                going.remove(row)
        if not going:
            return


def stop_words(stops: np.ndarray) -> list[list[int]]:
    """Stop words without what fills them up, the longest first."""
    words = [[i for i in row if i != -1] for row in stops.tolist()]
    return sorted(words, key=len, reverse=True)


def sure(text: list[int], words: list[list[int]]) -> tuple[int, bool]:
    """How many tokens stay, whatever comes next; whether a stop word ends the text."""
    for word in words:
        if text[-len(word) :] == word:
            return len(text) - len(word), True
    begun = (k for word in words for k in range(1, len(word)) if text[-k:] == word[:k])
    return len(text) - max(begun, default=0), False


def check_scored(scores: Any, where: str) -> None:
    """Refuse scores or probabilities with NaN among them, which rank no token."""
    if np.isnan(scores).any():
        raise ValueError(
            "a model must score each next token with a number: got NaN or infinity for "
            f"{where}. Its weights may have diverged in training: load earlier ones."
        )
