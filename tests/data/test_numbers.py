"""Numbers in words: three sets that share nothing, two digits that training lacks."""

import builtins
import itertools

import numpy as np
import pytest

from course_lib import data

pytest.importorskip("num2words")


@pytest.fixture(scope="module")
def task():
    return data.numbers(seed=3, n_train=997, n_random=101, n_combinations=103)


def endings(value):
    """The last two digits of each group of three, read off the decimal string."""
    text = f"{value:06d}"
    return {int(text[1:3]), int(text[4:6])}


def test_no_number_is_in_two_sets(task):
    sets = [task.train.values, task.random.values, task.combinations.values]
    assert [len(s) for s in sets] == [997, 101, 103]
    together = np.concatenate(sets)
    assert len(np.unique(together)) == len(together)


def test_held_out_combinations_are_where_they_belong(task):
    unseen = set(task.unseen)
    for phrases in (task.train, task.random):
        assert not any(unseen & endings(v) for v in phrases.values)
    assert all(unseen & endings(v) for v in task.combinations.values)


def test_each_digit_of_a_held_out_combination_is_met_elsewhere(task):
    met = set().union(*map(endings, task.train.values))
    for number in task.unseen:
        tens, ones = divmod(number, 10)
        assert sum(m // 10 == tens and m % 10 > 0 for m in met) >= 3
        assert sum(m % 10 == ones and m > 20 for m in met) >= 3
    assert {number // 10 for number in task.unseen} == set(range(2, 10))


def test_words_are_those_of_the_library(task):
    from num2words import num2words

    for phrases in (task.train, task.random, task.combinations):
        for i in range(0, len(phrases.values), 23):
            value = int(phrases.values[i])
            assert phrases.sources[i] == num2words(value, lang="en")
            assert phrases.targets[i] == num2words(value, lang="fr")


def test_source_and_target_are_functions_of_each_other(task):
    """Otherwise no exact match of 1 would be within reach."""
    sources = task.train.sources + task.random.sources + task.combinations.sources
    targets = task.train.targets + task.random.targets + task.combinations.targets
    assert len(set(sources)) == len(sources) == len(set(targets))


def test_short_numbers_are_frequent(task):
    lengths = np.array([len(str(v)) for v in task.train.values])
    assert (lengths <= 3).mean() > 0.2


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"limit": 1000, "n_train": 990}, "enough numbers without"),
        (
            {"limit": 1000, "n_train": 9, "n_combinations": 500},
            "enough numbers with unseen",
        ),
        ({"unseen": (97, 14)}, "from 21 to 99"),
        ({"unseen": (97, 40)}, "such as ninety-seven: got 40"),
    ],
)
def test_refusals_say_what_came(settings, words):
    with pytest.raises(ValueError, match=words):
        data.numbers(**{"seed": 0, "n_random": 7, "n_combinations": 7, **settings})


@pytest.mark.parametrize(
    ("library", "call"),
    [
        ("num2words", lambda: data.numbers(seed=0, n_train=3)),
        ("statsmodels", data.macro),
        ("sklearn", lambda: data.digits(seed=0)),
    ],
)
def test_a_missing_library_is_named_with_its_extra(monkeypatch, library, call):
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name.split(".")[0] == library:
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"its extra \[data\]"):
        call()


def test_every_pair_of_sets_stays_apart_for_other_seeds():
    for seed in range(5):
        task = data.numbers(
            seed=seed, n_train=301, n_random=53, n_combinations=53, limit=10_000
        )
        sets = (task.train, task.random, task.combinations)
        for one, other in itertools.combinations(sets, 2):
            assert not set(one.values) & set(other.values)
