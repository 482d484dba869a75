"""What the pages on texts print, on data made up so that the right answer is known."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from book_scripts import cell
from page_cells import run_cell
from sklearn.linear_model import LogisticRegression

DRAWS, CHECKED = 200, 160
#: Of a share of 95% in so many draws: four standard errors
SLACK = 4 * (0.95 * 0.05 / DRAWS) ** 0.5


@pytest.fixture(scope="module", params=["torch", "nnx"])
def predict(request):
    """The page's kernel regression that leaves a group out."""
    names = {"torch": torch, "np": np, "jax": jax, "jnp": jnp}
    name = {"torch": "predict", "nnx": "jpredict"}[request.param]
    run_cell("further/text-as-data.md", f"def {name}(", names)
    return names[name]


@pytest.fixture(scope="module")
def texts():
    """Vectors of 6 paragraphs of each of 8 addresses by 12 presidents."""
    rng = np.random.default_rng(0)
    president, address = np.arange(576) // 48, np.arange(576) // 6
    x = (
        rng.standard_normal((12, 20))[president]
        + rng.standard_normal((96, 20))[address]
    )
    x = x + 0.7 * rng.standard_normal((576, 20))
    x = (x / np.linalg.norm(x, axis=1, keepdims=True)).astype("float32")
    return x @ x.T, {
        "paragraph": np.arange(576),
        "address": address,
        "president": president,
    }


def r2(predict, similar, y, group):
    y = y.astype("float32")
    return 1 - ((predict(similar, y, group) - y) ** 2).mean() / y.var()


def test_the_more_is_left_out_the_less_a_kernel_knows(predict, texts):
    """An outcome of presidents and addresses leaks through both, in this order."""
    similar, lists = texts
    rng = np.random.default_rng(1)
    y = rng.standard_normal(12)[lists["president"]]
    y = y + rng.standard_normal(96)[lists["address"]]
    found = [r2(predict, similar, y, group) for group in lists.values()]
    assert found[0] > found[1] + 0.1
    assert found[1] > found[2] + 0.1
    assert found[2] < 0.02


def test_a_shuffled_outcome_is_found_by_no_list(predict, texts):
    similar, lists = texts
    y = np.random.default_rng(2).permutation(576)
    for name, group in lists.items():
        assert r2(predict, similar, y, group) < 0.01, name


# Labels


@pytest.fixture(scope="module")
def page():
    """What the page on labels prints for data frames of one's own."""
    names = {"np": np, "LogisticRegression": LogisticRegression}
    exec(cell("labels", "def ols(").split("rng, every")[0], names)
    for function in ("def guess(", "def corrected("):
        run_cell("further/labels.md", function, names)
    return names


def population(n_rows, *, shuffled):
    """Features, a hidden label, and a number that goes with both, for so many rows."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((n_rows, 25))  # most of which a model can only overfit
    hidden = (x[:, 0] + rng.standard_normal(n_rows) > 0.5).astype(float)
    if shuffled:
        hidden = rng.permutation(hidden)
    number = 0.5 * hidden * (not shuffled) + x[:, 0] + rng.standard_normal(n_rows)
    return x, hidden, number


@pytest.mark.parametrize("is_outcome", [False, True], ids=["regressor", "outcome"])
@pytest.mark.parametrize("shuffled", [False, True], ids=["label", "shuffled label"])
@pytest.mark.parametrize("n_rows", [320, 1200], ids=["published", "folds"])
def test_corrected_intervals_cover_as_often_as_they_say(
    page, n_rows, shuffled, is_outcome
):
    """A model of others, when half of the rows are checked, and one for each fold.

    The guesses alone cover too seldom, and find something in a shuffled label.
    """
    x, hidden, number = population(n_rows, shuffled=shuffled)
    published = 1 / (1 + np.exp(1 - 2 * x[:, 0]))  # it has seen no row

    def design(label, rows):
        other = label, number[rows]
        regressor, outcome = other[::-1] if is_outcome else other
        return np.column_stack([np.ones(len(label)), regressor]), outcome

    truth = page["ols"](*design(hidden, np.arange(n_rows)))[0][1]
    rng, found, plugged = np.random.default_rng(1), [], []
    for _ in range(DRAWS):
        checked = rng.permutation(n_rows)[:CHECKED]
        labels, fold = hidden[checked], np.arange(CHECKED) % 4
        if n_rows == 320:
            guesses, fold = published[None], np.zeros(CHECKED, int)
        else:
            guesses = page["guess"](x, checked, labels, fold)
        given, row = (design, guesses, checked, labels, fold), []
        for trust in (0, 1, page["corrected"](*given)[2]):
            slopes, error, _ = page["corrected"](*given, trust)
            row.append((slopes[1], page["standard_error"](error, CHECKED / n_rows)))
        found.append(row)
        plugged.append(page["ols"](*design(guesses[0], np.arange(n_rows))))
    slopes, errors = np.moveaxis(found, -1, 0)
    covered = (abs(slopes - truth) <= 1.96 * errors).mean(axis=0)
    assert (abs(covered - 0.95) < SLACK).all(), covered
    ratio = errors.mean(axis=0) / slopes.std(axis=0)
    assert (abs(ratio - 1) < 4 / (2 * DRAWS) ** 0.5).all(), ratio
    slopes, errors = np.moveaxis(plugged, 1, 0)[..., 1]
    assert (abs(slopes - truth) <= 1.96 * errors).mean() < 0.4
