"""Pronouns with two candidates: pairs in which only what decides differs."""

import numpy as np
import pytest

from course_lib.data import pronouns
from course_lib.data.pronouns import KINDS
from course_lib.hub import MINILM, fetch


@pytest.mark.parametrize("kind", KINDS)
def test_the_sentences_of_a_pair_differ_in_what_decides_alone(kind):
    found = pronouns(kind, 61, seed=0)
    assert len(found) == 122
    assert len({pronoun.text for pronoun in found}) > 110  # pairs may share a sentence
    for one, two in zip(found[::2], found[1::2], strict=True):
        differ = [
            (a, b)
            for a, b in zip(one.text.split(), two.text.split(), strict=True)
            if a != b
        ]
        assert len(differ) == (2 if kind == "number" else 1)  # it was, they were
        assert (one.antecedent, one.rival) == (two.rival, two.antecedent)
        words = one.text.rstrip(".").split()
        assert words.index(one.antecedent) < words.index(one.rival)
        assert words.index(one.rival) < words.index(one.pronoun)


def test_the_first_noun_is_as_often_of_either_gender_and_number():
    for kind, word in (("gender", "he"), ("number", "it")):
        first = [p.pronoun == word for p in pronouns(kind, 500, seed=2)[::2]]
        assert abs(np.mean(first) - 0.5) < 0.1


@pytest.mark.parametrize("kind", KINDS)
def test_the_seed_fixes_the_sentences(kind):
    assert pronouns(kind, 7, seed=3) == pronouns(kind, 7, seed=3)
    assert pronouns(kind, 7, seed=3) != pronouns(kind, 7, seed=4)
    assert pronouns(kind, 7, seed=3) == pronouns(kind, 11, seed=3)[:14]


def test_another_kind_and_too_many_are_refused():
    with pytest.raises(ValueError, match="kind must be"):
        pronouns("case", 3, seed=0)
    with pytest.raises(ValueError, match="at most 500: got 501"):
        pronouns("gender", 501, seed=0)


@pytest.fixture
def vocabulary(monkeypatch):
    """MiniLM's, where the extra `minilm` or an earlier fetch has brought it."""
    constants = pytest.importorskip("huggingface_hub.constants")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    try:
        folder = fetch(MINILM)
    except ValueError:
        pytest.skip("no source of the vocabulary on this machine")
    return set((folder / "vocab.txt").read_text("utf-8").split("\n"))


@pytest.mark.parametrize("kind", KINDS)
def test_every_noun_and_pronoun_is_one_token_of_minilm(kind, vocabulary):
    for pronoun in pronouns(kind, 500, seed=0):
        words = pronoun.text.lower().rstrip(".").split()
        assert set(words) <= vocabulary
        for word in (pronoun.pronoun, pronoun.antecedent, pronoun.rival):
            assert words.count(word) == 1
