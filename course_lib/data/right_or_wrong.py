"""Right or wrong: statements of the small English, half of them with a slip of number.

    many firms near the bank grow slowly .         right
    many firms near the bank grows slowly .        wrong

A statement is right if its subject and its verb have the same number. Either number by
itself says nothing.
"""

import numpy as np

from course_lib.data.grammar import grammar
from course_lib.data.statements import statements

__all__ = ["right_or_wrong"]


def right_or_wrong(
    n: int, *, longest: int = 12, seed: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw `n` `statements`, and give the verb of about half of them its other form.

    Args:
        n: How many.
        longest: Words a statement has at most, its stop included.
        seed: Fixes the draw.

    Returns:
        The ids, padded on the right, `n longest`; the place of the stop, `n`; whether
        the statement is right, 1 or 0, `n`.
    """
    language = grammar()
    ids = statements(n, longest=longest, seed=seed)
    stop = (ids != language.pad_id).sum(axis=1) - 1
    right = np.random.default_rng([seed, 1]).integers(2, size=n)
    slip = language.is_verb[ids] & (right == 0)[:, None]
    return np.where(slip, language.other_number[ids], ids), stop, right
