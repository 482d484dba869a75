"""Paired comparisons: statsmodels' errors, and coverage over benchmarks."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm

from course_lib.measurement import compare

NAMES = {"score": "right", "model": "model", "question": "question"}
by_text = partial(compare, first="old", second="new", cluster="text", **NAMES)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def results(rng, n_texts=13, tries=1):
    """Answers of two models to questions about texts of different lengths."""
    rows = []
    for g in range(n_texts):
        easy = rng.random()
        for i in range(1 + g % 5):
            rows += [
                {"text": g, "question": i, "model": m, "right": rng.random() < easy}
                for m in ("old", "new")
                for _ in range(tries)
            ]
    table = pd.DataFrame(rows)
    return table.assign(right=table.right.astype(float))


def test_errors_are_those_of_a_regression_on_a_constant_by_cluster(rng):
    rows = results(rng)
    found = by_text(rows)
    wide = rows.pivot_table("right", ["text", "question"], "model")
    wide["difference"] = wide["new"] - wide["old"]
    groups = wide.index.get_level_values("text")
    for name in ("old", "new", "difference"):
        fit = sm.OLS(wide[name], np.ones(len(wide))).fit(
            cov_type="cluster", cov_kwds={"groups": groups}
        )
        assert found.estimate[name] == pytest.approx(fit.params.iloc[0])
        assert found.error[name] == pytest.approx(fit.bse.iloc[0])
        assert found.low[name] < found.estimate[name] < found.high[name]


def test_clusters_of_one_question_make_nothing_wider(rng):
    rows = results(rng).assign(question=lambda t: t.text * 10 + t.question)
    found = compare(rows, "old", "new", **NAMES)
    assert found.wider.to_numpy() == pytest.approx(1)


def test_tries_are_averaged_and_half_asked_questions_left_out(rng):
    rows = results(rng, tries=3)
    means = rows.groupby(["text", "question", "model"]).right.mean().reset_index()
    alone = pd.DataFrame([{"text": 0, "question": 9, "model": "old", "right": 1.0}])
    pd.testing.assert_frame_equal(
        by_text(pd.concat([rows, alone])), by_text(means), check_exact=False
    )


def test_the_difference_changes_its_sign_with_the_order(rng):
    rows = results(rng)
    there, back = by_text(rows), by_text(rows, first="new", second="old")
    assert there.estimate["difference"] == pytest.approx(-back.estimate["difference"])
    assert there.error["difference"] == pytest.approx(back.error["difference"])


def covered(rng, draws, n_texts=25, names=NAMES, **options):
    """The shares of benchmarks whose intervals have the truth, a column a row."""
    hits = []
    for _ in range(draws):
        easy = rng.beta(1, 1, (n_texts, 1))  # ten questions a text share it
        chance = {"old": 0.8 * easy, "new": 0.8 * easy + 0.1}
        tables = []
        for name, p in chance.items():
            right = (rng.random((n_texts, 10)) < p).astype(float).ravel()
            columns = {
                "model": name,
                "right": right,
                "question": np.arange(10 * n_texts),
            }
            columns["text"] = np.repeat(np.arange(n_texts), 10)
            tables.append(pd.DataFrame(columns))
        found = compare(pd.concat(tables), "old", "new", **names, **options)
        truth = np.array([0.4, 0.5, 0.1])
        hits.append((found.low <= truth) & (truth <= found.high))
    return np.mean(hits, axis=0)


def off(draws, z=3.5):
    return z * (0.95 * 0.05 / draws) ** 0.5


def test_the_intervals_cover_within_their_binomial_error(rng):
    found = covered(rng, 200, cluster="text")
    assert found == pytest.approx(np.full(3, 0.95), abs=off(200))
    alone = covered(rng, 60)  # as if questions of a text were independent
    assert alone[0] < 0.8


@pytest.mark.slow
def test_they_cover_in_2000_benchmarks(rng):
    found = covered(rng, 2000, cluster="text")
    print("compare", found)
    assert found == pytest.approx(np.full(3, 0.95), abs=off(2000))


@pytest.mark.parametrize(
    ("change", "options", "words"),
    [
        (lambda t: t, {"second": "newest"}, "two of the models"),
        (lambda t: t.drop(columns="text"), {}, "Columns must be"),
        (lambda t: t.assign(right="yes"), {}, "must hold numbers"),
        (lambda t: t.assign(right=np.nan), {}, "finite numbers"),
        (lambda t: t.assign(text=0), {}, "two clusters"),
        (lambda t: t.assign(text=None), {}, "name a group"),
        (lambda t: t.to_dict(), {}, "pandas DataFrame"),
    ],
)
def test_what_it_refuses(rng, change, options, words):
    with pytest.raises(ValueError, match=words):
        by_text(change(results(rng)), **options)
