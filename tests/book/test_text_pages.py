"""What the pages on texts print, on data made up so that the right answer is known."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from book_scripts import cell
from page_cells import run_cell
from sklearn.linear_model import LogisticRegression

DRAWS, ROWS, CHECKED = 200, 600, 120
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


def population(seed, *, shuffled):
    """Features, a hidden label, and a number that goes with both, for `ROWS` rows."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((ROWS, 3))
    hidden = (x[:, 0] + rng.standard_normal(ROWS) > 0.5).astype(float)
    if shuffled:
        hidden = rng.permutation(hidden)
    number = 0.5 * hidden * (not shuffled) + x[:, 0] + rng.standard_normal(ROWS)
    return x, hidden, number


@pytest.mark.parametrize("is_outcome", [False, True], ids=["regressor", "outcome"])
@pytest.mark.parametrize("shuffled", [False, True], ids=["label", "shuffled label"])
def test_corrected_intervals_cover_as_often_as_they_say(page, shuffled, is_outcome):
    """With folds, and for a model of others; the guesses alone cover too seldom."""
    x, hidden, number = population(0, shuffled=shuffled)
    published = 1 / (1 + np.exp(1 - 2 * x[:, 0]))  # it has seen no row

    def design(label, rows):
        other = label, number[rows]
        regressor, outcome = other[::-1] if is_outcome else other
        return np.column_stack([np.ones(len(label)), regressor]), outcome

    truth = page["ols"](*design(hidden, np.arange(ROWS)))[0][1]
    if shuffled:
        assert abs(truth) < 0.1
    rng, share, hits, plugged = np.random.default_rng(1), CHECKED / ROWS, [], []
    for _ in range(DRAWS):
        checked, row = rng.permutation(ROWS)[:CHECKED], []
        labels, fold = hidden[checked], np.arange(CHECKED) % 4
        for guesses, part in (
            (page["guess"](x, checked, labels, fold), fold),
            (published[None], np.zeros(CHECKED, int)),
        ):
            given = design, guesses, checked, labels, part
            for trust in (0, 1, page["corrected"](*given)[2]):
                slopes, error, _ = page["corrected"](*given, trust)
                row.append((slopes[1], page["standard_error"](error, share)))
        hits.append([abs(b - truth) <= 1.96 * e for b, e in row])
        slopes, errors = page["ols"](*design(guesses[0], np.arange(ROWS)))
        plugged.append(abs(slopes[1] - truth) <= 1.96 * errors[1])
    covered = np.mean(hits, axis=0)
    assert (abs(covered - 0.95) < SLACK).all(), covered
    assert np.mean(plugged) < 0.1
