"""The page on evaluation: what readers copy does what it says, on drawn data."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
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


def results(rng, n_clusters=13, tries=1):
    """Answers of two models to questions in clusters of different sizes."""
    rows = []
    for g in range(n_clusters):
        easy = rng.random()
        for i in range(1 + g % 5):
            rows += [
                {"cluster": g, "question": i, "model": m, "right": rng.random() < easy}
                for m in ("old", "new")
                for _ in range(tries)
            ]
    table = pd.DataFrame(rows)
    return table.assign(right=table.right.astype(float))


def test_errors_are_those_of_a_regression_on_a_constant_by_cluster(page, rng):
    rows = results(rng)
    found = page["compare"](rows, "old", "new")
    wide = rows.pivot_table("right", ["cluster", "question"], "model")
    wide["difference"] = wide["new"] - wide["old"]
    groups = wide.index.get_level_values("cluster")
    for name in ("old", "new", "difference"):
        fit = sm.OLS(wide[name], np.ones(len(wide))).fit(
            cov_type="cluster", cov_kwds={"groups": groups}
        )
        assert found.estimate[name] == pytest.approx(fit.params.iloc[0])
        assert found.error[name] == pytest.approx(fit.bse.iloc[0])
        assert found.low[name] < found.estimate[name] < found.high[name]


def test_clusters_of_one_question_make_nothing_wider(page, rng):
    rows = results(rng).assign(cluster=lambda t: t.cluster * 10 + t.question)
    assert page["compare"](rows, "old", "new").wider.to_numpy() == pytest.approx(1)


def test_tries_are_averaged_and_half_asked_questions_left_out(page, rng):
    rows = results(rng, tries=3)
    means = rows.groupby(["cluster", "question", "model"]).right.mean().reset_index()
    alone = pd.DataFrame([{"cluster": 0, "question": 9, "model": "old", "right": 1.0}])
    found = page["compare"](pd.concat([rows, alone]), "old", "new")
    pd.testing.assert_frame_equal(found, page["compare"](means, "old", "new"))


def test_errors_of_many_benchmarks_are_those_of_the_table(page, rng):
    y = rng.random((4, 7, 3)) < rng.random((4, 7, 1))
    rows = pd.DataFrame(
        {"cluster": g, "question": i, "model": m, "right": float(y[at, g, i])}
        for m, at in (("old", 2), ("new", 1))
        for g in range(7)
        for i in range(3)
    )
    found = page["compare"](rows, "old", "new")
    assert page["clustered_error"](y)[2] == pytest.approx(found.error["old"])
    simple = page["simple_error"](y)[2]
    assert simple == pytest.approx(found.error["old"] / found.wider["old"])


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
