"""Measurement: what a model's labels, scores and forecasts are worth, with an error.

pandas frames in, small frames out; scikit-learn's estimators are the models, patsy's
formulas the regressions, so there is one version for both wings.
"""

from course_lib.measurement.annotating import *
from course_lib.measurement.audits import *
from course_lib.measurement.comparing import *
from course_lib.measurement.correcting import *
from course_lib.measurement.cross_fitting import *
