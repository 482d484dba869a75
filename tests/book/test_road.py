"""The road's pages: one framework at a time, and one meaning for each letter."""

import re

import limits
import notebooks
import pytest
from small_books import ROOT

CHAPTERS = {path.stem: path for path in notebooks.find_chapters(ROOT / "book", [])}
PATHS = {
    name: path
    for name, path in CHAPTERS.items()
    if limits.kind_of(path.read_text("utf-8")) is None
}
OF_ONE = re.compile(r"^:::\{(torch|nnx)\}.*?^:::$", re.MULTILINE | re.DOTALL)
NAMES = {"torch": r"NNX|Flax|JAX|\bcn\.", "nnx": r"PyTorch|\bct\."}
# Letters with one meaning in the whole book, and what else they stand for elsewhere.
EVERYWHERE = {
    "H counts heads, an entropy is \\mathcal H": r"(?<![\\\w])(?<!cal )H\s*(\(|\\big)",
    "S counts keys, and scores are s_ij": r"(?<![\\A-Za-z_{])S_\{?[ij]",
    "V is the values, and a vocabulary has size N": r"\\lvert\s*\\mathcal\{?V",
}
# The same for those of the road.
SECOND_USES = {
    "E is no table, which is W_E": r"(?<![\\{_A-Za-z])E(?![A-Za-z}])",
    "V is the values, and a vocabulary has size N": r"\\lvert\s*\\mathcal\{?V|\|V\|",
    "S counts keys, and scores are s_ij": r"(?<![\\A-Za-z_{])S_\{?[ij]",
    "p is top-p alone, and a probability P": r"(?<![\\A-Za-z_{])p\(",
    "L counts blocks, and the loss is \\mathcal L": r"(?<![\\A-Za-z_{])L\s*=\s*-",
}


def lesson(name):
    """A page's text up to the exercises, without code."""
    text = limits.FRONT.sub("", CHAPTERS[name].read_text("utf-8"))
    return limits.CELL.sub("", limits.EXERCISES.split(text)[0])


@pytest.mark.parametrize("name", sorted(PATHS))
def test_prose_for_all_names_no_framework_alone(name):
    text = OF_ONE.sub("", lesson(name))
    # A page may speak of both in one sentence, as the first ones do when they say
    # what the tabs are.
    for sentence in re.split(r"(?<=[.?!:])\s", text):
        found = [bool(re.search(words, sentence)) for words in NAMES.values()]
        assert found[0] == found[1], sentence


@pytest.mark.parametrize("name", sorted(PATHS))
def test_a_tab_shows_nothing_of_the_other_framework(name):
    for cell in (limits.read_notebook(PATHS[name]) or {"cells": []})["cells"]:
        tags = cell["metadata"].get("tags", [])
        if limits.FOLDING.intersection(tags) or cell["cell_type"] != "code":
            continue
        outputs = "".join(
            "".join(out.get("text", "")) for out in cell.get("outputs", [])
        )
        for wing, words in NAMES.items():
            if wing in tags:
                assert not re.search(words, "".join(cell["source"]) + outputs)


@pytest.mark.parametrize("name", sorted(PATHS))
@pytest.mark.parametrize("rule", SECOND_USES)
def test_a_letter_has_one_meaning(name, rule):
    formulas = re.findall(r"\$\$.*?\$\$|\$[^$]+\$", lesson(name), re.DOTALL)
    found = [f for f in formulas if re.search(SECOND_USES[rule], f)]
    assert not found, f"{rule}: {found}"


@pytest.mark.parametrize("name", sorted(CHAPTERS))
def test_no_letter_and_no_word_of_the_weekend_means_something_else(name):
    text = lesson(name)
    formulas = re.findall(r"\$\$.*?\$\$|\$[^$]+\$", text, re.DOTALL)
    for rule, pattern in EVERYWHERE.items():
        found = [f for f in formulas if re.search(pattern, f)]
        assert not found, f"{rule}: {found}"
    prose = re.sub(r"`[^`]*`|\([^)]*\.py\)", "", text)
    assert "oracle" not in prose, "that is a module; a forecast is the best possible"
