"""Households: Engel's 235 Belgian ones, and simulated ones whose true curve is known.

Engel's data come with statsmodels; Koenker and Bassett 1982 used them (Econometrica
50(1), 43-61).
"""

from dataclasses import dataclass

import numpy as np

from course_lib.optional import missing

__all__ = ["Households", "draw_spending", "engel"]

NOISE = 0.2  # standard deviation around the truth


@dataclass(frozen=True, kw_only=True)
class Households:
    """Simulated households and what is true of them."""

    features: np.ndarray  #: What is known of each, `n F`
    values: np.ndarray  #: What each one spends, truth plus noise, `n 1`
    #: The expected value given the features, `n 1`: the predictor with the smallest
    #: possible expected squared error, `noise ** 2`.
    truth: np.ndarray
    noise: float  #: Standard deviation of `values - truth`


def engel() -> tuple[np.ndarray, np.ndarray]:
    """Yearly income and food expenditure of 235 Belgian working-class households, 1857.

    Both are in francs a year, `(235,)`.
    """
    try:
        from statsmodels.datasets import engel as shipped
    except ImportError as error:
        raise missing("Engel's households come with", "statsmodels", "data") from error
    table = shipped.load()  # statsmodels calls income `endog`, as if food came first
    income = np.asarray(table.endog, dtype=np.float64)
    food = np.asarray(table.exog, dtype=np.float64)
    return income, food[:, 0]


def _spending(features: np.ndarray) -> np.ndarray:
    """The true surface of `draw_spending`: sin(π x₀) + x₁², `n 1`."""
    x = np.asarray(features, dtype=np.float64)
    return np.sin(np.pi * x[:, :1]) + x[:, 1:2] ** 2


def draw_spending(n: int, *, n_noise: int = 20, seed: int | list[int]) -> Households:
    """Households with two relevant features and many irrelevant ones.

    All features are uniform on [-1, 1] and independent. The `n_noise` irrelevant ones
    stand after the two others. A list is one seed too.
    """
    rng = np.random.default_rng(seed)
    features = rng.uniform(-1, 1, (n, 2 + n_noise))
    truth = _spending(features)
    values = truth + NOISE * rng.standard_normal(truth.shape)
    return Households(features=features, values=values, truth=truth, noise=NOISE)
