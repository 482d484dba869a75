r"""Corrected regressions: a model labels all rows, people check some.

    A = λ mean_all(x̂ x̂') + mean_checked(x x' - λ x̂ x̂')
    b = λ mean_all(x̂ ŷ) + mean_checked(x y - λ x̂ ŷ),    A β = b            (eq. 1)

where a hat marks what stands there by the guess, and λ how far it is trusted. The mean
over checked rows weighs each by one over the probability that it was checked. That is
design-based supervised learning (Egami et al. 2023, arXiv:2306.04746) for λ = 1, and
prediction-powered inference with power tuning, PPI++ (Angelopoulos et al. 2023,
arXiv:2311.01453), for the λ that makes the standard error smallest.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from course_lib.measurement.columns import codes, frame_of, numbers
from course_lib.optional import missing

__all__ = ["corrected"]

NO_GUESS = "Don't drop these rows: put in any number, such as the mean of the others."


def corrected(
    frame: Any,
    formula: str,
    guesses: Mapping[str, str],
    *,
    clusters: str | None = None,
    strata: str | None = None,
    probability: str | None = None,
    finite: bool = False,
) -> Any:
    """Least squares on a model's labels, corrected by those that were checked.

        corrected(frame, "length ~ hopeful + year", {"hopeful": "guess"}, finite=True)

    A mean is the formula "hopeful ~ 1". The label may be the outcome, a regressor, in
    an interaction, or one of several. Rows must have been drawn to be checked at
    random, and a guess be made by a model that hasn't seen the row's label (a published
    one, or `cross_fit`).

    Args:
        frame: A row for each text, checked or not.
        formula: As in statsmodels and R, of columns of the frame.
        guesses: For each label's column, the column of the model's guesses, numbers
            from 0 to 1 or whatever the label is. The label has a gap (NaN) where a row
            wasn't checked, the guess has none.
        clusters: A column, such as the document: rows with the same value depend on
            each other, or were drawn together.
        strata: A column: in each of its groups rows were drawn at random, from some
            groups more than from others.
        probability: A column: each row's known probability of being checked, where
            rows were drawn one by one.
        finite: The frame holds all rows that the question is about, so that checking
            all of them would leave no error. Otherwise they are a sample of more, as
            the usual standard error of a regression supposes.

    Returns:
        A frame with three rows for each coefficient, "corrected", "checked alone"
        (λ = 0) and "plug-in" (what a regression on the guesses would say): estimate,
        standard error, the 95% interval from low to high, and trust, the λ from 0 to 1
        that makes the coefficient's own error smallest.
    """
    try:
        import pandas as pd
        from scipy.stats import t
        from statsmodels.api import OLS
    except ImportError as error:
        raise missing("The regression is that of", "statsmodels", "data") from error
    columns = (*guesses, *guesses.values(), clusters, strata, probability)
    frame = frame_of(frame, *columns)
    labels = {name: numbers(frame, name, gaps=True) for name in guesses}
    seen = (
        ~np.isnan(np.column_stack([*labels.values()])) if labels else np.empty((0, 0))
    )
    if not labels or (seen != seen[:, :1]).any():
        raise ValueError(
            "guesses must name labels, all of them known in the same rows: got "
            f"{ {name: int((~np.isnan(x)).sum()) for name, x in labels.items()} } "
            "known. Drop the labels of rows that lack another."
        )
    checked: np.ndarray = seen[:, 0].astype(bool)
    guessed = {
        name: numbers(frame, guess, way_out=NO_GUESS) for name, guess in guesses.items()
    }
    matrices = _matrices(formula, frame, guessed)
    drawn = _Draw(frame, checked, clusters, strata, probability, finite)
    X, y, names = matrices(frame.assign(**guessed))
    known = frame.iloc[np.flatnonzero(checked)].assign(
        **{n: x[checked] for n, x in labels.items()}
    )
    X_true, y_true, _ = matrices(known)
    n, k = X_true.shape
    if n <= k or np.linalg.matrix_rank(X_true) < k:
        raise ValueError(
            f"The {n} checked rows must determine all of {names}: a column is constant "
            "or a sum of others among them. Check more rows, or leave a column out."
        )

    D = drawn.weight[:, None]

    def solve(share: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The coefficients, and what rows add to their errors, in truth and guessed."""
        A, b = (
            share * (X.T @ right - (X[checked] * D).T @ right[checked])
            + (X_true * D).T @ true
            for right, true in ((X, X_true), (y, y_true))
        )
        slopes, turn = np.linalg.solve(A, b), np.linalg.inv(A).T
        true = X_true * (y_true - X_true @ slopes)[:, None] @ turn
        return slopes, true, X * (y - X @ slopes)[:, None] @ turn

    def found_with(share: float) -> tuple[np.ndarray, np.ndarray]:
        slopes, *parts = solve(share)
        a, b = drawn.design(*parts) if finite else drawn.total(*parts)
        variance = ((a + share * b) ** 2).sum(axis=0)
        return slopes, np.sqrt(variance * (n - 1) / (n - k))

    a, b = drawn.design(*solve(1.0)[1:])
    shares = (-(a * b).sum(axis=0) / ((b**2).sum(axis=0) + 1e-30)).clip(0, 1)
    rows, wide = {}, t.ppf(0.975, drawn.freedom)
    groups = {"groups": codes(frame, clusters)} if clusters else None
    plugged = {n: np.where(checked, labels[n], guessed[n]) for n in labels}
    X_all, y_all, _ = matrices(frame.assign(**plugged))
    kind = "cluster" if clusters else "HC1"
    naive = OLS(y_all, X_all).fit(cov_type=kind, cov_kwds=groups)
    ways = {"checked alone": (*found_with(0.0), 0.0)}
    ways["plug-in"] = naive.params, naive.bse, np.nan
    for j, (name, share) in enumerate(zip(names, shares, strict=True)):
        tuned = {"corrected": (*found_with(float(share)), share)}
        for way, (slopes, errors, trust) in (tuned | ways).items():
            estimate, half = slopes[j], wide * errors[j]
            ends = estimate - half, estimate + half
            rows[name, way] = estimate, errors[j], *ends, trust
    table = pd.DataFrame(rows, index=["estimate", "error", "low", "high", "trust"]).T
    return table.rename_axis(["coefficient", "way"])


def _matrices(formula: str, frame: Any, guessed: Mapping[str, np.ndarray]) -> Callable:
    """From a frame with labels filled in: regressors, outcome, regressors' names."""
    from patsy import PatsyError
    from patsy.build import build_design_matrices
    from patsy.eval import EvalEnvironment
    from patsy.highlevel import dmatrices

    names: Any = EvalEnvironment([{"np": np}])  # beside the columns, and no others
    labeled = frame.assign(**guessed)
    try:
        sides: Any = dmatrices(formula, labeled, names, NA_action="raise")
    except (PatsyError, NameError) as error:
        text = str(error).splitlines()[0]
        raise ValueError(
            f"formula must be one of the frame's columns, without gaps: got {formula!r}"
            f" and {text}. Drop rows with gaps, and quote odd names, Q('net income')."
        ) from error
    left, right = sides
    used = " ".join(f.name() for m in (left, right) for f in m.design_info.factor_infos)
    idle = [n for n in guessed if not re.search(rf"(?<!\w){re.escape(n)}(?!\w)", used)]
    if left.shape[1] != 1 or idle:
        raise ValueError(
            "formula must have one outcome, in numbers, and use the labels: got "
            f"{left.design_info.column_names} as outcome, and no use of {idle}."
        )
    infos = left.design_info, right.design_info

    def matrices(frame: Any) -> tuple[np.ndarray, np.ndarray, list[str]]:
        filled: Any = build_design_matrices(infos, frame, NA_action="raise")
        y, X = (np.asarray(side) for side in filled)
        return X, y[:, 0], right.design_info.column_names

    return matrices


class _Draw:
    """How rows were drawn to be checked, and what that means for an error."""

    def __init__(self, frame, checked, clusters, strata, probability, finite):
        if strata is not None and probability is not None:
            raise ValueError(
                "Rows are drawn by strata or by probability: got both. The share "
                "checked of a stratum is its rows' probability."
            )
        self.checked = checked
        self.cluster, stratum = codes(frame, clusters), np.zeros(len(frame), dtype=int)
        if strata is not None:
            stratum = codes(frame, strata)
        self.stratum = stratum
        own, units = stratum[checked], self.cluster[checked]
        size = np.bincount(stratum)
        found = np.bincount(own, minlength=len(size))
        # Units drawn: rows, or clusters, of which a stratum needs two.
        pairs = np.unique(np.column_stack([own, units]), axis=0)
        drawn = np.bincount(pairs[:, 0], minlength=len(size))
        if (drawn < 2).any():
            what = "clusters" if clusters else "rows"
            where = "" if strata is None else f", of one of {strata!r}'s groups"
            raise ValueError(
                f"At least two {what} must be checked{where}: got {drawn.min()}. Check "
                "more, or merge small groups."
            )
        in_part = clusters and np.isin(self.cluster[~checked], units).any()
        self.unit = np.arange(len(own)) if in_part else units  # what was drawn
        if finite and in_part:
            raise ValueError(
                "With finite=True clusters are drawn and checked as a whole: got some "
                "that are checked in part. If rows were drawn one by one, leave "
                "clusters out; if they stand for more of their kind, finite."
            )
        if probability is None:
            self.share = (found / size)[own]
        else:
            self.share = numbers(frame, probability)[checked]
            if not ((self.share > 0) & (self.share <= 1)).all():
                raise ValueError(
                    f"{probability!r} must hold probabilities above 0, at most 1: got "
                    f"{self.share.min():g} to {self.share.max():g} in checked rows."
                )
        weight = 1 / self.share
        self.weight = weight * (size / np.bincount(own, weight))[own]  # as many as rows
        self.scale = np.sqrt(drawn / (drawn - 1))[own]
        self.freedom = int(drawn.sum() - len(drawn))

    def design(self, true: np.ndarray, guessed: np.ndarray) -> tuple:
        """Sums of what the draw adds to the error, by unit drawn: a, b in a + λ b."""
        rest = np.sqrt(1 - self.share)[:, None]
        parts = (self.centered(x)[1] for x in (true, -guessed[self.checked]))
        return tuple(_sums(rest * part, self.unit) for part in parts)

    def total(self, true: np.ndarray, guessed: np.ndarray) -> tuple:
        """The same where all rows are a draw of more, by cluster."""
        mean, spread = self.centered(true)
        mean_own, spread_own = self.centered(guessed[self.checked])
        a, b = mean[self.stratum], guessed - mean_own[self.stratum]
        a[self.checked] += spread
        b[self.checked] -= spread_own
        return _sums(a, self.cluster), _sums(b, self.cluster)

    def centered(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The mean of each stratum, and what checked rows differ from it, weighted."""
        own, weight = self.stratum[self.checked], self.weight[:, None]
        mean = _sums(weight * values, own) / _sums(weight, own)
        return mean, weight * self.scale[:, None] * (values - mean[own])


def _sums(values: np.ndarray, group: np.ndarray) -> np.ndarray:
    """The sum of each group's rows; groups without rows have none."""
    found = np.zeros((group.max() + 1, values.shape[1]))
    np.add.at(found, group, values)
    return found
