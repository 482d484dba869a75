"""Which word: sentences with a question about one of their places."""

import numpy as np
import pytest

from course_lib import data

LANGUAGE = data.grammar()


def test_the_answer_is_the_word_in_the_place_asked_about():
    sentences, place, word = data.which_word(50, seed=3, length=6)
    for sentence, t, right in zip(sentences, place, word, strict=True):
        assert sentence[t] == right


@pytest.mark.parametrize("length", [3, 4, 12])
def test_sentences_are_grammatical_and_lack_only_their_stop(length):
    sentences, *_ = data.which_word(40, seed=5, length=length)
    assert sentences.shape == (40, length)
    for sentence in sentences:
        assert not np.isin(sentence, LANGUAGE.encode(". ?")).any()
        assert LANGUAGE.first_mistake(sentence) is None


def test_all_places_are_asked_about_alike():
    _, place, _ = data.which_word(2000, seed=1, length=4)
    counts = np.bincount(place, minlength=4)
    assert counts.sum() == 2000
    assert np.abs(counts - 500).max() < 4 * np.sqrt(2000 * 0.25 * 0.75)


def test_a_seed_fixes_the_draw():
    one, again = (data.which_word(23, seed=7, length=5) for _ in range(2))
    for a, b in zip(one, again, strict=True):
        np.testing.assert_array_equal(a, b)
