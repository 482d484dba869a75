r"""AdamW and gradient clipping (optax).

    m <- β1 m + (1 - β1) g,   v <- β2 v + (1 - β2) g²                        (eq. 1)
    w <- w - η [ (m / (1 - β1^t)) / (sqrt(v / (1 - β2^t)) + ε) + λ w ]       (eq. 2)

Loshchilov and Hutter 2019, algorithm 2, arXiv:1711.05101, where the decay λ is also
multiplied by the rate η, as both frameworks do. λ pulls on parameters with two axes or
more; biases and norms, with one, are left alone.
"""

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
    transform = transform_of(
        config.betas, config.eps, config.weight_decay, config.learning_rate
    )
    return nnx.Optimizer(model, transform, wrt=nnx.Param)


def transform_of(
    betas: tuple[float, float], eps: float, weight_decay: float, rate: float = 0.0
) -> optax.GradientTransformation:
    # Only the rate becomes part of the state; the rest is written into the program.
    fixed = ("b1", "b2", "eps", "eps_root", "weight_decay", "mask")
    return optax.inject_hyperparams(optax.adamw, static_args=fixed)(
        learning_rate=rate,
        b1=betas[0],
        b2=betas[1],
        eps=eps,
        eps_root=0.0,
        weight_decay=weight_decay,
        mask=lambda parameters: jax.tree.map(lambda p: p.ndim >= 2, parameters),
    )


def clip_gradient(
    grads: Any, longest: float | None, scale: Any = 1.0
) -> tuple[Any, Float[Array, ""]]:
    """Gradient clipping by norm: shorten a gradient that is longer than `longest`.

    All its arrays are taken as one vector (Pascanu et al. 2013, algorithm 1,
    arXiv:1211.5063). It is multiplied by `scale` first. Returns the gradient, and the
    length that it had between the two.
    """
    squares = [jnp.vdot(g, g) for g in jax.tree.leaves(grads)]
    norm = jnp.sqrt(sum(squares)) * scale
    if longest is not None:
        scale = scale * jnp.minimum(longest / norm, 1.0)
    return jax.tree.map(lambda g: (g * scale).astype(g.dtype), grads), norm
