"""Forecasting baselines for `backtest`: random walk, mean, AR and VAR of statsmodels.

Each is a function that is fitted to a series `T C` and returns a function from a past
and a horizon H to forecasts `H C`; `autoregression` and `vector_autoregression` take
their settings first: `backtest(autoregression(max_lags=8), y, origins, horizon=8)`.
"""

import numpy as np

from course_lib.baselines.backtest import Fit, Forecast
from course_lib.checks import check_size
from course_lib.optional import missing


def random_walk(known: np.ndarray) -> Forecast:
    """Random walk: the last observation, at every horizon.

    Args:
        known: `T C`; not used, as there is nothing to fit.

    Returns:
        A function from a past and a horizon to forecasts.
    """
    return lambda past, horizon: np.repeat(past[-1:], horizon, axis=0)


def historical_mean(known: np.ndarray) -> Forecast:
    """The mean of all that is known, at every horizon.

    Args:
        known: `T C`.

    Returns:
        A function from a past and a horizon to forecasts.
    """
    mean = known.mean(0)
    return lambda past, horizon: np.tile(mean, (horizon, 1))


def autoregression(*, max_lags: int = 8) -> Fit:
    """Autoregression AR(p): each series on its own last p values, iterated.

    The order, from 0, is chosen by BIC for each series (`ar_select_order`), the
    coefficients by least squares with a constant (`AutoReg`).

    Args:
        max_lags: The largest order.

    Returns:
        A method for `backtest`.

    Raises:
        ImportError: statsmodels is not installed.
    """
    check_size("max_lags", max_lags)
    try:
        from statsmodels.tsa.ar_model import AutoReg, ar_select_order
    except ImportError as error:
        raise missing("The autoregression is that of", "statsmodels", "data") from error

    def fit(known: np.ndarray) -> Forecast:
        models = []
        for series in known.T:
            chosen = ar_select_order(series, max_lags, ic="bic")
            models.append(AutoReg(series, lags=chosen.ar_lags or 0).fit())

        def forecast(past: np.ndarray, horizon: int) -> np.ndarray:
            pairs = zip(models, past.T, strict=True)
            ahead = [model.apply(series).forecast(horizon) for model, series in pairs]
            return np.stack(ahead, axis=1)

        return forecast

    return fit


def vector_autoregression(*, max_lags: int = 4) -> Fit:
    """Vector autoregression VAR(p): each series on the last p values of all, iterated.

    The order, from 0, is chosen by BIC, the coefficients by least squares with a
    constant (`statsmodels.tsa.api.VAR`).

    Args:
        max_lags: The largest order.

    Returns:
        A method for `backtest`.

    Raises:
        ImportError: statsmodels is not installed.
    """
    check_size("max_lags", max_lags)
    try:
        from statsmodels.tsa.api import VAR
    except ImportError as error:
        raise missing("The VAR is that of", "statsmodels", "data") from error

    def fit(known: np.ndarray) -> Forecast:
        order = VAR(known).select_order(max_lags).bic
        model = VAR(known).fit(order)
        return lambda past, horizon: model.forecast(past[len(past) - order :], horizon)

    return fit
