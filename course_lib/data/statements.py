"""Plain statements of the small English, from which tasks about them draw."""

import numpy as np

from course_lib.checks import check_whole
from course_lib.data.grammar import grammar

__all__ = ["statements"]


def statements(n: int, *, longest: int = 12, seed: int) -> np.ndarray:
    """Draw `n` statements without relative clauses: ids, `n longest`, padded behind.

    So each has one verb, whose subject is the first noun. Between these two other nouns
    may stand, behind prepositions. Fewer from the same seed are the first of many.

    Args:
        n: How many.
        longest: Words a statement has at most, its stop included.
        seed: Fixes the draw.
    """
    check_whole("longest", longest, least=4, why="a noun phrase, a verb and a stop")
    language = grammar()
    unwanted = np.isin(language.classes, ("relative", "question mark"))
    found: list[np.ndarray] = []
    draws = n
    while len(found) < n:
        draws *= 2
        drawn = language.sentences(draws, seed=seed, longest=longest)
        found = [s for s in drawn if not unwanted[s].any()]
    ids = np.full((n, longest), language.pad_id)
    for row, sentence in zip(ids, found[:n], strict=True):
        row[: len(sentence)] = sentence
    return ids
