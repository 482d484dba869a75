"""Kernel regression: bandwidths."""

import math
from typing import Any

from course_lib.checks.numbers import plain
from course_lib.checks.tensors import check_kind

__all__ = ["check_bandwidth"]


def check_bandwidth(kind: type, bandwidth: Any, n_features: int) -> Any:
    """Refuse a bandwidth that is not positive and finite, or is of the wrong size.

    A bandwidth that a compiler traces has no value yet: of it, only the shape is
    checked. Returns it, and Python's number in place of NumPy's.
    """
    bandwidth = plain(bandwidth)
    widths: list[Any] = [bandwidth]
    if not isinstance(bandwidth, (int, float)):
        check_kind(kind, "bandwidth", bandwidth)
        shape = tuple(bandwidth.shape)
        if shape not in ((), (1,), (n_features,)):
            raise ValueError(
                "bandwidth must be one number or one for each feature: got shape "
                f"{shape} for {n_features} features."
            )
        try:
            widths = bandwidth.reshape(-1).tolist()
        except Exception:  # a traced array has no values to look at
            return bandwidth
    if not all(math.isfinite(h) and h > 0 for h in widths):
        raise ValueError(
            f"bandwidth must be positive and finite: got {bandwidth}. As it shrinks, "
            "only the nearest neighbor counts; for that limit take a small number."
        )
    return bandwidth
