"""The pictures of the page on the block that are not drawn by its own cells.

    python book/figures/block.py   # block-stream.svg, block-flow.svg

The first shows one block for a sentence of three words: what passes from word to word
and what stays. The second shows one word's stream, post-norm and pre-norm side by side.
"""

from itertools import pairwise

import matplotlib.pyplot as plt
from drawing import INK, arrow, box, label, save_figures
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure

from course_lib import plot

PARTS = {
    "attention": plot.COLORS["sky"],
    "feed-forward": plot.COLORS["orange"],
    "norm": plot.COLORS["purple"],
}
SIDE = 1.9  # how far beside a word's stream its parts stand


def _box(ax: Axes, x: float, y: float, name: str, color: str, width: float = 3.0):
    style = {"fc": to_rgba(color, 0.28), "ec": color, "rounding": 0.18}
    box(ax, x, y, width + 0.04, 0.88, name, fontsize=13, **style)


def _plus(ax: Axes, x: float, y: float):
    ax.plot(x, y, "o", ms=17, mfc="white", mec=INK, mew=1.6, zorder=3)
    label(ax, x, y - 0.02, "+", fontsize=15, zorder=4)


def _branch(ax: Axes, x: float, bottom: float, top: float, parts: dict[str, float]):
    """What one word's stream at x feeds between two heights, and the sum with it."""
    side = x + SIDE
    heights = [bottom, *parts.values(), top]
    arrow(ax, (x, bottom), (side, bottom), (side, heights[1] - 0.46))
    for name, y in parts.items():
        if name != "attention":
            _box(ax, side, y, "", PARTS[name], width=1.5)
    for lower, upper in pairwise(parts.values()):
        end = upper - (1.24 if "attention" in parts else 0.46)
        arrow(ax, (side, lower + 0.44), (side, end))
    out = heights[-2] + (1.2 if "attention" in parts else 0.44)
    arrow(ax, (side, out), (side, top), (x + 0.36, top))
    _plus(ax, x, top)


def stream() -> Figure:
    """One block for three words: attention crosses from word to word, nothing else."""
    figure, ax = plt.subplots(figsize=(7, 6.2))
    columns, green = {"firms": 0.6, "grow": 4.8, ". (stop)": 9.0}, plot.COLORS["green"]
    sky = PARTS["attention"]
    first, last = 0.6 + SIDE - 1.0, 9.0 + SIDE + 1.0
    middle, width = (first + last) / 2, last - first
    box(ax, middle, 4.1, width, 2.4, fc=to_rgba(sky, 0.28), ec=sky, zorder=0.2)
    for word, x in columns.items():
        label(ax, x, -0.6, word, fontsize=15)
        # A pale edge where the stream passes in front of the attention.
        ax.plot([x, x], [2.7, 5.5], color="white", lw=9, zorder=0.5)
        arrow(ax, (x, 0), (x, 12.6), color=green, lw=4.0, zorder=0.6)
        _branch(ax, x, 0.7, 6.2, {"norm": 1.75, "attention": 4.1})
        _branch(ax, x, 6.9, 11.3, {"norm": 8.0, "feed-forward": 9.7})
        for other in columns.values():
            start, end = (x + SIDE, 2.96), (other + SIDE, 5.2)
            arrow(ax, start, end, color=sky, lw=2, zorder=0.4)
    for y, name in ((1.75, "norm"), (4.1, "attention"), (8.0, "norm")):
        ax.text(last + 0.35, y, name, fontsize=14, color=INK, va="center")
    ax.text(last + 0.35, 9.7, "feed-\nforward", fontsize=14, color=INK, va="center")
    ax.set(xlim=(-0.6, 16.4), ylim=(-1.2, 12.8))
    ax.set_axis_off()
    return figure


def _column(ax: Axes, x: float, form: str):
    """One block, drawn upward: the stream at x, the parts to its right."""
    side, stream, lw = x + 2.9, plot.COLORS["green"], 4.0
    ax.text(x + 1.3, 11.35, form, ha="center", fontsize=15, color=INK)
    y = 0.0
    label(ax, x, y - 0.45, "$x$", fontsize=14)
    for part in ("attention", "feed-forward"):
        height = 4.9
        plus = y + (4.1 if form == "pre-norm" else 3.0)
        ax.plot([x, x], [y, plus - 0.33], color=stream, lw=lw, zorder=0)
        if form == "pre-norm":
            arrow(ax, (x, y + 0.5), (side, y + 0.5), (side, y + 1.02))
            _box(ax, side, y + 1.45, "norm", PARTS["norm"])
            arrow(ax, (side, y + 1.9), (side, y + 2.37))
            _box(ax, side, y + 2.8, part, PARTS[part])
            arrow(ax, (side, y + 3.25), (side, plus), (x + 0.36, plus))
            ax.plot([x, x], [plus + 0.33, y + height], color=stream, lw=lw, zorder=0)
        else:
            arrow(ax, (x, y + 0.5), (side, y + 0.5), (side, y + 1.12))
            _box(ax, side, y + 1.55, part, PARTS[part])
            arrow(ax, (side, y + 2.0), (side, plus), (x + 0.36, plus))
            ax.plot([x, x], [plus + 0.33, y + 3.6], color=stream, lw=lw, zorder=0)
            _box(ax, x, y + 4.05, "norm", PARTS["norm"], width=2.2)
            ax.plot([x, x], [y + 4.5, y + height], color=stream, lw=lw, zorder=0)
        _plus(ax, x, plus)
        y += height
    arrow(ax, (x, y - 0.1), (x, y + 0.75), color=stream, lw=lw)


def flow() -> Figure:
    """One block in both forms."""
    figure, ax = plt.subplots(figsize=(7, 7.0))
    _column(ax, 1.6, "post-norm")
    _column(ax, 9.0, "pre-norm")
    ax.set(xlim=(-0.2, 13.6), ylim=(-0.9, 11.9), aspect="equal")
    ax.set_axis_off()
    return figure


if __name__ == "__main__":
    save_figures(stream, flow)
