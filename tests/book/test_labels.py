"""The page on labels from a model: its thirty lines do what it says, on drawn data."""

import numpy as np
import pytest
from book_scripts import BOOK
from notebooks import read_cells

DRAWS, ROWS, CHECKED = 400, 1500, 150


@pytest.fixture(scope="module")
def page():
    """What the page's cells without a picture, a text or an address define."""
    from sklearn.linear_model import LogisticRegression

    names = {"np": np, "LogisticRegression": LogisticRegression}
    text = (BOOK / "further/labels.md").read_text("utf-8")
    for cell in read_cells(text.partition("\n## Exercises")[0]).cells:
        if cell.source.startswith(("def guess(", "def corrected(")):
            exec(cell.source, names)
    return names


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def on_nothing(label, rows):
    """A mean: the label on a constant."""
    return np.ones((len(label), 1)), label


def regression(other):
    return lambda label, rows: (
        np.column_stack([np.ones(len(label)), label]),
        other[rows],
    )


def test_without_trust_it_is_least_squares_on_the_checked_rows(page, rng):
    guesses, label, other = rng.random((3, 40)), rng.random(40), rng.random(40)
    checked, fold = rng.permutation(40)[:12], np.arange(12) % 3
    given = guesses, checked, label[checked], fold
    slopes = page["corrected"](regression(other), *given, trust=0)[0]
    X, y = regression(other)(label[checked], checked)
    assert slopes == pytest.approx(np.linalg.lstsq(X, y)[0])


def test_a_constant_guess_changes_nothing(page, rng):
    label, checked, fold = rng.random(40), rng.permutation(40)[:12], np.arange(12) % 3
    guesses, labels = np.full((3, 40), 0.7), label[checked]
    slopes, error, best = page["corrected"](on_nothing, guesses, checked, labels, fold)
    assert slopes == pytest.approx([labels.mean()])
    assert page["standard_error"](error, 12 / 40) == pytest.approx(
        (labels.var(ddof=1) / 12 * (1 - 12 / 40)) ** 0.5
    )
    assert best == pytest.approx(0)


def test_a_perfect_guess_gives_the_truth(page, rng):
    label, other = rng.random(40), rng.random(40)
    checked, fold = rng.permutation(40)[:12], np.zeros(12, dtype=int)
    design, labels = regression(other), label[checked]
    slopes, error, _ = page["corrected"](design, label[None], checked, labels, fold)
    X, y = design(label, np.arange(40))
    assert slopes == pytest.approx(np.linalg.lstsq(X, y)[0])
    assert error == pytest.approx(np.zeros(12), abs=1e-9)


def test_a_fold_is_corrected_by_its_own_model(page, rng):
    label, checked, fold = rng.random(40), rng.permutation(40)[:12], np.arange(12) % 2
    guesses = rng.random((2, 40))
    given = on_nothing, guesses, checked, label[checked], fold
    parts = []
    for k in range(2):
        unseen = np.setdiff1d(np.arange(40), checked[fold != k])
        parts.append(guesses[k, unseen].mean())
    missed = label[checked] - guesses[fold, checked]
    expected = np.mean(parts) + missed.mean()
    assert page["corrected"](*given)[0] == pytest.approx([expected])


def test_a_fold_is_guessed_by_a_model_that_has_not_seen_it(page, rng):
    x, label = rng.standard_normal((40, 3)), np.tile([0.0, 1.0], 20)
    checked, fold = rng.permutation(40)[:20], np.arange(20) % 2
    labels = label[checked]
    before = page["guess"](x, checked, labels, fold)
    after = page["guess"](x, checked, np.where(fold == 1, 1 - labels, labels), fold)
    assert np.array_equal(before[1], after[1])
    assert not np.allclose(before[0], after[0])


def test_groups_of_one_are_no_groups(page, rng):
    error = rng.standard_normal(12)
    alone = page["standard_error"](error, 0.3)
    assert page["standard_error"](error, 0.3, rng.permutation(12)) == pytest.approx(
        alone
    )
    doubled = page["standard_error"](np.repeat(error, 2), 0.3, np.repeat(range(12), 2))
    assert doubled == pytest.approx(alone)


@pytest.mark.parametrize("place", ["regressor", "outcome"])
def test_the_intervals_cover_within_their_binomial_error(page, rng, place):
    text = rng.standard_normal((ROWS, 2))
    label = (text[:, 0] + rng.logistic(size=ROWS) > 0).astype(float)
    other = 0.5 * label + text[:, 1] + rng.standard_normal(ROWS)
    guesses = 1 / (1 + np.exp(-text[:, 0] - text[:, 1]))[None]  # biased by the other
    fold = np.zeros(CHECKED, dtype=int)
    if place == "regressor":
        design, X, y = regression(other), label, other
    else:
        X, y = other, label

        def design(label, rows):
            return np.column_stack([np.ones(len(label)), other[rows]]), label

    truth, hits = np.polyfit(X, y, 1)[0], {0: 0, 1: 0}
    for _ in range(DRAWS):
        checked = rng.permutation(ROWS)[:CHECKED]
        given = guesses, checked, label[checked], fold
        for trust in hits:
            slopes, error, _ = page["corrected"](design, *given, trust)
            wide = 1.96 * page["standard_error"](error, CHECKED / ROWS)
            hits[trust] += abs(slopes[-1] - truth) <= wide
    off = 3 * (0.95 * 0.05 / DRAWS) ** 0.5
    for found in hits.values():
        assert abs(found / DRAWS - 0.95) < off


@pytest.mark.parametrize("shuffled", [False, True], ids=["label", "shuffled"])
def test_with_folds_they_cover_too_and_a_shuffled_label_is_not_found(
    page, rng, shuffled
):
    """The spread over draws is the standard error, though the models overfit."""
    text = rng.standard_normal((1200, 25))
    label = (text[:, 0] + rng.standard_normal(1200) > 0.5).astype(float)
    other = text[:, 0] + rng.standard_normal(1200)
    if shuffled:
        label = rng.permutation(label)
    truth, found = np.polyfit(label, other, 1)[0], []
    for _ in range(200):
        checked, fold = rng.permutation(1200)[:CHECKED], np.arange(CHECKED) % 4
        guesses = page["guess"](text, checked, label[checked], fold)
        given, row = (regression(other), guesses, checked, label[checked], fold), []
        for trust in (0, 1, page["corrected"](*given)[2]):
            slopes, error, _ = page["corrected"](*given, trust)
            row.append((slopes[1], page["standard_error"](error, CHECKED / 1200)))
        found.append(row)
    slopes, errors = np.moveaxis(np.array(found), -1, 0)
    covered = (abs(slopes - truth) <= 1.96 * errors).mean(axis=0)
    assert covered == pytest.approx(np.full(3, 0.95), abs=0.06)  # four standard errors
    ratio = errors.mean(axis=0) / slopes.std(axis=0)
    assert ratio == pytest.approx(np.ones(3), abs=0.2)  # again four
    if shuffled:
        assert (abs(slopes) > 1.96 * errors).mean() < 0.15
