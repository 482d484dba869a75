"""NBER's recessions: the chronology, and the months that it covers."""

import numpy as np
import pytest

from course_lib import data

# As the NBER prints them beside its dates: months from peak to trough.
MONTHS = [18, 8, 32, 18, 65, 38, 13, 10, 17, 18, 18, 23, 13, 24, 23, 7, 18, 14, 13, 43]
MONTHS += [13, 8, 11, 10, 8, 10, 11, 16, 6, 16, 8, 8, 18, 2]


def test_each_recession_lasts_as_long_as_the_nber_says():
    peaks, troughs = data.recessions().T
    assert ((troughs - peaks).astype(int) == MONTHS).all()
    assert (peaks[1:] > troughs[:-1]).all()


def test_a_recession_begins_after_its_peak_and_ends_with_its_trough():
    dates = ["1929-08-31", "1929-09-01", "1933-03-31", "1933-04-01", "2020-03-15"]
    found = data.in_recession(np.array(dates, dtype="datetime64[D]"))
    assert found.tolist() == [False, True, True, False, True]
    every = np.arange("1855-01", "2021-01", dtype="datetime64[M]")
    assert data.in_recession(every).sum() == sum(MONTHS)


def test_dates_keep_their_shape():
    assert data.in_recession(np.array([["1931-12"] * 3] * 2, "datetime64[M]")).all()
    assert data.in_recession(np.datetime64("1931-12-08")).shape == ()


def test_no_date_before_the_chronology():
    with pytest.raises(ValueError, match=r"begin with 1854-12: got 1800-01\. Leave"):
        data.in_recession(np.array(["1900-01", "1800-01"], "datetime64[M]"))
