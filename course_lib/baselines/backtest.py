"""Rolling-origin evaluation (a back-test): forecasts made as if it were the past.

At each origin t a method is fitted to the series up to t, forecasts the next H steps,
and is compared with what came (Tashman 2000, doi:10.1016/S0169-2070(00)00065-0).

    at = np.arange(100, len(y) - 8)
    walk, ar = (backtest(f, y, at, horizon=8) for f in (random_walk, autoregression()))
    print(ar.rmse, ar.relative_to(walk))
    print(diebold_mariano(ar.losses(8), walk.losses(8), lags=8))

A method is a function that is fitted to what is known, `known` of shape `T C`, and
returns a function from a past, `T C`, and a horizon H to forecasts, `H C`. Neither is
given anything but a copy of the series up to the origin. One that forecasts Q quantiles
returns `H C Q`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from course_lib.checks import check_levels, check_sizes
from course_lib.optional import missing

__all__ = ["Backtest", "DieboldMariano", "backtest", "diebold_mariano"]

Forecast = Callable[[np.ndarray, int], np.ndarray]
Fit = Callable[[np.ndarray], Forecast]


@dataclass(frozen=True, eq=False)
class Backtest:
    """Forecasts from N origins, beside what came."""

    origins: np.ndarray  #: The last step known to each forecast, `N`
    forecasts: np.ndarray  #: `N H C`, or quantiles `N H C Q`
    actual: np.ndarray  #: `N H C`

    @property
    def mse(self) -> np.ndarray:
        """Mean squared error by horizon and series, `H C`."""
        return (self._errors**2).mean(0)

    @property
    def rmse(self) -> np.ndarray:
        """Root mean squared error by horizon and series, `H C`."""
        return np.sqrt(self.mse)

    def relative_to(self, baseline: "Backtest") -> np.ndarray:
        """MSE as a multiple of a baseline's, `H C`; below 1 is better."""
        if not np.array_equal(self.origins, baseline.origins):
            raise ValueError(
                "both back-tests must have the same origins: got "
                f"{len(self.origins)} and {len(baseline.origins)}, or others."
            )
        return self.mse / baseline.mse

    def losses(self, step: int, series: int = 0) -> np.ndarray:
        """Squared errors `step` steps ahead, from 1, of one series, `N`."""
        return self._errors[:, step - 1, series] ** 2

    def pinball(self, levels: Sequence[float]) -> np.ndarray:
        """Pinball loss of each forecast, averaged over its quantiles, `N H C`."""
        check_levels(levels, self.forecasts.shape[3:])
        above = self.actual[..., None] - self.forecasts
        rank = np.asarray(levels)
        return np.maximum(rank * above, (rank - 1) * above).mean(-1)

    @property
    def inside(self) -> np.ndarray:
        """Whether what came lies between the first and the last quantile, `N H C`."""
        low, high = self.forecasts[..., 0], self.forecasts[..., -1]
        return (low <= self.actual) & (self.actual <= high)

    @property
    def _errors(self) -> np.ndarray:
        if self.forecasts.ndim != 3:
            raise ValueError(
                "squared errors are of one forecast a step, N H C: got quantiles of "
                f"shape {self.forecasts.shape}. Their loss is pinball(levels)."
            )
        return self.forecasts - self.actual


def backtest(
    fit: Fit,
    series: np.ndarray,
    origins: Sequence[int] | np.ndarray,
    horizon: int,
    *,
    refit_every: int = 1,
) -> Backtest:
    """Forecast from every origin, with no look-ahead.

    Args:
        fit: The method, as the module describes it.
        series: `T C`.
        origins: The last step known to each forecast, from 0.
        horizon: H, the steps of each forecast.
        refit_every: Fit at every so many origins only; the forecasts between are made
            from the whole past by the fit at hand. For methods that are slow to train.
    """
    check_sizes(horizon=horizon, refit_every=refit_every)
    series = np.asarray(series, dtype=np.float64)
    if series.ndim != 2:
        raise ValueError(
            f"series must be T C: got shape {series.shape}. "
            "series[:, None] makes one series of it."
        )
    origins = np.asarray(origins, dtype=np.int64)
    first, last, latest = origins.min(), origins.max(), len(series) - 1 - horizon
    if not 0 <= first <= last <= latest:
        raise ValueError(
            f"origins must be from 0 to {latest}, so that {horizon} of the "
            f"{len(series)} steps are left: got {first} to {last}."
        )
    forecasts = []
    forecast: Forecast | None = None
    for i, origin in enumerate(origins):
        if forecast is None or i % refit_every == 0:
            forecast = fit(series[: origin + 1].copy())
        made = np.asarray(forecast(series[: origin + 1].copy(), horizon))
        shape = (horizon, series.shape[1])
        if made.shape[:2] != shape or made.ndim > 3:
            raise ValueError(
                f"forecasts must be H C or H C Q, H C here {shape}: got {made.shape}."
            )
        forecasts.append(made)
    actual = np.stack([series[t + 1 : t + 1 + horizon] for t in origins])
    return Backtest(origins, np.stack(forecasts), actual)


class DieboldMariano(NamedTuple):
    """A test of equal accuracy."""

    #: The mean difference of the losses in its standard errors; negative if the first
    #: forecasts have the smaller losses.
    statistic: float
    p_value: float  #: Two-sided


def diebold_mariano(
    ours: np.ndarray, theirs: np.ndarray, *, lags: int, small_sample: bool = False
) -> DieboldMariano:
    """Diebold-Mariano test: do two forecasts have equal losses on average?

    Diebold and Mariano 1995, doi:10.1080/07350015.1995.10524599, with the standard
    error of Newey and West 1987, doi:10.2307/1913610, by statsmodels. Losses h steps
    ahead overlap and need at least h - 1 lags, the autocovariances in that error.

    With `small_sample` the statistic is made smaller, as if h = lags + 1, and compared
    with the t distribution instead of the normal (Harvey, Leybourne and Newbold 1997,
    doi:10.1016/S0169-2070(96)00719-4; their own error weighs all lags equally).
    """
    try:
        from scipy.stats import t
        from statsmodels.api import OLS
    except ImportError as error:
        raise missing("The standard error needs", "statsmodels", "data") from error
    if np.shape(ours) != np.shape(theirs) or np.array_equal(ours, theirs):
        raise ValueError(
            "ours and theirs must be different losses at the same origins: got "
            f"shapes {np.shape(ours)} and {np.shape(theirs)}."
        )
    difference = np.asarray(ours) - np.asarray(theirs)
    on_one = OLS(difference, np.ones(len(difference)))
    found = on_one.fit(cov_type="HAC", cov_kwds={"maxlags": lags})
    statistic, p_value = float(found.tvalues[0]), float(found.pvalues[0])
    if small_sample:
        n, h = len(difference), lags + 1
        statistic *= np.sqrt((n + 1 - 2 * h + h * (h - 1) / n) / n)
        p_value = 2 * t.sf(abs(statistic), n - 1)
    return DieboldMariano(float(statistic), float(p_value))
