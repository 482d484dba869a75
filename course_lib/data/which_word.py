"""Which word: sentences of the grammar, and a question about one of their places.

    the old buyers near a bank wait      place 5?    a

All places of a sentence are asked about alike, so a model that has to answer after it
has read must keep the whole sentence.
"""

import numpy as np

from course_lib.checks import check_size, check_sizes
from course_lib.data.grammar import grammar

__all__ = ["which_word"]


def which_word(
    n: int, *, seed: int, length: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw n sentences of so many words, without their stops, and a place in each.

    Returns:
        The sentences, ids, `n length`; the place asked about, from 0, `n`; and the id
        of the word there, `n`.
    """
    check_size("n", n)
    check_sizes(length=length)
    drawn = grammar().sentences(n, seed=seed, shortest=length + 1, longest=length + 1)
    sentences = np.array(drawn)[:, :length]
    place = np.random.default_rng(seed).integers(0, length, n)
    return sentences, place, sentences[np.arange(n), place]
