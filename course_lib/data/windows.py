"""Windows of the grammar's texts: a word and its two neighbors, to fill a blank from.

    the large [MASK] grows slowly      large, grows?    firm

The windows come from the second half of each text, where its beginning hardly matters,
and are shuffled. What is then left of the best possible loss is the entropy of a word
given its neighbors, 1.54 nats.
"""

import numpy as np

from course_lib.data.grammar import grammar

__all__ = ["windows"]


def windows(n: int, *, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw n words with their neighbors.

    Returns:
        Ids of the neighbors, left and right, `n 2`, and of the words between them, `n`.
    """
    length = 32
    texts = grammar().sample(-(-n // (length - 2)), 2 * length, seed=seed)[:, length:]
    three = np.lib.stride_tricks.sliding_window_view(texts, 3, axis=1).reshape(-1, 3)
    three = np.random.default_rng([seed, 1]).permutation(three)[:n]
    return three[:, [0, 2]], three[:, 1].copy()
