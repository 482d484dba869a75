"""Losses: the pinball loss of quantiles."""

from collections.abc import Sequence

import numpy as np

__all__ = ["pinball"]


def pinball(
    quantiles: np.ndarray, actual: np.ndarray, levels: Sequence[float]
) -> np.ndarray:
    """Pinball loss, a number for each quantile: `*B Q`, where `actual` is `*B`.

    Koenker and Bassett 1978, doi:10.2307/1913643.
    """
    losses = []
    for i, level in enumerate(levels):
        above = actual - quantiles[..., i]
        losses.append(np.where(above >= 0, level * above, (level - 1) * above))
    return np.stack(losses, axis=-1)
