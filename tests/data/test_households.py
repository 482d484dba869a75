"""Engel's households and the simulated ones: what is known of them must be true."""

import sys

import numpy as np
import pytest

from course_lib.data import households
from course_lib.data.households import _spending, draw_spending, engel


def test_engel_has_the_235_households_in_francs():
    pytest.importorskip("statsmodels")
    income, food = engel()
    assert income.shape == food.shape == (235,)
    assert income.dtype == food.dtype == np.float64
    # The extremes and means of the published table.
    assert income.min() == pytest.approx(377.058, abs=1e-3)
    assert income.max() == pytest.approx(4957.813, abs=1e-3)
    assert income.mean() == pytest.approx(982.473, abs=1e-3)
    assert food.mean() == pytest.approx(624.150, abs=1e-3)


def test_engels_law_holds():
    pytest.importorskip("statsmodels")
    income, food = engel()
    poor = income < np.median(income)
    assert (food / income)[poor].mean() > (food / income)[~poor].mean()


def test_without_statsmodels_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "statsmodels.datasets", None)
    with pytest.raises(ImportError, match=r"its extra \[data\]"):
        households.engel()


def test_values_scatter_around_the_truth_by_the_noise():
    sample = draw_spending(20_000, seed=1)
    error = sample.values - sample.truth
    assert error.std() == pytest.approx(sample.noise, rel=0.03)
    assert abs(error.mean()) < 0.01


def test_shapes_and_ranges():
    sample = draw_spending(13, n_noise=5, seed=0)
    assert sample.features.shape == (13, 7)
    assert sample.values.shape == sample.truth.shape == (13, 1)
    assert np.abs(sample.features).max() <= 1
    assert draw_spending(13, n_noise=0, seed=0).features.shape == (13, 2)


def test_truth_at_points_known_by_hand():
    points = np.array([[0.5, 0.0], [0.0, -1.0], [-0.5, 0.5]])
    assert _spending(points)[:, 0] == pytest.approx([1, 1, -0.75])


def test_the_truth_looks_at_the_first_two_features_only():
    sample = draw_spending(13, n_noise=5, seed=0)
    for column in range(sample.features.shape[1]):
        changed = sample.features.copy()
        changed[:, column] = 0.3
        moved = not np.allclose(_spending(changed), sample.truth)
        assert moved == (column < 2)
