"""The equations again, in NumPy float64: slow, obvious, and the judge of everything else.

No function here calls another library than NumPy, and no function is clever. Where the
wings take the last two axes of a tensor, these loop. Tests and homework compare with them.
"""

from course_lib.oracle.attention import attention, multihead, softmax
from course_lib.oracle.kernels import kernel, leave_one_out, nadaraya_watson

__all__ = [
    "attention",
    "kernel",
    "leave_one_out",
    "multihead",
    "nadaraya_watson",
    "softmax",
]
