"""The pictures of windows and origins, held to what they say about leaks."""

import book_scripts
import pytest


@pytest.fixture(scope="module")
def forecasting():
    return book_scripts.load("forecasting")


def test_a_training_window_ends_with_its_horizon_at_the_origin(forecasting):
    for row in range(forecasting.ORIGINS):
        start, middle, end = forecasting.training_window(row)
        assert end == forecasting.FIT + row
        assert end - middle == forecasting.STEPS
        assert 0 <= start < middle


def test_patches_cover_the_window(forecasting):
    assert forecasting.WINDOW % forecasting.PATCH == 0
