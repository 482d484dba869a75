"""Kernel regression (Nadaraya-Watson), written as attention (Flax NNX)."""

import math

import jax
import jax.numpy as jnp
from flax import nnx
from jax import Array
from jaxtyping import Bool, Float

from course_lib.checks import (
    check_attention,
    check_bandwidth,
    check_choice,
    check_size,
    check_tensors,
)
from course_lib.nnx.attention import softmax

__all__ = ["LearnedMetric", "kernel_regression", "leave_one_out"]

KERNELS = ("gaussian", "epanechnikov", "boxcar")


def _kernel_scores(
    squared_distance: Float[Array, "*B"], *, kernel: str = "gaussian"
) -> Float[Array, "*B"]:
    """Attention score of a distance: the logarithm of a kernel, up to a constant."""
    check_choice("kernel", kernel, KERNELS)
    u2 = squared_distance
    if kernel == "gaussian":
        return -u2 / 2
    if kernel == "boxcar":
        return jnp.where(u2 > 1, -math.inf, 0 * u2)  # a NaN stays NaN
    # The inner where keeps log(0), and its infinite gradient, out of the backward pass.
    return jnp.where(u2 >= 1, -math.inf, jnp.log1p(-jnp.where(u2 >= 1, 0.0, u2)))


def kernel_regression(
    q: Float[Array, "*B T F"],
    k: Float[Array, "*B S F"],
    v: Float[Array, "*B S Dv"],
    bandwidth: float | Float[Array, ""] | Float[Array, "#F"],
    mask: Bool[Array, "*#B #T #S"] | None = None,
    *,
    kernel: str = "gaussian",
) -> tuple[Float[Array, "*B T Dv"], Float[Array, "*B T S"]]:
    """Nadaraya-Watson regression: average the values whose keys lie near the query."""
    check_tensors(jax.Array, q=q, k=k, v=v)
    check_attention(q.shape, k.shape, v.shape, mask)
    bandwidth = check_bandwidth(jax.Array, bandwidth, k.shape[-1])
    wide = jnp.promote_types(q.dtype, jnp.float32)  # squares overflow in 16 bits
    at, keys = q.astype(wide), k.astype(wide)
    steps = (at[..., :, None, :] - keys[..., None, :, :]) / bandwidth  # *B T S F
    scores = _kernel_scores(jnp.square(steps).sum(axis=-1), kernel=kernel)
    if mask is not None:
        scores = jnp.where(mask, scores, -math.inf)
    weights = softmax(scores).astype(v.dtype)
    return weights @ v, weights


def leave_one_out(
    keys: Float[Array, "S F"],
    values: Float[Array, "S Dv"],
    *,
    bandwidth: float | Float[Array, ""] | Float[Array, "#F"],
    kernel: str = "gaussian",
) -> Float[Array, ""]:
    """Leave-one-out cross-validation: mean squared error of each from the others."""
    others = ~jnp.eye(keys.shape[0], dtype=bool)
    predicted, _ = kernel_regression(
        keys, keys, values, bandwidth=bandwidth, kernel=kernel, mask=others
    )
    return jnp.square(predicted - values).mean()


class LearnedMetric(nnx.Module):
    """Metric learning for kernel regression: one learned bandwidth for each feature."""

    def __init__(self, n_features: int, *, rngs: nnx.Rngs | None = None):
        check_size("n_features", n_features)
        self.log_bandwidth = nnx.Param(jnp.zeros(n_features))

    @property
    def bandwidth(self) -> Float[Array, "F"]:
        """The learned bandwidths."""
        return jnp.exp(self.log_bandwidth[...])

    def __call__(
        self,
        q: Float[Array, "*B T F"],
        k: Float[Array, "*B S F"],
        v: Float[Array, "*B S Dv"],
        mask: Bool[Array, "*#B #T #S"] | None = None,
    ) -> Float[Array, "*B T Dv"]:
        """Predictions of `kernel_regression` with these bandwidths."""
        return kernel_regression(q, k, v, self.bandwidth, mask)[0]
