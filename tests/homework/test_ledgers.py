"""Challenges on a ledger: baseline and bound are what they say they are."""

import itertools

import numpy as np
import pytest

from course_lib.data.markov import entropy
from course_lib.homework import CHALLENGES

NAMES = ("next_code", "missing_codes")


def draw(name, seed=7):
    return CHALLENGES[name].draw(np.random.default_rng(seed))["a ledger"]


@pytest.mark.parametrize("name", NAMES)
def test_the_true_distribution_reaches_the_bound_and_nothing_passes_it(name):
    challenge, d = CHALLENGES[name], draw(name)
    exact = np.log(d.truth + 1e-12)
    assert challenge.score(exact, d.truth) == pytest.approx(d.bound, abs=1e-6)
    for size in (0.01, 0.3):
        noise = np.random.default_rng(0).normal(0, size, exact.shape)
        assert challenge.score(exact + noise, d.truth) > d.bound


@pytest.mark.parametrize("name", NAMES)
def test_a_uniform_guess_costs_the_logarithm_of_the_codes(name):
    challenge, d = CHALLENGES[name], draw(name)
    uniform = challenge.score(np.zeros(d.shape), d.truth)
    assert uniform == pytest.approx(np.log(32))
    assert d.bound < d.baseline < uniform


@pytest.mark.parametrize("name", NAMES)
def test_what_the_answer_is_given_does_not_hold_the_truth(name):
    ids, new, n_codes = draw(name).arguments
    assert ids.max() < n_codes == 32
    if name == "missing_codes":
        asked = draw(name).truth.sum(-1) > 0
        assert (new[asked] == n_codes).all()
        assert (new[~asked] < n_codes).all()
    else:
        assert new.shape[1] == ids.shape[1] - 1


def test_the_baseline_is_the_table_of_pairs():
    d = draw("next_code")
    ids, contexts, n_codes = d.arguments
    counts = np.ones((n_codes, n_codes))
    for row in ids:
        for before, after in itertools.pairwise(row):
            counts[before, after] += 1
    table = counts / counts.sum(axis=1, keepdims=True)
    loss = -(d.truth * np.log(table[contexts[:, -1]])).sum(-1).mean()
    assert loss == pytest.approx(d.baseline)


def test_gaps_are_filled_from_both_sides():
    d = draw("missing_codes")
    rows = d.truth[d.truth.sum(-1) > 0]
    assert d.bound == pytest.approx(entropy(rows).mean())
    assert d.bound < draw("next_code").bound  # the past alone tells less
