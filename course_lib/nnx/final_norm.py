"""The norm after the last block (Flax NNX).

Pre-norm and res-post-norm blocks add to a stream that is never normalized itself, so
models built of them end in one more norm: Radford et al. 2019, section 2.3 (GPT-2).
"""

from collections.abc import Callable

import jax
from flax import nnx

from course_lib.config import TransformerConfig
from course_lib.nnx.norm import norm_layer

__all__ = ["final_norm"]


def final_norm(config: TransformerConfig, *, rngs: nnx.Rngs) -> Callable:
    """Final norm of a stack of blocks: the identity where blocks end in a norm."""
    if config.norm == "post":
        return jax.nn.identity
    return norm_layer(
        config.d_model, kind=config.norm_kind, eps=config.norm_eps, rngs=rngs
    )
