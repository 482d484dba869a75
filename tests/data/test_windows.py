"""Windows: a word and its two neighbors."""

import numpy as np
import pytest

from course_lib import data

SOURCE = data.grammar().source


@pytest.fixture(scope="module")
def drawn():
    return data.windows(100_003, seed=3)


def test_windows_are_three_words_in_a_row(drawn):
    """Each has a probability above zero, in the middle of a text."""
    neighbors, words = drawn
    assert neighbors.shape == (100_003, 2)
    assert words.shape == (100_003,)
    at = np.einsum("s,nsu->nu", SOURCE.stationary, SOURCE.table[neighbors[:, 0]])
    for column in (words, neighbors[:, 1]):
        at = np.einsum("ns,nsu->nu", at, SOURCE.table[column])
    assert (at.sum(axis=1) > 0).all()


def test_their_best_loss_is_the_entropy_of_a_word_between_its_neighbors(drawn):
    """It is 1.54, and the windows' own mean comes close to it."""
    step = SOURCE.table
    before = np.einsum("s,asu->au", SOURCE.stationary, step)
    three = np.einsum("au,xuv,bvw->axb", before, step, step, optimize=True)
    both = three.sum(axis=1, keepdims=True)
    given = np.divide(three, both, out=np.ones_like(three), where=both > 0)
    best = -(three * np.log(np.where(three > 0, given, 1))).sum()
    assert abs(best - 1.54) < 0.005
    (left, right), words = drawn[0].T, drawn[1]
    assert abs(-np.log(given[left, words, right]).mean() - best) < 0.02


def test_the_order_tells_nothing(drawn):
    """A window doesn't continue the one before it."""
    neighbors, words = drawn
    assert (neighbors[1:, 0] == words[:-1]).mean() < 0.2


def test_a_seed_fixes_the_draw():
    for one, other in zip(
        data.windows(23, seed=7), data.windows(23, seed=7), strict=True
    ):
        assert (one == other).all()
    assert (data.windows(23, seed=8)[1] != data.windows(23, seed=7)[1]).any()
