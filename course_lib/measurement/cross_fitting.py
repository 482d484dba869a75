"""Cross-fitting: each row is guessed by a model that hasn't seen its label.

All rows are split into folds, checked ones and others; a fold's rows are guessed by a
model that learned from the checked rows of the others (Chernozhukov et al. 2018,
doi:10.1111/ectj.12097; for labels Zrnic and Candès 2024, doi:10.1073/pnas.2322083121).
"""

from typing import Any

import numpy as np

__all__ = ["cross_fit", "predicted"]


def cross_fit(
    model: Any,
    features: Any,
    label: Any,
    *,
    folds: int = 5,
    clusters: Any = None,
    seed: int = 0,
) -> np.ndarray:
    """Guesses for all rows, each by a model that hasn't seen the row's label.

    Args:
        model: Any estimator of scikit-learn, or pipeline. Of a classifier the guess is
            the probability of the larger of two labels, as 1 among 0 and 1.
        features: A row for each text: vectors, a frame, or the texts themselves.
        label: A number for each row, NaN where it wasn't checked.
        folds: How many models are fitted.
        clusters: What goes into a fold as a whole, such as the document.
        seed: Of the split.
    """
    label = np.asarray(label, dtype=float)
    checked = ~np.isnan(label)
    if len(label) != len(features):
        raise ValueError(
            f"features and label must have a row for each text: got {len(features)} "
            f"and {len(label)}."
        )
    unit = np.arange(len(label))
    if clusters is not None:
        unit = np.unique(np.asarray(clusters).astype(str), return_inverse=True)[1]
    held = np.bincount(unit, checked) > 0  # units with a checked row
    if not 2 <= folds <= held.sum():
        raise ValueError(
            f"folds must be at least 2 and at most the checked rows or clusters: got "
            f"{folds} folds of {held.sum()}."
        )
    rng, fold = np.random.default_rng(seed), np.zeros(len(held), dtype=int)
    for some in (held, ~held):
        fold[some] = rng.permutation(int(some.sum())) % folds
    fold = fold[unit]
    found = np.empty(len(label))
    for k in range(folds):
        learn, ask = checked & (fold != k), fold == k
        known = _rows(features, learn), label[learn], _rows(features, ask)
        found[ask] = predicted(model, *known)
    return found


def predicted(model: Any, seen: Any, outcome: np.ndarray, asked: Any) -> np.ndarray:
    """What a copy of the model, fitted to rows seen, says of others.

    A classifier gives the probability of its second class, which is 1 of 0 and 1.
    """
    from sklearn.base import clone, is_classifier

    fitted: Any = clone(model)
    fitted.fit(seen, outcome)
    if not is_classifier(fitted):
        return np.asarray(fitted.predict(asked), dtype=float)
    if len(fitted.classes_) != 2:
        raise ValueError(
            "A classifier must see two labels, 0 and 1, in what it learns from: got "
            f"{[*fitted.classes_]}. Check more rows, or ask of one category at a time."
        )
    return fitted.predict_proba(asked)[:, 1]


def _rows(features: Any, some: np.ndarray) -> Any:
    """Some rows of an array, a frame, a series or a list of texts."""
    if hasattr(features, "iloc"):
        return features.iloc[np.flatnonzero(some)]
    if isinstance(features, list):
        return [features[i] for i in np.flatnonzero(some)]
    return features[some]
