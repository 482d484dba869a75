"""The picture of the page on the block that is not drawn by its own cells.

    python book/figures/block.py   # block-stream.svg

It shows one block for a sentence of three words: what passes from word to word and
what stays.
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


def part_box(ax: Axes, x: float, y: float, name: str, color: str, width: float = 3.0):
    style = {"fc": to_rgba(color, 0.28), "ec": color, "rounding": 0.18}
    box(ax, x, y, width + 0.04, 0.88, name, fontsize=13, **style)


def sum_sign(ax: Axes, x: float, y: float):
    ax.plot(x, y, "o", ms=17, mfc="white", mec=INK, mew=1.6, zorder=3)
    label(ax, x, y - 0.02, "+", fontsize=15, zorder=4)


def _branch(ax: Axes, x: float, bottom: float, top: float, parts: dict[str, float]):
    """What one word's stream at x feeds between two heights, and the sum with it."""
    side = x + SIDE
    heights = [bottom, *parts.values(), top]
    arrow(ax, (x, bottom), (side, bottom), (side, heights[1] - 0.46))
    for name, y in parts.items():
        if name != "attention":
            part_box(ax, side, y, "", PARTS[name], width=1.5)
    for lower, upper in pairwise(parts.values()):
        end = upper - (1.24 if "attention" in parts else 0.46)
        arrow(ax, (side, lower + 0.44), (side, end))
    out = heights[-2] + (1.2 if "attention" in parts else 0.44)
    arrow(ax, (side, out), (side, top), (x + 0.36, top))
    sum_sign(ax, x, top)


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


if __name__ == "__main__":
    save_figures(stream)
