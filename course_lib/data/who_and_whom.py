"""Who sees whom: statements of the small English, asked about at their verb.

    many firms near a bank see the old farmers .        who? firm. whom? farmer.

Subject and object are nouns of one kind, which only their places tell apart.
"""

import numpy as np

from course_lib.checks import check_size, check_whole
from course_lib.data.grammar import grammar
from course_lib.data.statements import statements

__all__ = ["who_and_whom"]


def who_and_whom(
    n: int, *, longest: int = 12, seed: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw `n` of those `statements` whose verb has an object, and their two nouns.

    The first noun is who, the first one after the verb whom. They are different words.

    Args:
        n: How many.
        longest: Words a statement has at most, its stop included.
        seed: Fixes the draw.

    Returns:
        The ids, padded on the right, `n longest`; the place of the verb, `n`; the ids
        of who and of whom, in the singular, `n 2`.
    """
    check_size("n", n)
    check_whole("longest", longest, least=6, why="two noun phrases, a verb and a stop")
    language = grammar()
    has_object = np.char.startswith(language.classes, "verb")
    draws = 3 * n // 2
    while True:
        draws *= 2
        ids = statements(draws, longest=longest, seed=seed)
        rows, places = np.arange(draws), np.arange(longest)
        verb = has_object[ids].argmax(axis=1)
        noun = language.is_noun[ids]
        after = noun & (places > verb[:, None])
        pair = ids[rows, noun.argmax(axis=1)], ids[rows, after.argmax(axis=1)]
        nouns = language.lemma[np.stack(pair, axis=1)]
        fits = has_object[ids].any(axis=1) & (nouns[:, 0] != nouns[:, 1])
        if fits.sum() >= n:
            return ids[fits][:n], verb[fits][:n], nouns[fits][:n]
