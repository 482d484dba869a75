"""The page on evaluation: what readers copy does what it says, on drawn data."""

import numpy as np
import pandas as pd
import pytest
from book_scripts import BOOK
from notebooks import read_cells


@pytest.fixture(scope="module")
def page():
    """The functions that the page defines."""
    names = {"np": np, "pd": pd}
    text = (BOOK / "architectures/evaluation.md").read_text("utf-8")
    for cell in read_cells(text.partition("\n## Exercises")[0]).cells:
        for part in cell.source.split("\n\n\n"):
            if part.startswith("def ") and "plt" not in part:
                exec(part, names)
    return names


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def answers(rng):
    """Two questions, with answers that the judge can't tell apart."""
    p = rng.dirichlet(np.ones(5), size=2).ravel()
    table = pd.DataFrame({"question": np.repeat([0, 1], 5), "value": 0, "p": p})
    table["value"] = [0, 1, 2, 2, 3, 0, 1, 2, 2, 3]
    return table.assign(right=table.value == 2)


@pytest.mark.parametrize("n", [1, 3, 20])
def test_best_of_n_is_picked_as_often_as_in_draws(page, rng, n):
    table = answers(rng)
    score = np.array([0.5, -1, 0.5, 2, 0, 1, 1, 1, 0, 3.0])
    found = page["picked"](table, score, n).to_numpy().reshape(2, 5)
    assert found.sum(axis=1) == pytest.approx(1)
    for q, p in enumerate(table.p.to_numpy().reshape(2, 5)):
        own = score[5 * q : 5 * q + 5]
        drawn = rng.choice(5, size=(20_000, n), p=p)
        first = drawn[np.arange(20_000), own[drawn].argmax(axis=1)]
        shares = np.bincount(first, minlength=5) / 20_000
        assert found[q] == pytest.approx(shares, abs=0.015)


def test_a_vote_counts_an_answer_however_it_is_written(page, rng):
    table = answers(rng).assign(p=np.tile([0.1, 0.35, 0.2, 0.2, 0.15], 2))
    assert page["vote"](table, 2001, rng) > 0.9  # 0.4 against 0.35
    alone = page["vote"](table, 1, rng, draws=20_000)
    assert alone == pytest.approx(0.4, abs=0.015)
