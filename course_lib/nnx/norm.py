r"""Layer norm and RMS norm (Flax NNX).

    LN(x) = (x - mean) / sqrt(var + eps) * weight + bias                 (eq. 1)
    RMS(x) = x / sqrt(mean of x^2 + eps) * weight                        (eq. 2)

Eq. 1: Ba et al. 2016, section 3, arXiv:1607.06450. Eq. 2: Zhang and Sennrich 2019,
section 4, arXiv:1910.07467; eps in both stands inside the root, as in the frameworks.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx
from jax import Array

from course_lib.checks import check_choice, check_positive, check_size
from course_lib.config import NORM_KINDS, TransformerConfig

__all__ = ["final_norm", "norm_layer"]


def norm_layer(
    d_model: int, *, kind: str = "layer", eps: float = 1e-5, rngs: nnx.Rngs
) -> nnx.LayerNorm | nnx.RMSNorm:
    """The framework's own norm layer, "layer" (eq. 1) or "rms" (eq. 2)."""
    check_size("d_model", d_model)
    check_choice("kind", kind, NORM_KINDS)
    check_positive("eps", eps)
    if kind == "rms":
        return nnx.RMSNorm(d_model, epsilon=eps, rngs=rngs)
    return _LayerNorm(d_model, epsilon=eps, use_fast_variance=True, rngs=rngs)


def final_norm(config: TransformerConfig, *, rngs: nnx.Rngs) -> Callable:
    """Final norm of a stack of blocks: the identity where blocks end in a norm."""
    if config.norm == "post":
        return jax.nn.identity
    return norm_layer(
        config.d_model, kind=config.norm_kind, eps=config.norm_eps, rngs=rngs
    )


class _LayerNorm(nnx.LayerNorm):
    """The framework's layer norm in its fast form, kept exact far from 0.

    Mean of squares minus squared mean is a quarter of a small training step faster than
    the mean of squared differences, and loses digits where the mean is large. A layer
    norm does not see a shift, so each vector first gives up its first entry. In 16 bits
    that difference may overflow: it is taken in 32.
    """

    def __call__(self, x: Array, *, mask: Array | None = None) -> Array:
        scale: Any = self.scale
        wide = x.astype(jnp.promote_types(x.dtype, jnp.float32))
        y = super().__call__(wide - jax.lax.stop_gradient(wide[..., :1]), mask=mask)
        return y.astype(jnp.promote_types(x.dtype, scale[...].dtype))
