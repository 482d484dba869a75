"""Drawings for the page on the block of today."""

import matplotlib.pyplot as plt
from drawing import GRAY, INK, arrow, box, label, save_figures
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure

from course_lib import plot

CHANGED = plot.COLORS["orange"]
STREAM = plot.COLORS["green"]


def _part(ax: Axes, x: float, y: float, name: str, rows: list[tuple[str, bool]]):
    """A part of a block: its boxes from bottom to top, changed ones in color."""
    side = x + 3.0
    arrow(ax, (x, y), (side, y), (side, y + 0.55))
    for i, (text, changed) in enumerate(rows):
        fc = to_rgba(CHANGED, 0.35) if changed else "white"
        middle = y + 1.0 + 1.25 * i
        box(
            ax,
            side,
            middle,
            4.4,
            0.9,
            text,
            fc=fc,
            ec=INK if changed else GRAY,
            fontsize=13,
        )
        if i:
            arrow(ax, (side, middle - 0.8), (side, middle - 0.45))
    top = y + 1.0 + 1.25 * len(rows)
    arrow(ax, (side, top - 0.8), (side, top), (x + 0.3, top))
    ax.plot(x, top, "o", ms=17, mfc="white", mec=INK, mew=1.5, zorder=3)
    label(ax, x, top, "+", fontsize=15, zorder=4)
    return top


def _block(ax: Axes, x: float, name: str, attention: list, feed_forward: list):
    arrow(ax, (x, -0.4), (x, 13.6), color=STREAM, lw=4, zorder=0)
    top = _part(ax, x, 0.3, "attention", attention)
    _part(ax, x, top + 0.7, "feed-forward", feed_forward)
    label(ax, x + 1.9, 14.2, name, fontsize=15)


def change() -> Figure:
    """GPT-2's block and that of Llama or Qwen; what differs is in color."""
    figure, ax = plt.subplots(figsize=(7, 7.6))
    old = [("layer norm", False), ("q, k, v + biases", False)]
    old += [("attention", False), ("o + bias", False)]
    new = [("RMSNorm", True), ("q, fewer k, v", True)]
    new += [("QK-norm, RoPE", True), ("attention", False), ("o", True)]
    _block(
        ax,
        0.0,
        "GPT-2",
        old,
        [
            ("layer norm", False),
            ("up + bias", False),
            ("GELU", False),
            ("down + bias", False),
        ],
    )
    _block(
        ax,
        7.2,
        "today",
        new,
        [("RMSNorm", True), ("up × SiLU(gate)", True), ("down", True)],
    )
    ax.set(xlim=(-0.6, 12.8), ylim=(-0.6, 14.7))
    ax.set_axis_off()
    return figure


if __name__ == "__main__":
    save_figures(change)
