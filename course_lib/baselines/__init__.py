"""Baselines: the simpler methods that a network has to beat, and how they are compared.

NumPy, SciPy and statsmodels; fitted by counting or by least squares, so there is one
version for both wings.
"""

from course_lib.baselines.backtest import *
from course_lib.baselines.conditional_logit import *
from course_lib.baselines.forecasts import *
from course_lib.baselines.ngram import *
