"""Real data that installed libraries ship: nothing is downloaded.

No best result is known here: simple methods serve as baselines instead.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from course_lib.optional import missing

__all__ = ["Digits", "Macro", "digits", "macro"]

_COLUMNS = ("year", "quarter", "realgdp", "cpi", "unemp", "tbilrate")


@dataclass(frozen=True, eq=False)
class Macro:
    """Quarterly series of the United States, 1959Q2 to 2009Q3."""

    quarters: tuple[str, ...]  #: "1959Q2" and so on, T strings
    names: tuple[str, ...]  #: What the columns are
    #: `T 4`, all in percent: growth of real GDP over the quarter (annual rate),
    #: inflation of consumer prices over the quarter (annual rate), unemployment rate,
    #: three-month treasury bill rate (both quarterly averages).
    values: np.ndarray


def macro() -> Macro:
    """Read `statsmodels.datasets.macrodata` (Federal Reserve Bank of St. Louis).

    Growth and inflation are 400 times the change of the logarithm, so the first quarter
    of the table is lost.
    """
    try:
        from statsmodels.datasets import macrodata
    except ImportError as error:
        what = "The macroeconomic series come with"
        raise missing(what, "statsmodels", "data") from error
    table: Any = macrodata.load().data
    year, quarter, gdp, prices, unemployment, bills = (
        np.asarray(table[name], dtype=np.float64) for name in _COLUMNS
    )
    dates = zip(year[1:], quarter[1:], strict=True)
    growth, inflation = (400 * np.diff(np.log(level)) for level in (gdp, prices))
    return Macro(
        quarters=tuple(f"{y:.0f}Q{q:.0f}" for y, q in dates),
        names=("growth", "inflation", "unemployment", "interest rate"),
        values=np.stack([growth, inflation, unemployment[1:], bills[1:]], axis=1),
    )


@dataclass(frozen=True, eq=False)
class Digits:
    """Handwritten digits, split into a training and a test set."""

    images: np.ndarray  #: Gray values from 0 to 1, `N 1 8 8`, float32
    labels: np.ndarray  #: 0 to 9, `N`, int64
    test_images: np.ndarray  #: `M 1 8 8`
    test_labels: np.ndarray  #: `M`


def digits(*, seed: int) -> Digits:
    """Read scikit-learn's 1,797 digits and split them, stratified by class.

    The first third is for testing. Of the others, any number from the beginning on have
    the classes in equal shares too, so that results for growing training sets compare.
    """
    try:
        from sklearn.datasets import load_digits
    except ImportError as error:
        what = "The handwritten digits come with"
        raise missing(what, "scikit-learn", "data") from error
    images, labels = map(np.asarray, load_digits(return_X_y=True))
    rng = np.random.default_rng(seed)
    shuffled = rng.permutation(len(labels))
    # The place of an image among those of its class, spread evenly from 0 to 1: sorted
    # by it, every stretch holds the classes in equal shares.
    place = np.empty(len(labels))
    for k in range(10):
        own = shuffled[labels[shuffled] == k]
        place[own] = (np.arange(len(own)) + rng.random(len(own))) / len(own)
    order = np.argsort(place)
    test, train = order[:597], order[597:]
    scaled = (images.reshape(-1, 1, 8, 8) / 16).astype(np.float32)
    labels = labels.astype(np.int64)
    return Digits(scaled[train], labels[train], scaled[test], labels[test])
