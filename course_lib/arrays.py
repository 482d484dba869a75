"""Arrays of either framework in NumPy, and the largest difference between two."""

from typing import Any

import numpy as np


def owned(x: Any) -> np.ndarray:
    """A copy in memory of its own, in this machine's byte order, row behind row.

    Frameworks misread another order, and go on reading what the caller may overwrite.
    """
    array = np.asarray(x)
    return np.array(array, dtype=array.dtype.newbyteorder("="), order="C")


def to_numpy(x: Any) -> np.ndarray:
    """Convert a PyTorch tensor, a JAX array, or anything that NumPy reads.

    bfloat16, which NumPy does not have, becomes float32, exactly.
    """
    if hasattr(x, "detach"):
        x = x.detach().cpu()
        return np.asarray(x.float() if str(x.dtype) == "torch.bfloat16" else x)
    array = np.asarray(x)
    return array.astype(np.float32) if array.dtype.name == "bfloat16" else array


def largest_difference(a: Any, b: Any) -> float:
    """Largest absolute difference of any entry of two arrays, from anywhere.

    NaN if one of them is NaN.
    """
    a, b = to_numpy(a), to_numpy(b)
    if a.shape != b.shape or a.size == 0:
        raise ValueError(
            "two arrays must have the same shape, and at least one entry, to be "
            f"compared: got {a.shape} and {b.shape}."
        )
    return float(np.abs(a - b).max())
