"""The picture of the page on prior-fitted networks that no cell draws.

    python book/figures/prior_fitted.py   # prior-fitted-cells.svg

Who looks at whom in a table: along its rows, along its columns, between regressors.
"""

import matplotlib.pyplot as plt
from drawing import GRAY, arrow, box, label, save_figures, shade
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from course_lib import plot

ROWS, DRIVERS = 5, ("hours", "deliveries", "overtime")
ROW, COLUMN, BETWEEN = (plot.COLORS[c] for c in ("vermillion", "blue", "green"))
CELL, GAP = 0.78, 1.0


def _table(ax: Axes, left: float, chosen: dict[tuple[int, int], str]) -> None:
    """A table of cells, some of them in a color."""
    for i in range(ROWS):
        for j in range(len(DRIVERS)):
            fc = shade(chosen.get((i, j), GRAY), 0.45 if (i, j) in chosen else 0.12)
            box(ax, left + j * GAP, -i * GAP, CELL, CELL, fc=fc, ec=GRAY, lw=1)


def _both_ways(ax: Axes, start: tuple, end: tuple, color: str) -> None:
    arrow(ax, start, end, color=color, lw=2, zorder=3)
    arrow(ax, end, start, color=color, lw=2, zorder=3)


def cells() -> Figure:
    """The three blocks of the network, from the left to the right."""
    figure, ax = plt.subplots(figsize=(7, 4.1))
    last, n = ROWS - 1, len(DRIVERS)
    first, second, third = 0.0, 4.6, 9.2
    _table(ax, first, {(1, j): ROW for j in range(n)})
    _table(ax, second, {(i, 1): COLUMN for i in range(ROWS)})
    for j in range(n - 1):
        at = first + j * GAP
        _both_ways(ax, (at + 0.2, -1), (at + GAP - 0.2, -1), ROW)
    for i in range(last):
        at = second + GAP
        _both_ways(ax, (at, -i - 0.2), (at, -i - GAP + 0.2), COLUMN)
    for j, name in enumerate(DRIVERS):
        at = third + 1.35 * j
        box(ax, at, -2, CELL, CELL, fc=shade(BETWEEN, 0.45), ec=GRAY, lw=1)
        arrow(ax, (at, -2.5), (at, -3.35))
        label(ax, at, -3.75, rf"$\beta_{j + 1}$", fontsize=14)
        label(ax, at, -0.95 - 0.42 * (j % 2), name, fontsize=11)
        if j:
            _both_ways(ax, (at - 1.1, -2), (at - 0.25, -2), BETWEEN)
    for end in (second, third):
        arrow(ax, (end - 1.95, -2), (end - 0.75, -2), lw=2)
    label(ax, third - 1.35, -1.6, "mean", fontsize=12)
    titles = ("1: in a row", "2: in a column", "3: between\nregressors")
    places = (first + GAP, second + GAP, third + 1.35)
    for at, title, color in zip(places, titles, (ROW, COLUMN, BETWEEN), strict=True):
        label(ax, at, 1.1, title, color=color, fontsize=13)
    label(ax, -0.75, -2, "months", rotation=90, fontsize=12)
    ax.set(xlim=(-1.2, 12.7), ylim=(-4.7, 1.8))
    ax.set_axis_off()
    return figure


if __name__ == "__main__":
    save_figures(cells)
