"""The picture of BERT's input, held to the package's layout."""

import book_scripts
import pytest

from course_lib import data


@pytest.fixture(scope="module")
def bert():
    return book_scripts.load("bert")


def test_the_picture_shows_what_the_package_lays_out(bert):
    tokens, types = bert.row()
    assert tokens.count("[CLS]") == 1
    assert [i for i, t in enumerate(tokens) if t == "[SEP]"] == [4, 7]
    assert types == [0, 0, 0, 0, 0, 1, 1, 1]


def test_the_hidden_word_fits_the_sentence(bert):
    language = data.grammar()
    words = " ".join([bert.FIRST, bert.SECOND.replace("[MASK]", bert.HIDDEN)])
    assert language.source.losses([language.encode(words)]).shape == (1, 5)
