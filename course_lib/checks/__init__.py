"""Every rule about shapes and kinds of input, written once for both wings.

The functions look at `.shape` and `.dtype` and at nothing else, so they know no
framework: a torch tensor, a JAX array (traced or not) and a NumPy array all pass
through the same lines and get the same words. Each function refuses what breaks its
rule with a `ValueError` that says the rule, what came, and the way out.
"""

from course_lib.checks.attention import *
from course_lib.checks.kernel_regression import *
from course_lib.checks.models import *
from course_lib.checks.numbers import *
from course_lib.checks.position import *
from course_lib.checks.tensors import *
from course_lib.checks.training import *
