"""One or several: sentences with a question about one of their nouns."""

import numpy as np
import pytest

from course_lib import data

LANGUAGE = data.grammar()


@pytest.fixture(scope="module")
def drawn():
    return data.one_or_several(499, seed=3)


def nouns_of(sentence):
    """The nouns of a sentence as ids of their singulars, and which are plural."""
    nouns = sentence[LANGUAGE.is_noun[sentence]]
    return LANGUAGE.lemma[nouns].tolist(), LANGUAGE.is_plural[nouns]


def test_the_answer_is_the_number_of_the_noun_asked_about(drawn):
    for sentence, asked, answer in zip(*drawn, strict=True):
        lemmas, several = nouns_of(sentence)
        assert several[lemmas.index(asked)] == answer


def test_nouns_occur_once_and_in_both_numbers(drawn):
    for sentence in drawn[0]:
        lemmas, several = nouns_of(sentence)
        assert len(set(lemmas)) == len(lemmas) >= 2
        assert set(several) == {True, False}


def test_each_noun_is_asked_about_alike(drawn):
    """Among sentences with two nouns, either is asked about half the time."""
    two = [
        nouns_of(s)[0].index(a)
        for s, a, _ in zip(*drawn, strict=True)
        if len(nouns_of(s)[0]) == 2
    ]
    assert len(two) > 200
    assert abs(np.mean(two) - 0.5) < 4 * 0.5 / np.sqrt(len(two))


def test_sentences_are_grammatical_and_of_the_lengths_asked_for(drawn):
    lengths = (drawn[0] != LANGUAGE.pad_id).sum(axis=1)
    assert drawn[0].shape == (499, 12)
    assert lengths.min() >= 4
    assert lengths.max() == 12
    for sentence, length in zip(drawn[0], lengths, strict=True):
        assert (sentence[:length] != LANGUAGE.pad_id).all()
        assert LANGUAGE.first_mistake(sentence[:length]) is None


def test_long_sentences_can_be_asked_for():
    sentences, *_ = data.one_or_several(47, seed=5, shortest=15, longest=30)
    lengths = (sentences != LANGUAGE.pad_id).sum(axis=1)
    assert sentences.shape == (47, 30)
    assert lengths.min() >= 15


def test_a_seed_fixes_the_draw():
    for one, other in zip(
        data.one_or_several(23, seed=7), data.one_or_several(23, seed=7), strict=True
    ):
        assert (one == other).all()


@pytest.mark.parametrize(("shortest", "longest"), [(1, 3), (60, 61), (9, 8)])
def test_lengths_without_such_sentences_are_refused(shortest, longest):
    with pytest.raises(ValueError, match=f"got none of {shortest} to {longest}"):
        data.one_or_several(2, seed=0, shortest=shortest, longest=longest)
