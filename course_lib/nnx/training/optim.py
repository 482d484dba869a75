"""AdamW and gradient clipping (optax)."""

from typing import Any

import jax
import jax.numpy as jnp
import optax
from flax import nnx
from jax import Array
from jaxtyping import Float

from course_lib.config import TrainConfig

__all__ = ["adamw", "clip_gradient"]


def adamw(model: nnx.Module, config: TrainConfig) -> Any:
    """The optimizer of a training run: AdamW of all parameters.

    An `nnx.Optimizer`. Its rate lies in its state, so that it may change without
    compiling again.
    """
    return nnx.Optimizer(model, transform_of(config), wrt=nnx.Param)


def transform_of(config: TrainConfig) -> optax.GradientTransformation:
    # Only the rate becomes part of the state; the rest is written into the program.
    fixed = ("b1", "b2", "eps", "eps_root", "weight_decay", "mask")
    return optax.inject_hyperparams(optax.adamw, static_args=fixed)(
        learning_rate=config.learning_rate,
        b1=config.betas[0],
        b2=config.betas[1],
        eps=config.eps,
        eps_root=0.0,
        weight_decay=config.weight_decay,
        mask=lambda parameters: jax.tree.map(lambda p: p.ndim >= 2, parameters),
    )


def clip_gradient(
    grads: Any, longest: float | None, scale: Any = 1.0
) -> tuple[Any, Float[Array, ""]]:
    """Gradient clipping by norm: shorten a gradient that is longer than `longest`."""
    leaves = jax.tree.leaves(grads)
    norm = _length(leaves)

    def of_shares():  # of the largest entry: their squares do not overflow
        largest = jnp.stack([jnp.abs(g).max() for g in leaves]).max().astype(norm.dtype)
        shares = _length([g / largest for g in leaves])
        return jnp.where(jnp.isinf(largest), largest, largest * shares)

    norm = jax.lax.cond(jnp.isinf(norm), of_shares, lambda: norm) * scale
    if longest is not None:
        scale = scale * jnp.minimum(longest / norm, 1.0)
    return jax.tree.map(lambda g: (g * scale).astype(g.dtype), grads), norm


def _length(arrays: list[Any]) -> Array:
    """Of all as one vector, in 32 bits or more."""
    wide = jnp.promote_types(arrays[0].dtype, jnp.float32)
    return jnp.sqrt(sum(jnp.vdot(a, a, preferred_element_type=wide) for a in arrays))
