"""Plain statements: one verb each, in the language's own order."""

import numpy as np
import pytest

from course_lib import data

N, T = 61, 11
LANGUAGE = data.grammar()


def words_of(ids):
    return LANGUAGE.decode(ids[ids != LANGUAGE.pad_id]).split()


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


def test_lengths_that_hold_no_statement_are_refused():
    with pytest.raises(ValueError, match="longest must be"):
        data.statements(3, longest=3, seed=0)
