r"""Paired comparison: two models on the same questions, with clustered errors.

    SE² = 1/n² G/(G-1) sum_g (sum_(i in g) (y_i - mean y))²                (eq. 1)

The error of a mean over n questions in G clusters (Miller 2024, arXiv:2411.00640, for
benchmarks; Cameron and Miller 2015, doi:10.3368/jhr.50.2.317), as statsmodels computes
it for a regression on a constant. Of a difference y_i is the difference.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from course_lib.measurement.columns import codes, frame_of, numbers
from course_lib.optional import missing

__all__ = ["compare"]


def compare(
    frame: Any,
    first: Any,
    second: Any,
    *,
    score: str,
    model: str,
    question: str | Sequence[str],
    cluster: str | None = None,
) -> Any:
    """Two models' mean scores and their difference, second less first, with errors.

    Args:
        frame: A row for each answer.
        first: A name in the column `model`.
        second: Another.
        score: The column of what an answer scored: right or wrong, 1 or 0, or a loss.
        model: The column of who answered.
        question: The column, or columns, of what was asked. Several answers of a model
            to a question are averaged; a question that only one was asked is left out.
        cluster: The column of what questions belong to, such as a text; by default
            each stands for itself.

    Returns:
        A frame with rows `first`, `second` and "difference": the estimate, its
        standard error by cluster, the 95% interval from low to high (by the t
        distribution with one degree of freedom less than clusters), and how much
        `wider` it is than if questions had nothing to do with each other.
    """
    try:
        import pandas as pd
        from scipy.stats import t
        from statsmodels.api import OLS
    except ImportError as error:
        raise missing("The standard error needs", "statsmodels", "data") from error
    keys = [question] if isinstance(question, str) else [*question]
    if cluster is not None and cluster not in keys:
        keys.insert(0, cluster)
    frame = frame_of(frame, score, model, *keys)
    unknown = [one for one in (first, second) if not (frame[model] == one).any()]
    if unknown or first == second:
        raise ValueError(
            f"first and second must be two of the models in {model!r}: got {first!r} "
            f"and {second!r}, and it has {[*frame[model].unique()[:12]]}."
        )
    frame = frame[frame[model].isin([first, second])].reset_index(drop=True)
    for key in keys:
        codes(frame, key)  # no gaps
    scored = frame.assign(**{score: numbers(frame, score)})
    table = scored.pivot_table(score, keys, model, aggfunc="mean", observed=True)
    table = table[[first, second]].dropna().reset_index()
    group = codes(table, cluster)
    if len(np.unique(group)) < 2:
        raise ValueError(
            "An error needs at least two clusters of questions that both models were "
            f"asked: got {len(np.unique(group))}. Are questions named alike for both?"
        )
    table["difference"] = table[second] - table[first]
    rows, wide = {}, t.ppf(0.975, group.max())
    for name in (first, second, "difference"):
        y = table[name].to_numpy()
        by = {"groups": group}
        fit = OLS(y, np.ones(len(y))).fit(cov_type="cluster", cov_kwds=by)
        mean, error = fit.params[0], fit.bse[0]
        alone = y.std(ddof=1) / len(y) ** 0.5
        wider = error / alone if alone else np.nan
        rows[name] = mean, error, mean - wide * error, mean + wide * error, wider
    return pd.DataFrame(rows, index=["estimate", "error", "low", "high", "wider"]).T
