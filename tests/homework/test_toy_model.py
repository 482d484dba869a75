"""The small model of an exercise on generation, which notices how it is read."""

import numpy as np
import pytest

from course_lib.homework.toy_model import ToyModel

PROMPT = 3


def ids(n):
    return np.arange(2 * n).reshape(2, n) % 5


def toy(rng, cached):
    return ToyModel(*rng.standard_normal((2, 5, 5)), PROMPT, cached)


def test_with_the_cache_it_reads_what_it_reads_at_once(rng):
    model = toy(rng, cached=True)
    text = ids(PROMPT + 2)
    whole, *_ = model.read(text)
    logits, *cache = model(text[:, :PROMPT])
    np.testing.assert_allclose(logits, whole[:, :PROMPT])
    for t in range(PROMPT, PROMPT + 2):
        logits, *cache = model(text[:, t : t + 1], *cache)
        np.testing.assert_allclose(logits, whole[:, t : t + 1])


@pytest.mark.parametrize(
    ("cached", "n", "kept", "words"),
    [
        (True, 1, 1, "keys and values must come together"),
        (False, 1, 2, "cached=False no keys and values"),
        (True, PROMPT + 1, 0, "got 4 tokens, and the prompt has 3"),
        (True, 2, 2, "must read one token: got 2"),
    ],
)
def test_it_says_how_it_may_be_read(rng, cached, n, kept, words):
    _, *cache = toy(rng, cached=True)(ids(PROMPT))
    with pytest.raises(ValueError, match=words):
        toy(rng, cached)(ids(n), *cache[:kept])
