"""The picture of the page on what peer weights identify that no cell of it draws.

    python book/figures/identification.py   # identification-ways.svg

Four ways to a good forecast of a firm's next return, of which one is an effect.
"""

import matplotlib.pyplot as plt
from drawing import GRAY, INK, arrow, box, label, save_figures
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from course_lib import plot

WEIGHT = "#6A51A3"  # of the maps for weights
WORLD, LEAK = plot.COLORS["green"], plot.COLORS["vermillion"]
LEFT, RIGHT, NOW = 1.75, 8.35, 6.2
HALF = 1.65  # of a box's width


def _firm(ax: Axes, x: float, y: float, name: str, color: str = INK) -> None:
    box(ax, x, y, 2 * HALF, 1.5, name, ec=color, color=color, zorder=2, fontsize=12)


def _weight(ax: Axes, start: float, end: float, text: str) -> None:
    """A weight of the model on the firm at height `start`, with `text` on it."""
    ends = ((LEFT + HALF, RIGHT - HALF), (start, end))
    ax.plot(*ends, color=WEIGHT, lw=4, alpha=0.55, solid_capstyle="butt", zorder=0)
    bare = {"fc": "white", "ec": "none", "pad": 0.8}
    middle = (LEFT + RIGHT) / 2 - 0.25, (start + end) / 2
    label(ax, *middle, text, color=WEIGHT, fontsize=11.5, bbox=bare)


def _effect(ax: Axes) -> None:
    _firm(ax, LEFT, 3.4, "firm $j$\nlast return")
    _firm(ax, RIGHT, 3.4, "firm $i$\nnext return")
    _weight(ax, 3.75, 3.75, "weight")
    arrow(ax, (LEFT + HALF, 2.95), (RIGHT - HALF, 2.95), color=WORLD, lw=2)


def _same_news(ax: Axes) -> None:
    _firm(ax, LEFT, 5, "firm $j$\nlast return")
    _firm(ax, LEFT, 1.8, "firm $m$\nlast return")
    label(ax, LEFT, 3.4, "=", fontsize=16)
    _firm(ax, RIGHT, 3.4, "firm $i$\nnext return")
    _weight(ax, 4.8, 3.7, "0.9 or 0.1")
    _weight(ax, 2.0, 3.1, "0.1 or 0.9")


def _common_cause(ax: Axes) -> None:
    _firm(ax, LEFT, 5, "sector\nits cycle", WORLD)
    _firm(ax, LEFT, 1.8, "firm $j$\nlast return")
    _firm(ax, RIGHT, 3.4, "firm $i$\nnext return")
    arrow(ax, (LEFT, 4.25), (LEFT, 2.55), color=WORLD, lw=2)
    arrow(ax, (LEFT + HALF, 4.9), (RIGHT - HALF, 3.75), color=WORLD, lw=2)
    _weight(ax, 2.0, 3.1, "weight")


def _leak(ax: Axes) -> None:
    _firm(ax, LEFT, 5, "firm $j$\nafter layer 1")
    _firm(ax, LEFT, 1.8, "firm $i$\nits forecast")
    _firm(ax, RIGHT, 5, "firm $i$\nnext return")
    arrow(ax, (RIGHT - HALF, 5), (LEFT + HALF, 5), color=LEAK, lw=2)
    arrow(ax, (LEFT, 4.25), (LEFT, 2.55), color=LEAK, lw=2)
    label(ax, LEFT + 0.25, 3.4, "layer 2", color=LEAK, fontsize=11.5, ha="left")
    label(ax, 4.75, 5.5, "layer 1", color=LEAK, fontsize=11.5)


def ways() -> Figure:
    """An effect, the same news twice, a common cause, and a leak."""
    panels = (
        (_effect, "an effect", "If $j$ fell, $i$ would follow."),
        (_same_news, "the same news", "$j$ or $m$? No data can tell."),
        (_common_cause, "a common cause", "If $j$ fell alone, $i$ wouldn't."),
        (_leak, "a leak", "The answer comes in through $j$."),
    )
    figure, axes = plt.subplots(2, 2, figsize=(7, 6))
    for ax, (draw, title, verdict) in zip(axes.flat, panels, strict=True):
        draw(ax)
        ax.plot([NOW, NOW], [0.9, 6.0], "--", color=GRAY, lw=1.2, zorder=-1)
        label(ax, 5.05, 6.9, title, fontsize=13.5)
        label(ax, 5.05, 0.1, verdict, color=GRAY, fontsize=12)
        ax.set(xlim=(0, 10.1), ylim=(-0.4, 7.3))
        ax.set_axis_off()
    return figure


if __name__ == "__main__":
    save_figures(ways)
