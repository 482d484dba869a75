"""Every rule about shapes and kinds of input, written once for both wings.

The functions look at `.shape` and `.dtype` and at nothing else, so they know no
framework: a torch tensor, a JAX array (traced or not) and a NumPy array all pass
through the same lines and get the same words. Each function refuses what breaks its
rule with a `ValueError` that says the rule, what came, and the way out.
"""

from course_lib.checks.attention import (
    check_additive,
    check_attention,
    check_bias,
    check_cache_room,
    check_context,
    check_mask,
    check_memory,
    check_no_cache,
    check_same_length,
    check_scores,
)
from course_lib.checks.kernel_regression import check_bandwidth, check_kernel
from course_lib.checks.models import (
    check_graph,
    check_images,
    check_past,
    check_patches,
    check_pooler,
    check_sampling,
    check_steps,
    check_token_types,
    check_weights,
)
from course_lib.checks.numbers import (
    check_choice,
    check_divides,
    check_even,
    check_heads,
    check_positive,
    check_rate,
    check_size,
    check_whole,
    nearest_divisor,
)
from course_lib.checks.position import check_positions, check_rotary, check_span
from course_lib.checks.tensors import (
    check_ids,
    check_kind,
    check_logits,
    check_tensors,
    checking_values,
)

__all__ = [
    "check_additive",
    "check_attention",
    "check_bandwidth",
    "check_bias",
    "check_cache_room",
    "check_choice",
    "check_context",
    "check_divides",
    "check_even",
    "check_graph",
    "check_heads",
    "check_ids",
    "check_images",
    "check_kernel",
    "check_kind",
    "check_logits",
    "check_mask",
    "check_memory",
    "check_no_cache",
    "check_past",
    "check_patches",
    "check_pooler",
    "check_positions",
    "check_positive",
    "check_rate",
    "check_rotary",
    "check_same_length",
    "check_sampling",
    "check_scores",
    "check_size",
    "check_span",
    "check_steps",
    "check_tensors",
    "check_token_types",
    "check_weights",
    "check_whole",
    "checking_values",
    "nearest_divisor",
]
