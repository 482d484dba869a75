"""Baselines: the simpler methods that a network has to beat.

NumPy, SciPy and statsmodels; fitted by counting or by least squares, so there is one
version for both wings.
"""

from course_lib.baselines.conditional_logit import ConditionalLogit, conditional_logit

__all__ = ["ConditionalLogit", "conditional_logit"]
