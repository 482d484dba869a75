"""A model's weights by path, in PyTorch's layout, and the linear map they make."""

from typing import Any

import numpy as np

__all__ = ["part"]

Weights = dict[str, np.ndarray]


def floats(*arrays: Any) -> list[np.ndarray]:
    """The same numbers in float64."""
    return [np.asarray(x, dtype=np.float64) for x in arrays]


def part(weights: Weights, name: str) -> Weights:
    """The weights of one part of a model, under the names they have inside it."""
    start = name + "."
    return {
        path.removeprefix(start): np.asarray(w, dtype=np.float64)
        for path, w in weights.items()
        if path.startswith(start)
    }


def linear(x: np.ndarray, weights: Weights, name: str) -> np.ndarray:
    """One linear map, with its bias if it has one; weights are (out, in)."""
    w = part(weights, name)
    return x @ w["weight"].T + w.get("bias", 0)
