"""Forecasting baselines for `backtest`: random walk, AR and VAR of statsmodels.

Each is a method for `backtest`; those that regress take their settings first:
`backtest(autoregression(max_lags=8), y, origins, horizon=8)`. The order of a
regression, from 0 to `max_lags`, is chosen by BIC.
"""

import numpy as np

from course_lib.baselines.backtest import Fit, Forecast
from course_lib.optional import missing

__all__ = ["autoregression", "random_walk", "vector_autoregression"]


def random_walk(known: np.ndarray) -> Forecast:
    """Random walk: the last observation, at every horizon. Nothing is fitted."""
    return lambda past, horizon: np.repeat(past[-1:], horizon, axis=0)


def autoregression() -> Fit:
    """Autoregression AR(p): each series on its own last p values, iterated.

    The order, up to 8, is chosen for each series (`ar_select_order`), the coefficients
    by least squares with a constant (`AutoReg`).
    """
    try:
        from statsmodels.tsa.ar_model import AutoReg, ar_select_order
    except ImportError as error:
        raise missing("The autoregression is that of", "statsmodels", "data") from error

    def order_of(y: np.ndarray) -> int:
        return len(ar_select_order(y, 8, ic="bic").ar_lags or ())

    def fit(known: np.ndarray) -> Forecast:
        models = [AutoReg(y, lags=order_of(y)).fit() for y in known.T]

        def forecast(past: np.ndarray, horizon: int) -> np.ndarray:
            pairs = zip(models, past.T, strict=True)
            ahead = [model.apply(series).forecast(horizon) for model, series in pairs]
            return np.stack(ahead, axis=1)

        return forecast

    return fit


def vector_autoregression() -> Fit:
    """Vector autoregression VAR(p): each series on the last p values of all, iterated.

    The order is up to 4. By least squares with a constant (`statsmodels.tsa.api.VAR`).
    """
    try:
        from statsmodels.tsa.api import VAR
    except ImportError as error:
        raise missing("The VAR is that of", "statsmodels", "data") from error

    def fit(known: np.ndarray) -> Forecast:
        order = VAR(known).select_order(4).bic
        if not order:  # statsmodels before 0.15 cannot forecast from no past
            mean = known.mean(axis=0)
            return lambda _, horizon: np.tile(mean, (horizon, 1))
        model = VAR(known).fit(order)
        return lambda past, horizon: model.forecast(past[len(past) - order :], horizon)

    return fit
