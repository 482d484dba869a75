"""Audits for leaks: the same forecasts, honest and with a random split of the rows.

Rows that belong together, such as one author's texts, answer for each other if a random
split puts some where a model learns and others where it is tried (Kaufman et al. 2012,
doi:10.1145/2382577.2382579). Each audit forecasts every row twice, by models that
learned from as many rows, and compares the squared errors, paired and clustered. What
the random split promises and an honest one doesn't hold is the leak.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from course_lib.measurement.columns import codes, frame_of, numbers
from course_lib.measurement.comparing import compare
from course_lib.measurement.cross_fitting import predicted
from course_lib.optional import missing

__all__ = ["leave_future_out", "leave_groups_out"]


def leave_groups_out(
    model: Any,
    frame: Any,
    features: str | Sequence[str],
    outcome: str,
    group: str,
) -> Any:
    """Squared errors with whole groups left out, beside those of a random split.

    Groups, and for "random rows" the rows, are dealt into five parts, each forecast by
    a model that learned from the others.

    Args:
        model: Any estimator of scikit-learn, or pipeline; of a classifier the forecast
            is the probability of 1.
        frame: A row for each case.
        features: The columns that it may use; a single name hands over that column
            itself, such as the texts for a pipeline that counts their words.
        outcome: The column to forecast: numbers, or 0 and 1.
        group: The column of what will be new when it counts, such as the author.

    Returns:
        What `compare` does, clustered by group: the mean squared errors of "random
        rows" and of "whole groups", and their difference.
    """
    frame = frame_of(frame, *_names(features), outcome, group)
    unit, rng = codes(frame, group), np.random.default_rng(0)
    n_groups = unit.max() + 1
    folds = _parts(n_groups, group)
    whole = (rng.permutation(n_groups) % folds)[unit]
    mixed = rng.permutation(len(frame)) % folds
    splits = {"random rows": mixed, "whole groups": whole}
    parts = {name: [] for name in splits}
    for name, fold in splits.items():
        for k in range(folds):
            asked = fold == k
            parts[name].append((np.flatnonzero(~asked), np.flatnonzero(asked)))
    return _audited(model, frame, features, outcome, group, parts)


def leave_future_out(
    model: Any,
    frame: Any,
    features: str | Sequence[str],
    outcome: str,
    time: str,
) -> Any:
    """Squared errors of forecasts from the past, beside those of a random split.

    Times are cut into five blocks. Each but the first is forecast by a model that
    learned from all earlier rows. For "random rows" each half of a block is forecast by
    one that learned from as many rows, drawn from all others, later ones too.

    Args:
        model: As in `leave_groups_out`, like the other arguments.
        frame: A row for each case.
        features: The columns that it may use.
        outcome: The column to forecast.
        time: The column of dates, or of numbers that grow with time.

    Returns:
        What `compare` does, clustered by time: the mean squared errors of "random
        rows" and of "only the past", and their difference.
    """
    frame = frame_of(frame, *_names(features), outcome, time)
    codes(frame, time)  # no gaps
    moment = frame[time].rank(method="dense").to_numpy().astype(int) - 1
    rng = np.random.default_rng(0)
    n_times = moment.max() + 1
    folds = _parts(n_times, time)
    block = moment * folds // n_times
    parts: dict[str, list] = {"random rows": [], "only the past": []}
    for k in range(1, folds):
        past, now = (
            np.flatnonzero(block < k),
            rng.permutation(np.flatnonzero(block == k)),
        )
        parts["only the past"].append((past, now))
        for asked in np.array_split(now, 2):
            others = np.setdiff1d(np.arange(len(frame)), asked)
            learn = rng.choice(others, size=min(len(past), len(others)), replace=False)
            parts["random rows"].append((learn, asked))
    return _audited(model, frame, features, outcome, time, parts)


def _parts(n: int, column: str) -> int:
    """Into how many parts so many groups or times are split."""
    if n < 2:
        raise ValueError(
            f"{column!r} must tell at least two groups or times apart: got {n}. An "
            "audit leaves some of them out."
        )
    return min(5, n)


def _names(features: str | Sequence[str]) -> list[str]:
    return [features] if isinstance(features, str) else [*features]


def _audited(model, frame, features, outcome, cluster, parts) -> Any:
    """Forecast by each way's parts, rows to learn from and rows asked, and compare."""
    try:
        import pandas as pd
    except ImportError as error:
        raise missing("Frames need", "pandas", "data") from error
    y = numbers(frame, outcome)
    x = frame[features if isinstance(features, str) else [*features]]
    tables = []
    for name, pairs in parts.items():
        for learn, asked in pairs:
            if len(asked) == 0:
                continue
            said = predicted(model, x.iloc[learn], y[learn], x.iloc[asked])
            loss = (said - y[asked]) ** 2
            columns = {"way": name, "row": asked, "loss": loss}
            columns["cluster"] = frame[cluster].to_numpy()[asked]
            tables.append(pd.DataFrame(columns))
    asked = pd.concat(tables)
    keys = {"score": "loss", "model": "way", "question": "row", "cluster": "cluster"}
    return compare(asked, *parts, **keys)
