r"""Layer norm and RMS norm (PyTorch).

    LN(x) = (x - mean) / sqrt(var + eps) * weight + bias                 (eq. 1)
    RMS(x) = x / sqrt(mean of x^2 + eps) * weight                        (eq. 2)

Eq. 1: Ba et al. 2016, section 3, arXiv:1607.06450. Eq. 2: Zhang and Sennrich 2019,
section 4, arXiv:1910.07467; eps in both stands inside the root, as in the frameworks.
"""

from collections.abc import Callable

from torch import nn

from course_lib.checks import check_choice, check_positive, check_size
from course_lib.config import NORM_KINDS, TransformerConfig

__all__ = ["final_norm", "norm_layer"]


def norm_layer(
    d_model: int, *, kind: str = "layer", eps: float = 1e-5
) -> nn.LayerNorm | nn.RMSNorm:
    """The framework's own norm layer, "layer" (eq. 1) or "rms" (eq. 2).

    Every default is written out, since the frameworks' differ.
    """
    check_size("d_model", d_model)
    check_choice("kind", kind, NORM_KINDS)
    check_positive("eps", eps)
    if kind == "rms":
        return nn.RMSNorm(d_model, eps=eps)
    return nn.LayerNorm(d_model, eps=eps)


def final_norm(config: TransformerConfig) -> Callable:
    """Final norm of a stack of blocks: the identity where blocks end in a norm.

    Others add to a stream that is never normalized itself: Radford et al. 2019, section
    2.3 (GPT-2).
    """
    if config.norm == "post":
        return nn.Identity()
    return norm_layer(config.d_model, kind=config.norm_kind, eps=config.norm_eps)
