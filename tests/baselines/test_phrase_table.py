"""Phrase tables: what always comes together is translated so, longest stretch first."""

import pytest

from course_lib.baselines import PhraseTable

SOURCES = ["a b", "b c", "a c", "c b", "b a"]
TARGETS = ["1 2", "2 3 3", "1 3 3", "3 3 2", "9 9"]  # "b a" is an idiom


@pytest.fixture(scope="module")
def table():
    return PhraseTable(2, 2).fit(
        [text.split() for text in SOURCES], [text.split() for text in TARGETS]
    )


def test_parts_that_always_come_together_have_a_dice_of_one(table):
    assert table.partner["c",] == (1.0, ("3", "3"))
    assert table.partner["b", "a"] == (1.0, ("9", "9"))
    dice, _ = table.partner["b",]  # in four texts, three of which have a 2
    assert dice == pytest.approx(2 * 3 / (4 + 3))


def test_texts_are_put_together_from_parts(table):
    assert table.translate(["c", "a", "b"]) == ["3", "3", "1", "2"]


def test_the_longest_good_stretch_comes_first(table):
    assert table.translate(["c", "b", "a"], good=1.1) == ["3", "3", "2", "1"]
    assert table.translate(["b", "a", "c"], good=1.0) == ["9", "9", "3", "3"]
    assert table.translate(["b", "a"], good=1.1) == ["2", "1"]


def test_what_was_never_seen_is_left_out(table):
    assert table.translate(["x", "c", "x"]) == ["3", "3"]
    assert table.translate([]) == []


def test_texts_must_come_in_pairs():
    with pytest.raises(ValueError, match="argument 2"):
        PhraseTable(1, 1).fit([["a"]], [])
