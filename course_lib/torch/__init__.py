"""The PyTorch wing: every piece of the course, one module each.

The public names of the modules are here too: `course_lib.torch.attention` is the
function (its module is imported with `from course_lib.torch.attention import ...`).
"""

try:
    import torch as _framework  # noqa: F401
except ImportError as error:
    raise ImportError(
        "course_lib.torch needs PyTorch, which this environment does not have. "
        "Install it with: pip install 'course_lib[torch]'"
    ) from error

from course_lib.torch.attention import attention, softmax
from course_lib.torch.bridge import from_builtin, get_weights, set_weights
from course_lib.torch.kernels import (
    LearnedMetric,
    kernel_scores,
    leave_one_out,
    nadaraya_watson,
)
from course_lib.torch.linear import linear
from course_lib.torch.long import linear_attention, tiled_attention, window_attention
from course_lib.torch.multihead import MultiHeadAttention

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
