"""Data that others ship: what comes out is what went in."""

import hashlib
import sys
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
def test_smaller_training_sets_begin_the_larger_and_share_the_test(n_train):
    pytest.importorskip("sklearn")
    small, whole = data.digits(seed=2, n_train=n_train), data.digits(seed=2)
    assert (small.images == whole.images[:n_train]).all()
    assert (small.test_images == whole.test_images).all()
    counts = np.bincount(small.labels, minlength=10)
    assert np.ptp(counts) <= 0.3 * n_train / 10 + 2  # near equal shares
    other = data.digits(seed=3, n_train=n_train)
    assert (other.images != small.images).any()


def test_too_many_digits_are_refused():
    pytest.importorskip("sklearn")
    with pytest.raises(ValueError, match="together at most 1797"):
        data.digits(seed=0, n_train=1500, n_test=500)


@pytest.fixture(scope="module")
def text():
    return data.english()


def test_the_text_is_the_one_the_course_was_written_with(text):
    if text.n_missing:
        pytest.skip(f"this Python's documentation lacks {text.n_missing} paragraphs")
    digest = hashlib.sha256((text.train + text.held_out).encode()).hexdigest()
    assert digest.startswith("cca2d705c023015f")


def test_most_of_the_text_is_there_in_any_version(text):
    assert text.n_missing < 100
    assert len(text.train) > 80_000
    assert 0.05 < len(text.held_out) / len(text.train) < 0.2


@pytest.mark.parametrize("everything", [False, True])
def test_nothing_held_out_has_been_read(everything):
    text = data.english(everything=everything)
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


def test_everything_is_more(text):
    everything = data.english(everything=True)
    assert len(everything.train) > 1.2 * len(text.train)
    assert everything.n_missing == 0


def test_a_python_without_documentation_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "pydoc_data.topics", None)
    with pytest.raises(ImportError, match="whole standard library"):
        data.english()


def test_a_newer_documentation_gives_what_it_still_has(monkeypatch, text):
    """Half the paragraphs rewritten: the rest comes, in order, and the loss is told."""
    import pydoc_data.topics

    changed = {
        name: body.replace("the ", "this ")
        for name, body in pydoc_data.topics.topics.items()
    }
    monkeypatch.setattr(pydoc_data.topics, "topics", changed)
    less = data.english()
    assert less.n_missing > 100
    kept = [line for line in less.train.split("\n") if line]
    order = {line: i for i, line in enumerate(text.train.split("\n"))}
    assert kept
    assert sorted(kept, key=order.__getitem__) == kept
