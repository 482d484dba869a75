"""Reference implementations in NumPy float64: slow and obvious.

Tests and homework compare with them. No function calls another library than NumPy;
where the wings take the last two axes of a tensor, these loop.
"""

from course_lib.oracle.attention import *
from course_lib.oracle.block import *
from course_lib.oracle.graph import *
from course_lib.oracle.kernel_regression import *
from course_lib.oracle.loss import *
from course_lib.oracle.masks import *
from course_lib.oracle.norm import *
from course_lib.oracle.position import *
from course_lib.oracle.quantization import *
from course_lib.oracle.recurrent import *
from course_lib.oracle.sampling import *
from course_lib.oracle.weights import *
