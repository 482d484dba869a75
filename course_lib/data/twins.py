"""Noun phrases before a verb, and their twins: the same words in another order.

    the firms near the bank [MASK]      grow
    the bank near the firms [MASK]      grows

The verb agrees with the first noun, so only the order tells which form it has. Phrases
are those of `grammar()`: two or more noun phrases with prepositions between them.
"""

from functools import cache

import numpy as np

from course_lib.checks import check_whole
from course_lib.data.grammar import grammar, reachable

__all__ = ["phrases", "twins"]

_SHORTEST = 5  # two noun phrases of two words, and a preposition


def phrases(n: int, words: int, *, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Phrases of so many words, each with a verb that follows it.

    Both are drawn as the grammar draws them, given the number of words.

    Returns:
        The ids, `N T` with T = `words` + 1, as `[MASK]` stands in the verb's place; and
        the ids of the verbs, `N`.
    """
    return _draw(n, words, np.random.default_rng(seed))


def twins(n: int, words: int, *, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of phrases with their noun phrases in reverse order, whose verbs differ.

    Rows 2i and 2i+1 hold the same words, and one of them needs a plural.

    Returns:
        The ids of n pairs, `2N T` as in `phrases`; and whether the verb is a plural, as
        the first noun is, `2N`.
    """
    rng, rows = np.random.default_rng(seed), []
    while len(rows) < 2 * n:
        for ids in _draw(n, words, rng)[0]:
            pair = ids, _reverse(ids)
            if _needs_plural(pair[0]) != _needs_plural(pair[1]):
                rows += pair
    rows = np.array(rows[: 2 * n])
    return rows, np.array([_needs_plural(ids) for ids in rows])


def _draw(
    n: int, words: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Draw word by word, with the odds that a verb comes after the right number."""
    check_whole("words", words, least=_SHORTEST, why="two noun phrases")
    language = grammar()
    source, (inside, last) = language.source, _tables()
    ahead = [last.sum(axis=1)]  # in a state: the chance of a verb after 0, 1, ... words
    for _ in range(words):
        ahead.append(np.einsum("xsu,u->s", inside, ahead[-1]))
    state, ids = np.full(n, source.start), np.empty((n, words + 1), dtype=np.int64)
    for t in range(words + 1):
        left = words - t
        p = np.einsum("xsu,u->sx", inside, ahead[left - 1]) if left else last
        edges = p[state].cumsum(axis=1)
        ids[:, t] = (edges <= rng.random((n, 1)) * edges[:, -1:]).sum(axis=1)
        state = source.next_state[state, ids[:, t]]
    verbs = ids[:, -1].copy()
    ids[:, -1] = language.mask_id
    return ids, verbs


@cache
def _tables() -> tuple[np.ndarray, np.ndarray]:
    """The grammar inside a phrase, `V S S`, and at the verb after it, `S V`."""
    language = grammar()
    kinds = np.array([name.split(" ")[0] for name in language.classes])
    before = np.isin(kinds, ["determiner", "adjective", "noun", "preposition"])
    placed = np.array([state[:2] == ("placed", "statement") for state in reachable()])
    inside = np.where(before[:, None, None], language.source.table, 0)
    ends = placed[:, None] & language.is_verb
    return inside, np.where(ends, language.source.emission, 0)


def _reverse(ids: np.ndarray) -> np.ndarray:
    """The noun phrases in reverse order; prepositions and `[MASK]` stay in order."""
    classes = np.array(grammar().classes)[ids]
    at = np.flatnonzero(classes == "preposition")
    parts = np.split(ids[:-1], np.sort(np.append(at, at + 1)))
    parts[::2] = parts[::2][::-1]
    return np.append(np.concatenate(parts), ids[-1])


def _needs_plural(ids: np.ndarray) -> bool:
    """Whether the first noun is a plural."""
    language = grammar()
    first = ids[language.is_noun[ids]][0]
    return bool(language.is_plural[first])
