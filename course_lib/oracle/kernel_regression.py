"""Kernel regression, one query and one key at a time."""

import math

import numpy as np

from course_lib.oracle.weights import floats

__all__ = ["kernel", "kernel_regression", "leave_one_out"]


def kernel(u: float, name: str) -> float:
    """A kernel's height at distance `u` in bandwidths, 1 at its center.

    Nadaraya 1964, doi:10.1137/1109020; Epanechnikov 1969, doi:10.1137/1114019.
    """
    if name == "gaussian":
        return math.exp(-(u**2) / 2)
    if name == "epanechnikov":
        return max(0.0, 1 - u**2)
    if name == "boxcar":
        return float(abs(u) <= 1)
    raise ValueError(f"kernel must be gaussian, epanechnikov or boxcar: got {name!r}.")


def kernel_regression(
    queries: np.ndarray,
    keys: np.ndarray,
    values: np.ndarray,
    bandwidth: float | np.ndarray,
    name: str = "gaussian",
    mask: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Nadaraya-Watson kernel regression: predictions `T Dv` and weights `T S`.

    Nadaraya 1964, doi:10.1137/1109020. Queries are `T F`, keys `S F`, values `S Dv`;
    the bandwidth is one number, or one for each feature; a mask is True where a query
    may use a key. Where no key is in reach, prediction and weights are 0.
    """
    queries, keys, values = floats(queries, keys, values)
    weights = np.zeros((len(queries), len(keys)))
    for i, j in np.ndindex(weights.shape):
        if mask is None or np.broadcast_to(mask, weights.shape)[i, j]:
            u = math.sqrt(np.sum(((queries[i] - keys[j]) / bandwidth) ** 2))
            weights[i, j] = kernel(u, name)
    for row in weights:
        if row.sum() > 0:
            row /= row.sum()
    return weights @ values, weights


def leave_one_out(
    keys: np.ndarray,
    values: np.ndarray,
    bandwidth: float | np.ndarray,
    name: str = "gaussian",
) -> float:
    """Leave-one-out cross-validation: the mean squared error."""
    errors = []
    for i in range(len(keys)):
        rest = np.arange(len(keys)) != i
        predicted, _ = kernel_regression(
            keys[i : i + 1], keys[rest], values[rest], bandwidth, name
        )
        errors.append((predicted[0] - values[i]) ** 2)
    return float(np.mean(errors))
