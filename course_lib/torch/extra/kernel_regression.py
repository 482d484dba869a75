r"""Kernel regression (Nadaraya-Watson), written as attention (PyTorch).

    y(x) = sum_i w_i(x) y_i
    w_i(x) = K(|x - x_i| / h) / sum_j K(|x - x_j| / h)                    (eq. 1)

Nadaraya 1964, doi:10.1137/1109020; Watson 1964, Sankhya A 26(4), 359-372. The learned
metric follows the idea of metric learning for kernel regression, Weinberger and Tesauro
2007, proceedings.mlr.press/v2/weinberger07a, with one bandwidth for each feature.

A departure: the weights are a softmax of log K. It is the same number, cannot
underflow, and makes log K the attention score. Where a kernel is 0 for every key,
weights and prediction are 0.
"""

import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from course_lib.checks import (
    check_attention,
    check_bandwidth,
    check_choice,
    check_size,
    check_tensors,
)
from course_lib.torch.attention import softmax

__all__ = ["LearnedMetric", "kernel_regression", "leave_one_out"]

KERNELS = ("gaussian", "epanechnikov", "boxcar")


def _kernel_scores(
    squared_distance: Float[Tensor, "*B"], *, kernel: str = "gaussian"
) -> Float[Tensor, "*B"]:
    """Attention score of a distance: the logarithm of a kernel, up to a constant.

    The argument is the squared distance in bandwidths, u² = |x - x_i|² / h². Kernels
    are "gaussian" (-u²/2), "epanechnikov" (log(1 - u²) for u < 1) and "boxcar" (0 for u
    <= 1); where one is 0, the score is -inf.
    """
    check_choice("kernel", kernel, KERNELS)
    u2 = squared_distance
    if kernel == "gaussian":
        return -u2 / 2
    if kernel == "boxcar":
        return (0 * u2).masked_fill(u2 > 1, -math.inf)  # a NaN stays NaN
    # The inner fill keeps log(0), and its infinite gradient, out of the backward pass.
    return torch.log1p(-u2.masked_fill(u2 >= 1, 0.0)).masked_fill(u2 >= 1, -math.inf)


def kernel_regression(
    q: Float[Tensor, "*B T F"],
    k: Float[Tensor, "*B S F"],
    v: Float[Tensor, "*B S Dv"],
    bandwidth: float | Float[Tensor, ""] | Float[Tensor, "#F"],
    mask: Bool[Tensor, "*#B #T #S"] | None = None,
    *,
    kernel: str = "gaussian",
) -> tuple[Float[Tensor, "*B T Dv"], Float[Tensor, "*B T S"]]:
    """Nadaraya-Watson regression: average the values whose keys lie near the query.

    Args:
        q: Queries: points to predict at.
        k: Keys: points of the sample.
        v: Values: outcomes at the keys.
        bandwidth: In the features' own units; one number, or one for each feature.
        mask: True where a query may use a key.
        kernel: How weight falls with distance; see `_kernel_scores`.

    Returns:
        Predictions and weights. A row of weights sums to 1, or is 0 where no key is
        within reach. A NaN makes every prediction that may use it NaN.
    """
    check_tensors(torch.Tensor, q=q, k=k, v=v)
    check_attention(q.shape, k.shape, v.shape, mask)
    bandwidth = check_bandwidth(torch.Tensor, bandwidth, k.shape[-1])
    wide = torch.promote_types(q.dtype, torch.float32)  # squares overflow in 16 bits
    at, keys = q.to(wide), k.to(wide)
    steps = (at.unsqueeze(-2) - keys.unsqueeze(-3)) / bandwidth  # *B T S F
    scores = _kernel_scores(steps.square().sum(dim=-1), kernel=kernel)
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    weights = softmax(scores).to(v.dtype)
    return weights @ v, weights


def leave_one_out(
    keys: Float[Tensor, "S F"],
    values: Float[Tensor, "S Dv"],
    *,
    bandwidth: float | Float[Tensor, ""] | Float[Tensor, "#F"],
    kernel: str = "gaussian",
) -> Float[Tensor, ""]:
    """Leave-one-out cross-validation: mean squared error of each from the others.

    A point without a neighbor in reach is predicted as 0.
    """
    others = ~torch.eye(keys.shape[0], dtype=torch.bool, device=keys.device)
    predicted, _ = kernel_regression(
        keys, keys, values, bandwidth=bandwidth, kernel=kernel, mask=others
    )
    return (predicted - values).square().mean()


class LearnedMetric(nn.Module):
    """Metric learning for kernel regression: one learned bandwidth for each feature.

    Bandwidths begin at 1. They are kept as logarithms, so that they stay positive. A
    feature that only adds noise ends with a wide one: distance along it no longer
    counts.
    """

    def __init__(self, n_features: int):
        super().__init__()
        check_size("n_features", n_features)
        self.log_bandwidth = nn.Parameter(torch.zeros(n_features))

    @property
    def bandwidth(self) -> Float[Tensor, "F"]:
        """The learned bandwidths."""
        return self.log_bandwidth.exp()

    def forward(
        self,
        q: Float[Tensor, "*B T F"],
        k: Float[Tensor, "*B S F"],
        v: Float[Tensor, "*B S Dv"],
        mask: Bool[Tensor, "*#B #T #S"] | None = None,
    ) -> Float[Tensor, "*B T Dv"]:
        """Predictions of `kernel_regression` with these bandwidths."""
        return kernel_regression(q, k, v, self.bandwidth, mask)[0]
