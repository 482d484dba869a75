"""Data that others ship: what comes out is what went in."""

import hashlib
from importlib import resources
from zlib import crc32

import numpy as np
import pytest

from course_lib import data


def test_macro_series_have_their_units():
    pytest.importorskip("statsmodels")
    from statsmodels.datasets import macrodata

    series, table = data.macro(), macrodata.load_pandas().data
    assert series.values.shape == (202, 4)
    assert series.quarters[0] == "1959Q2"
    assert series.quarters[-1] == "2009Q3"
    named = dict(zip(series.names, series.values.T, strict=True))
    gdp = table["realgdp"].to_numpy()
    assert named["growth"][0] == pytest.approx(400 * np.log(gdp[1] / gdp[0]))
    # The table has inflation, rounded to two places.
    assert np.abs(named["inflation"] - table["infl"].to_numpy()[1:]).max() < 0.02
    assert (named["unemployment"] == table["unemp"].to_numpy()[1:]).all()
    assert (named["interest rate"] == table["tbilrate"].to_numpy()[1:]).all()


def test_digits_are_split_without_overlap():
    pytest.importorskip("sklearn")
    from sklearn.datasets import load_digits

    split = data.digits(seed=1)
    images = np.concatenate([split.images, split.test_images]).reshape(-1, 64)
    labels = np.concatenate([split.labels, split.test_labels])
    theirs, their_labels = load_digits(return_X_y=True)
    ours = sorted(map(tuple, np.column_stack([images * 16, labels])))
    assert ours == sorted(map(tuple, np.column_stack([theirs, their_labels])))
    assert split.images.shape == (1200, 1, 8, 8)
    assert split.test_images.shape == (597, 1, 8, 8)
    assert split.images.max() == 1


@pytest.mark.parametrize("n_train", [50, 100, 613])
def test_the_first_digits_have_the_classes_in_near_equal_shares(n_train):
    pytest.importorskip("sklearn")
    one, other = (data.digits(seed=seed) for seed in (2, 3))
    counts = np.bincount(one.labels[:n_train], minlength=10)
    assert np.ptp(counts) <= 0.3 * n_train / 10 + 2
    assert (one.images[:n_train] != other.images[:n_train]).any()


@pytest.fixture(scope="module")
def text():
    return data.english()


def test_the_text_is_the_one_the_course_was_written_with(text):
    digest = hashlib.sha256((text.train + text.held_out).encode()).hexdigest()
    assert digest.startswith("cca2d705c023015f")


def test_a_tenth_is_held_out_and_has_not_been_read(text):
    assert 0.05 < len(text.held_out) / len(text.train) < 0.2
    train, held_out = (
        [line for line in side.split("\n") if line]
        for side in (text.train, text.held_out)
    )
    assert len(set(train)) == len(train)
    assert not set(train) & set(held_out)
    assert not set(text.train_topics) & set(text.held_out_topics)
    assert all(crc32(t.encode()) % 10 == 0 for t in text.held_out_topics)


def test_the_text_is_prose_in_ascii(text):
    assert text.train.isascii()
    lines = [line for line in text.train.split("\n") if line]
    assert all(line[0].isupper() and line[-1] in ".:" for line in lines)
    assert "::=" not in text.train
    assert ">>>" not in text.train
    assert len(text.train.split("\n\n")) == len(text.train_topics)


def test_the_text_is_part_of_what_python_tells(text):
    from pydoc_data.topics import topics

    told = {name: " ".join(body.split()) for name, body in topics.items()}
    there = [
        paragraph in told.get(name, "")
        for name, block in zip(text.train_topics, text.train.split("\n\n"), strict=True)
        for paragraph in block.strip().split("\n")
    ]
    assert np.mean(there) > 0.8  # where quotes and dashes are ASCII


def test_the_text_comes_with_its_license():
    license = resources.files("course_lib.data") / "english-license.txt"
    assert "PYTHON SOFTWARE FOUNDATION LICENSE VERSION 2" in license.read_text("ascii")
