"""Stretches of genes: one stop each, and the frame decides."""

import numpy as np
import pytest

from course_lib.data import genes

N, LENGTH = 22, 33


@pytest.fixture
def stretches():
    return genes.draw_genes(N, length=LENGTH, seed=3)


def as_text(letters):
    return "".join(genes.LETTERS[k] for k in letters)


def test_each_stretch_has_exactly_one_stop_and_it_is_where_it_says(stretches):
    for letters, place in zip(stretches.letters, stretches.place, strict=True):
        text = as_text(letters)
        found = [k for k in range(LENGTH - 2) if text[k : k + 3] in genes.STOPS]
        assert found == [place]


def test_reading_codon_by_codon_gives_the_label(stretches):
    for letters, label in zip(stretches.letters, stretches.stops, strict=True):
        text = as_text(letters)
        codons = [text[k : k + 3] for k in range(0, LENGTH, 3)]
        assert label == any(codon in genes.STOPS for codon in codons)


def test_half_of_them_stop(stretches):
    assert stretches.letters.shape == (N, LENGTH)
    assert stretches.stops.sum() == N // 2


def test_every_place_and_every_letter_occurs():
    many = genes.draw_genes(3000, length=12, seed=5)
    assert set(many.place) == set(range(10))
    assert set(many.letters.ravel()) == {0, 1, 2, 3}


def test_how_often_each_letter_occurs_says_next_to_nothing():
    many = genes.draw_genes(20_000, length=LENGTH, seed=7)
    for k in range(4):
        counts = (many.letters == k).sum(axis=1)
        assert abs(np.corrcoef(counts, many.stops)[0, 1]) < 0.03


@pytest.mark.parametrize(
    "wrong", [{"n": 0}, {"n": 7}, {"n": 4, "length": 31}, {"n": 4, "length": 3}]
)
def test_stretches_that_cannot_be_are_refused(wrong):
    with pytest.raises(ValueError, match=r"must be"):
        genes.draw_genes(**wrong, seed=0)
