"""Baselines: the simpler methods that a network has to beat, and how they are compared.

NumPy, SciPy and statsmodels; fitted by counting or by least squares, so there is one
version for both wings.
"""

from course_lib.baselines.backtest import (
    Backtest,
    DieboldMariano,
    backtest,
    diebold_mariano,
    rolling_origins,
)
from course_lib.baselines.conditional_logit import ConditionalLogit, conditional_logit
from course_lib.baselines.forecasts import (
    autoregression,
    direct_autoregression,
    historical_mean,
    random_walk,
    vector_autoregression,
)
from course_lib.baselines.ngram import NGram

__all__ = [
    "Backtest",
    "ConditionalLogit",
    "DieboldMariano",
    "NGram",
    "autoregression",
    "backtest",
    "conditional_logit",
    "diebold_mariano",
    "direct_autoregression",
    "historical_mean",
    "random_walk",
    "rolling_origins",
    "vector_autoregression",
]
