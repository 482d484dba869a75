"""Statements, their who and whom, and slips of number: the answers are right."""

import numpy as np
import pytest

from course_lib import data

N, T = 61, 11
LANGUAGE = data.grammar()


def words_of(ids):
    return LANGUAGE.decode(ids[ids != LANGUAGE.pad_id]).split()


def class_of(word):
    return LANGUAGE.classes[LANGUAGE.words.index(word)]


def test_a_statement_has_one_verb_and_ends_with_its_stop():
    for ids in data.statements(N, longest=T, seed=1):
        words = words_of(ids)
        assert words[-1] == "."
        assert words.count(".") == 1
        assert "that" not in words
        assert LANGUAGE.is_verb[ids].sum() == 1


def test_a_statement_is_one_of_the_languages_own():
    (begin,) = {LANGUAGE.source.start}
    for ids in data.statements(N, longest=T, seed=1):
        state = begin
        for word in ids[ids != LANGUAGE.pad_id]:
            assert LANGUAGE.source.emission[state, word] > 0
            state = LANGUAGE.source.next_state[state, word]


def test_fewer_from_the_same_seed_are_the_first_of_many():
    few, many = data.statements(7, seed=3), data.statements(N, seed=3)
    np.testing.assert_array_equal(few, many[:7])
    few, many = data.who_and_whom(7, seed=3), data.who_and_whom(N, seed=3)
    for one, other in zip(few, many, strict=True):
        np.testing.assert_array_equal(one, other[:7])


def test_who_is_the_first_noun_and_whom_the_first_one_after_the_verb():
    ids, verb, nouns = data.who_and_whom(N, longest=T, seed=2)
    assert (ids.shape, verb.shape, nouns.shape) == ((N, T), (N,), (N, 2))
    for row, place, pair in zip(ids, verb, nouns, strict=True):
        words = words_of(row)
        assert class_of(words[place]).startswith("verb")
        before, after = (
            [word for word in part if class_of(word).startswith("noun")]
            for part in (words[:place], words[place:])
        )
        for word, answer in zip((before[0], after[0]), pair, strict=True):
            number = LANGUAGE.words.index(word)
            assert answer in (number, LANGUAGE.other_number[number])
            assert class_of(LANGUAGE.words[answer]) == "noun singular"
        assert pair[0] != pair[1]


def test_nouns_stand_between_the_subject_and_its_verb_in_many_statements():
    ids, verb, _ = data.who_and_whom(2000, seed=4)
    before = LANGUAGE.is_noun[ids] & (np.arange(ids.shape[1]) < verb[:, None])
    assert 0.2 < (before.sum(axis=1) > 1).mean() < 0.4


def test_a_statement_is_right_if_subject_and_verb_have_one_number():
    ids, stop, right = data.right_or_wrong(N, longest=T, seed=5)
    plain = data.statements(N, longest=T, seed=5)
    for row, before, place, good in zip(ids, plain, stop, right, strict=True):
        assert LANGUAGE.words[row[place]] == "."
        assert (row == before).all() == good
        assert (row != before).sum() <= 1
        subject = row[LANGUAGE.is_noun[row]][0]
        (verb,) = row[LANGUAGE.is_verb[row]]
        assert (LANGUAGE.is_plural[subject] == LANGUAGE.is_plural[verb]) == good


def test_neither_number_alone_says_whether_a_statement_is_right():
    ids, _, right = data.right_or_wrong(4000, seed=6)
    first = LANGUAGE.is_noun[ids].argmax(axis=1)
    subject = LANGUAGE.is_plural[ids[np.arange(len(ids)), first]]
    verb = (LANGUAGE.is_plural & LANGUAGE.is_verb)[ids].any(axis=1)
    for plural in (subject, verb):
        assert abs(right[plural].mean() - right[~plural].mean()) < 0.06


@pytest.mark.parametrize(
    ("draw", "longest"),
    [(data.statements, 3), (data.who_and_whom, 5), (data.right_or_wrong, 3)],
)
def test_lengths_that_hold_no_statement_are_refused(draw, longest):
    with pytest.raises(ValueError, match="longest must be a whole number of at least"):
        draw(3, longest=longest, seed=0)
    with pytest.raises(ValueError, match="n must be"):
        draw(0, seed=0)
