"""The picture of the page on the KV cache that is not drawn by its own cells.

    python book/figures/kv_cache.py   # kv-cache-step.svg

What one head computes at one step, without a cache and with one.
"""

import matplotlib.pyplot as plt
import numpy as np
from drawing import INK, cells, save_figures
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from course_lib import plot

NEW = plot.COLORS["vermillion"]
KEPT, UNUSED = plot.COLORS["sky"], "#F0F0F0"

T = 6


def entries(cached: bool) -> dict[str, set[tuple[int, int]]]:
    """Which cells (row, column) of K, V and the scores are computed at step T."""
    new = range(T - 1, T) if cached else range(T)
    return {
        "rows": {(i, 0) for i in new},
        "scores": {(i, j) for i in new for j in range(i + 1)},
    }


def _grid(ax: Axes, left: float, top: float, shape, computed, stored, name: str):
    colors = np.full(shape, UNUSED)
    for places, color in ((stored, KEPT), (computed, NEW)):
        for place in places:
            colors[place] = color
    cells(ax, left, top, colors)
    ax.text(left + shape[1] / 2, top + 0.35, name, ha="center", color=INK)


def step() -> Figure:
    """One head at step T, without a cache and with one."""
    figure, axes = plt.subplots(2, 1, figsize=(6.4, 5.6))
    for ax, cached in zip(axes, (False, True), strict=True):
        now = entries(cached)
        rows = {(i, j) for i, _ in now["rows"] for j in range(3)}
        everything = {(i, j) for i in range(T) for j in range(3)}
        for k, name in enumerate(("$Q$", "$K$", "$V$")):
            kept = everything - rows if cached and name != "$Q$" else set()
            _grid(ax, 5 * k, 0, (T, 3), rows, kept, name)
        _grid(ax, 15.6, 0, (T, T), now["scores"], set(), "scores")
        _grid(ax, 24.2, 0, (T, 3), rows, set(), "output")
        title = "with a cache" if cached else "without a cache"
        ax.set_title(title, loc="left", color=INK)
        ax.set(xlim=(-0.3, 27.6), ylim=(-T - 0.3, 1.6), aspect="equal")
        ax.set_axis_off()
    ax = axes[1]
    for x, color, text in (
        (0, NEW, "computed at this step"),
        (10.2, KEPT, "kept from before"),
        (18.6, UNUSED, "not needed"),
    ):
        patch = Rectangle((x, -T - 2.1), 1, 1, fc=color, ec="white", clip_on=False)
        ax.add_patch(patch)
        ax.text(x + 1.3, -T - 1.6, text, va="center", color=INK, fontsize=11)
    ax.set_ylim(-T - 2.4, 1.6)
    return figure


if __name__ == "__main__":
    save_figures(step)
