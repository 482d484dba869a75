"""Norms, one vector at a time."""

import math

import numpy as np

from course_lib.oracle.weights import Weights, part

__all__ = ["layer_norm", "rms_norm"]


def layer_norm(
    x: np.ndarray, weight: np.ndarray, bias: np.ndarray, eps: float
) -> np.ndarray:
    """LayerNorm: center and scale each vector, eps inside the root.

    Ba et al. 2016, section 3, arXiv:1607.06450.
    """
    out = np.empty_like(x)
    for row in np.ndindex(x.shape[:-1]):
        centered = x[row] - x[row].mean()
        out[row] = centered / math.sqrt((centered**2).mean() + eps) * weight + bias
    return out


def rms_norm(x: np.ndarray, weight: np.ndarray, eps: float) -> np.ndarray:
    """RMSNorm: scale each vector to root mean square 1, eps inside the root.

    Zhang and Sennrich 2019, section 4, arXiv:1910.07467.
    """
    out = np.empty_like(x)
    for row in np.ndindex(x.shape[:-1]):
        out[row] = x[row] / math.sqrt((x[row] ** 2).mean() + eps) * weight
    return out


def norm(x: np.ndarray, weights: Weights, name: str, eps: float) -> np.ndarray:
    """The norm of that name: LayerNorm if it has a bias, else RMSNorm."""
    w = part(weights, name)
    if "bias" in w:
        return layer_norm(x, w["weight"], w["bias"], eps)
    return rms_norm(x, w["weight"], eps)
