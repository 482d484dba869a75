"""The drawn pictures of the chapter on generation: their numbers are the text's."""

import ast
import re
from pathlib import Path

import book_scripts
import matplotlib.pyplot as plt
import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
generation = book_scripts.load("generation")


def test_the_trees_probabilities_are_a_distribution():
    joint = generation.leaves()
    assert len(joint) == 12
    assert abs(sum(joint.values()) - 1) < 1e-12


def test_the_greedy_headline_is_not_the_most_probable():
    joint = generation.leaves()
    assert joint[generation.greedy()] < joint[generation.most_probable()]


def test_the_tree_is_the_chapters():
    text = book_scripts.page("generation")
    first = re.search(r"P_verb = np.array\((.*?)\)\n", text)[1]
    second = re.search(r"P_adverb = np.array\(\n(.*?)\n\)", text, re.DOTALL)[1]
    assert ast.literal_eval(first) == list(generation.FIRST.values())
    rows = [list(row.values()) for row in generation.SECOND.values()]
    assert np.array_equal(np.array(ast.literal_eval(second.strip())), np.array(rows))


def test_with_a_cache_one_row_is_computed_and_without_one_all():
    cached, again = generation.entries(True), generation.entries(False)
    n = generation.T
    assert cached["rows"] == {(n - 1, 0)}
    assert len(cached["scores"]) == n
    assert len(again["rows"]) == n
    assert len(again["scores"]) == n * (n + 1) // 2


@pytest.mark.parametrize("name", ["tree", "cache"])
def test_the_committed_picture_says_what_the_code_draws(name):
    figure = getattr(generation, name)()
    written = {text.get_text() for ax in figure.axes for text in ax.texts}
    plt.close(figure)
    committed = (ROOT / f"book/figures/generation-{name}.svg").read_text()
    for words in written:
        if words.strip():
            assert f"<!-- {words} -->" in committed, words
