"""What Part I says of a published encoder: stored, and held to the live model."""

import json
import re

import numpy as np
import pytest
from book_scripts import FIGURES, load, page
from safetensors.numpy import load_file

from course_lib import hub

# The oldest `tokenizers` that we allow calls what it then uses itself deprecated.
pytestmark = pytest.mark.filterwarnings("ignore:Deprecated in 0.9.0")


def prose(slug):
    """The page's text on one line."""
    return " ".join(page(slug).split())


@pytest.fixture(scope="module")
def stored():
    return json.loads((FIGURES / "voices.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def live():
    pytest.importorskip("torch")
    return load("voices", "checkpoints").measure()


@pytest.mark.parametrize("voice", ["active", "passive"])
def test_the_stored_maps_are_those_of_the_published_model(voice, stored, live):
    held, made = stored["sentences"][voice], live["sentences"][voice]
    assert held["tokens"] == made["tokens"]
    for head in ("word before", "whom"):
        found = np.array(made[head])
        np.testing.assert_allclose(held[head], found, rtol=0, atol=0.002)
        assert abs(found.sum(axis=-1) - 1).max() < 0.01
    difference = np.subtract(stored["to_whom"][voice], live["to_whom"][voice])
    assert abs(difference).max() <= 2  # near ties, on another processor


def test_the_page_says_what_the_heads_do(stored):
    sentences, pairs = stored["sentences"], stored["pairs"]
    for voice, verb, share in (("active", "saw", "71%"), ("passive", "seen", "81%")):
        tokens = sentences[voice]["tokens"]
        weight = sentences[voice]["whom"][tokens.index(verb)][tokens.index("dog")]
        assert f"{weight:.0%}" == share
        before = np.array(sentences[voice]["word before"])[1:].argmax(axis=-1)
        assert before.tolist() == list(range(len(tokens) - 1))
    active, passive = (np.ravel(stored["to_whom"][v]) for v in ("active", "passive"))
    whom = 12 * 3 + 1
    said = prose("multi-head")
    assert f"We counted {pairs} sentences of each voice" in said
    shares = f"{active[whom] / pairs:.0%} of the active ones"
    assert f"{shares} and {passive[whom] / pairs:.0%} of the passive" in said
    assert np.delete(np.minimum(active, passive), whom).max() < 0.65 * pairs
    by_place = (active > 0.99 * pairs) & (passive < 0.01 * pairs)
    assert by_place.sum() == 3


def test_the_nearest_words_are_those_of_the_published_table():
    folder = hub.fetch(hub.MINILM)
    words = (folder / "vocab.txt").read_text("utf-8").split("\n")
    name = "embeddings.word_embeddings.weight"
    rows = load_file(folder / "model.safetensors")[name].astype(float)
    assert f"whose table has {len(rows):,d} rows" in prose("tokens")
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    table = page("tokens").partition(":name: tab-tokens-real")[2].partition("```")[0]
    listed = dict(re.findall(r"^\* - (\w+)\n  - (.+)$", table, re.MULTILINE)[1:])
    assert list(listed) == ["inflation", "bank", "bond", "like"]
    for word, nearest in listed.items():
        order = np.argsort(-rows @ rows[words.index(word)])
        assert [words[i] for i in order[1:6]] == nearest.split(", ")
    like, eat, green = (rows[words.index(word)] for word in ("like", "eat", "green"))
    assert f"cosines of {like @ eat:.2f} and {like @ green:.2f}" in prose("tokens")
