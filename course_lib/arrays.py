"""Arrays of either framework as NumPy arrays, and how far two of them lie apart."""

from typing import Any

import numpy as np


def to_numpy(x: Any) -> np.ndarray:
    """Copy a tensor or array to NumPy.

    Args:
        x: A PyTorch tensor, a JAX array, or anything that NumPy reads.

    Returns:
        The same numbers, of the same shape and dtype, on the CPU.
    """
    return np.asarray(x.detach().cpu() if hasattr(x, "detach") else x)


def largest_difference(a: Any, b: Any) -> float:
    """Measure how far two results lie apart: the largest absolute difference.

    Args:
        a: Numbers from anywhere: either wing, the oracle, a built-in layer.
        b: The same numbers from elsewhere, of the same shape.

    Returns:
        The largest difference of any entry; NaN if one of them holds a NaN.

    Raises:
        ValueError: The shapes differ, or there is nothing to compare.
    """
    a, b = to_numpy(a), to_numpy(b)
    if a.shape != b.shape or a.size == 0:
        raise ValueError(
            "two arrays must have the same shape, and at least one entry, to be "
            f"compared: got {a.shape} and {b.shape}."
        )
    return float(np.abs(a - b).max())
