"""The Flax NNX wing: every piece of the course, one module each.

The public names of the modules are here too: `course_lib.nnx.attention` is the function
(its module is imported with `from course_lib.nnx.attention import ...`).
"""

try:
    import flax.nnx as _framework  # noqa: F401
except ImportError as error:
    raise ImportError(
        "course_lib.nnx needs JAX and Flax, which this environment does not have. "
        "Install them with: pip install 'course_lib[nnx]'"
    ) from error

from course_lib.nnx.attention import attention, softmax
from course_lib.nnx.bridge import from_builtin, get_weights, set_weights
from course_lib.nnx.kernels import (
    LearnedMetric,
    kernel_scores,
    leave_one_out,
    nadaraya_watson,
)
from course_lib.nnx.linear import linear
from course_lib.nnx.long import linear_attention, tiled_attention, window_attention
from course_lib.nnx.multihead import MultiHeadAttention

__all__ = [
    "LearnedMetric",
    "MultiHeadAttention",
    "attention",
    "from_builtin",
    "get_weights",
    "kernel_scores",
    "leave_one_out",
    "linear",
    "linear_attention",
    "nadaraya_watson",
    "set_weights",
    "softmax",
    "tiled_attention",
    "window_attention",
]
