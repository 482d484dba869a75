"""The picture of the page on generating text that is not drawn by its own cells.

    python book/figures/generation.py   # generation-tree.svg

The tree of a headline of two words.
"""

import matplotlib.pyplot as plt
from drawing import GRAY, label, save_figures
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from course_lib import plot

GREEDY, BEST = plot.COLORS["vermillion"], plot.COLORS["blue"]
CLEAR = {"bbox": {"fc": "white", "ec": "none", "pad": 1.5}}

# P(first word), then P(second word | first word): the tree of the page's text.
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


if __name__ == "__main__":
    save_figures(tree)
