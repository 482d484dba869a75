"""The pictures of the chapter on generation that are not drawn by its own cells.

    python book/figures/generation.py   # generation-tree.svg, generation-cache.svg

The tree of a headline of two words, and what is computed at one step with a cache.
"""

import matplotlib.pyplot as plt
import numpy as np
from drawing import GRAY, INK, cells, label, save_figures
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from course_lib import plot

GREEDY, BEST = plot.COLORS["vermillion"], plot.COLORS["blue"]
KEPT, UNUSED = plot.COLORS["sky"], "#F0F0F0"
CLEAR = {"bbox": {"fc": "white", "ec": "none", "pad": 1.5}}

# P(first word), then P(second word | first word): the tree of the chapter's text.
FIRST = {"fell": 0.38, "rose": 0.26, "grew": 0.22, "climbed": 0.14}
SECOND = {
    "fell": {"again": 0.36, "sharply": 0.34, "slightly": 0.30},
    "rose": {"again": 0.10, "sharply": 0.70, "slightly": 0.20},
    "grew": {"again": 0.30, "sharply": 0.20, "slightly": 0.50},
    "climbed": {"again": 0.40, "sharply": 0.40, "slightly": 0.20},
}


def leaves() -> dict[tuple[str, str], float]:
    """The probability of every headline."""
    return {
        (first, second): p * q
        for first, p in FIRST.items()
        for second, q in SECOND[first].items()
    }


def greedy() -> tuple[str, str]:
    """The likeliest word, and then the likeliest word after it."""
    first = max(FIRST, key=FIRST.__getitem__)
    return first, max(SECOND[first], key=SECOND[first].__getitem__)


def most_probable() -> tuple[str, str]:
    """The likeliest headline."""
    joint = leaves()
    return max(joint, key=joint.__getitem__)


def _branch(ax: Axes, start, end, p: float, color: str):
    ax.plot(*zip(start, end, strict=True), color=color, lw=0.6 + 9 * p, zorder=1)


def tree() -> Figure:
    """Lines as thick as their probability; two paths in color."""
    figure, ax = plt.subplots(figsize=(7, 5.2))
    joint, paths = leaves(), {greedy(): GREEDY, most_probable(): BEST}
    starts = {first: color for (first, _), color in paths.items()}
    root, x1, x2 = (0.0, 6.5), 3.2, 6.6
    label(ax, -0.1, root[1], "Exports …", ha="right")
    for i, (first, p) in enumerate(FIRST.items()):
        y = 11.5 - 3.3 * i
        color = starts.get(first, GRAY)
        _branch(ax, root, (x1, y), p, color)
        style = {"color": color} if first in starts else {}
        label(ax, x1 + 0.1, y, f"{first}  {p:.2f}", ha="left", **CLEAR, **style)
        for j, (second, q) in enumerate(SECOND[first].items()):
            z = y + 1 - j
            color = paths.get((first, second), GRAY)
            _branch(ax, (x1 + 1.95, y), (x2, z), q * 0.6, color)
            style = {"color": color} if (first, second) in paths else {}
            label(ax, x2 + 0.12, z, f"{second}  {q:.2f}", ha="left", **style)
            weight = "bold" if style else "normal"
            share = f"{joint[first, second]:.3f}"
            label(ax, x2 + 4.0, z, share, ha="right", weight=weight, **style)
    ax.text(x2 + 4.0, 13.6, "headline", ha="right", color=GRAY)
    ax.set(xlim=(-1.75, 10.8), ylim=(-0.1, 14.2))
    ax.set_axis_off()
    return figure


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
    for places, color in ((stored, KEPT), (computed, GREEDY)):
        for place in places:
            colors[place] = color
    cells(ax, left, top, colors)
    ax.text(left + shape[1] / 2, top + 0.35, name, ha="center", color=INK)


def cache() -> Figure:
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
        (0, GREEDY, "computed at this step"),
        (10.2, KEPT, "kept from before"),
        (18.6, UNUSED, "not needed"),
    ):
        patch = Rectangle((x, -T - 2.1), 1, 1, fc=color, ec="white", clip_on=False)
        ax.add_patch(patch)
        ax.text(x + 1.3, -T - 1.6, text, va="center", color=INK, fontsize=11)
    ax.set_ylim(-T - 2.4, 1.6)
    return figure


if __name__ == "__main__":
    save_figures(tree, cache)
