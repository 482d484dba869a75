"""The drawing of the page on positions in depth that no cell makes.

    python book/figures/positions_in_depth.py   # positions-in-depth-seen.svg

Which pairs of positions a model meets in training, as a part of those it is tested on.
"""

import matplotlib.pyplot as plt
from drawing import INK, label, save_figures, shade
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Polygon, Rectangle

from course_lib import plot

SHORT, LONG = 16, 64  # tokens of a sequence, in training and in the test
SEEN, NEW = plot.COLORS["blue"], plot.COLORS["orange"]


def _band(ax: Axes, color: str, strength: float) -> None:
    """All pairs of positions that are no farther apart than in training."""
    near, far = SHORT, LONG - SHORT
    corners = [(0, 0), (near, 0), (LONG, far), (LONG, LONG), (far, LONG), (0, near)]
    ax.add_patch(Polygon(corners, fc=shade(color, strength), ec="none"))


def _apart(ax: Axes, text: str) -> None:
    """Name both corners, where the two positions are far apart."""
    for x, y in ((46, 15), (17, 50)):
        label(ax, x, y, text, fontsize=11)


def seen() -> Figure:
    """Pairs of positions seen in training, with counts from 0 and from anywhere."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(7.2, 4.0), sharey=True)
    _band(left, NEW, 0.45)
    left.add_patch(Rectangle((0, 0), SHORT, SHORT, fc=shade(SEEN, 0.75), ec="none"))
    label(left, 8, 8, "seen", color="white", fontsize=11)
    label(left, 40, 40, "new\npositions", fontsize=11)
    _apart(left, "new positions,\nnew distances")
    left.set_title("every batch counts from 0")

    _band(right, SEEN, 0.75)
    label(right, 32, 32, "seen", color="white", fontsize=11)
    _apart(right, "new\ndistances")
    right.set_title("each from a random number")

    for ax in (left, right):
        frame = Rectangle((0, 0), LONG, LONG, fc="none", ec=INK, lw=1.6)
        ax.add_patch(frame)
        ax.set(xlim=(-1, LONG + 1), ylim=(LONG + 1, -1), aspect="equal")
        ax.set(xticks=(0, SHORT, LONG), yticks=(0, SHORT, LONG))
        ax.set_xlabel("position of the key")
        ax.spines[:].set_visible(False)
    left.set_ylabel("position of the query")
    return figure


if __name__ == "__main__":
    save_figures(seen)
