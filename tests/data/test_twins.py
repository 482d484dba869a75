"""Phrases before a verb and their twins: the grammar's own, and only order tells."""

import numpy as np
import pytest

from course_lib import data

LANGUAGE = data.grammar()


def first_noun(row):
    return next(i for i in row if LANGUAGE.is_noun[i])


@pytest.mark.parametrize("words", [5, 7, 11])
def test_a_phrase_and_its_verb_begin_a_sentence_of_the_grammar(words):
    ids, verbs = data.phrases(53, words, seed=3)
    assert ids.shape == (53, words + 1)
    assert (ids[:, -1] == LANGUAGE.mask_id).all()
    assert LANGUAGE.is_verb[verbs].all()
    for row, verb in zip(ids, verbs, strict=True):
        assert LANGUAGE.first_mistake([*row[:-1], verb]) is None
        assert LANGUAGE.is_plural[verb] == LANGUAGE.is_plural[first_noun(row)]
        near = sum(LANGUAGE.words[i] in ("near", "behind") for i in row)
        assert near == LANGUAGE.is_noun[row].sum() - 1 >= 1


def test_phrases_come_in_the_grammars_proportions():
    """Those of texts that happen to begin with such a phrase and a verb."""
    words, texts = 5, LANGUAGE.sample(60_000, 6, seed=5)
    classes = np.array([name.split(" ")[0] for name in LANGUAGE.classes])
    shape = ["determiner", "noun", "preposition", "determiner", "noun"]
    kept = (classes[texts[:, :words]] == shape).all(axis=1)
    found = texts[kept & LANGUAGE.is_verb[texts[:, words]]]
    assert len(found) > 2000
    ids, verbs = data.phrases(20_000, words, seed=7)
    drawn = np.column_stack([ids[:, :words], verbs])
    for t in range(words + 1):
        p, q = (
            np.bincount(rows[:, t], minlength=LANGUAGE.vocab_size) / len(rows)
            for rows in (found, drawn)
        )
        assert (np.abs(p - q) < 4.5 * np.sqrt(q * (1 - q) / len(found)) + 1e-3).all()


@pytest.mark.parametrize("words", [5, 8, 16])
def test_twins_have_the_same_words_and_opposite_verbs(words):
    ids, plural = data.twins(31, words, seed=11)
    assert ids.shape == (62, words + 1)
    assert (np.sort(ids[::2]) == np.sort(ids[1::2])).all()
    assert (plural[::2] != plural[1::2]).all()
    assert 0.2 < plural[::2].mean() < 0.8
    for row, several in zip(ids, plural, strict=True):
        assert LANGUAGE.first_mistake(row[:-1]) is None
        assert LANGUAGE.is_plural[first_noun(row)] == several


@pytest.mark.parametrize("draw", [data.phrases, data.twins])
def test_a_seed_fixes_the_draw(draw):
    first, again, other = (draw(13, 8, seed=seed) for seed in (1, 1, 2))
    assert all((a == b).all() for a, b in zip(first, again, strict=True))
    assert not (first[0] == other[0]).all()


@pytest.mark.parametrize("draw", [data.phrases, data.twins])
def test_a_phrase_needs_two_noun_phrases(draw):
    with pytest.raises(ValueError, match="at least 5, two noun phrases"):
        draw(3, 4, seed=0)
