"""The pictures of the page on kernel regression that no cell draws.

    python book/figures/kernel_regression.py
    # kernel-regression-households.svg, kernel-regression-lookup.svg

The query, the bandwidth and the five households are those of the page's cells. Letters
are outlines.
"""

import matplotlib.pyplot as plt
import numpy as np
from drawing import GRAY, INK, box, save_figures
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from course_lib import oracle, plot
from course_lib.data.households import engel

PURPLE = "#54278F"  # the dark end of the map for weights
INCOME, BANDWIDTH = 800.0, 100.0  # the family that the page asks about
ROWS = (10, 70, 120, 170, 220)  # of the households, from poor to rich
LOOKUP_INCOME, LOOKUP_BANDWIDTH = 1000.0, 200.0
KEY_LEFT, VALUE_LEFT, WIDTH, HEIGHT = 3.3, 6.4, 1.7, 0.72


def households() -> Figure:
    """Engel's households, shaded by how much each counts for the one asked about."""
    income, food = engel()
    (guess,), (weights,) = oracle.kernel_regression(
        np.array([[INCOME]]), income[:, None], food[:, None], BANDWIDTH
    )
    order = np.argsort(weights)
    figure, ax = plt.subplots(figsize=(7, 4.4))
    x = np.linspace(300, 2100, 400)
    bell = 300 * np.exp(-(((x - INCOME) / BANDWIDTH) ** 2) / 2)
    ax.fill_between(x, bell, color=PURPLE, alpha=0.16, lw=0)
    ax.plot(x, bell, color=PURPLE, lw=1.4)
    ax.scatter(
        income[order],
        food[order],
        c=weights[order],
        cmap=plot.WEIGHTS,
        vmin=-0.12 * weights.max(),  # the lightest households stay visible
        s=36,
        edgecolors="#9E9AC8",
        linewidths=0.5,
    )
    ax.axvline(INCOME, color=plot.FLOOR, ls="--", lw=1.2, zorder=0)
    ax.plot(INCOME, guess[0], "D", color=plot.COLORS["orange"], ms=11, mec=INK)
    ax.annotate(
        f"our guess: {guess[0]:.0f} francs",
        (INCOME, guess[0]),
        xytext=(1080, 430),
        va="center",
        color=INK,
        arrowprops={"arrowstyle": "-", "color": INK, "shrinkB": 7},
    )
    ax.text(955, 150, "how much a family counts", color=PURPLE, va="center")
    ax.text(815, 1360, "query: 800 francs", color=plot.FLOOR, va="top")
    ax.set(
        xlim=(300, 2100),
        ylim=(0, 1400),
        xlabel="income (key), francs a year",
        ylabel="food bill (value), francs a year",
    )
    return figure


def table() -> tuple[np.ndarray, np.ndarray]:
    """Five of Engel's households, in whole francs."""
    income, food = engel()
    rows = np.argsort(income)[list(ROWS)]
    return income[rows].round(), food[rows].round()


def _cell(ax: Axes, left: float, middle: float, text: str, weight: float):
    fill = plt.get_cmap(plot.WEIGHTS)(0.85 * weight)
    style = {"fc": fill, "ec": GRAY, "lw": 1}
    color = "white" if weight > 0.55 else INK
    box(ax, left + WIDTH / 2, middle, WIDTH, HEIGHT, text, color=color, **style)


def _look_up(ax: Axes, query: float, weights: np.ndarray, title: str, numbers: bool):
    keys, values = table()
    heights = np.arange(len(keys))[::-1] * 0.95
    center = heights.mean()
    for key, value, weight, y in zip(keys, values, weights, heights, strict=True):
        _cell(ax, KEY_LEFT, y, f"{key:.0f}", weight)
        _cell(ax, VALUE_LEFT, y, f"{value:.0f}", weight)
        if numbers:
            ax.text(
                (KEY_LEFT + WIDTH + VALUE_LEFT) / 2,
                y,
                f"{weight:.2f}",
                ha="center",
                va="center",
                color=PURPLE,
            )
        if weight < 0.005:
            continue
        line = {"color": PURPLE, "lw": 0.8 + 5 * weight, "alpha": 0.7}
        ax.plot([1.75, KEY_LEFT], [center, y], solid_capstyle="round", **line)
        ax.plot([VALUE_LEFT + WIDTH, 9.75], [y, center], **line)
    _cell(ax, 0.05, center, f"{query:.0f}", 0.0)
    _cell(ax, 9.75, center, f"{weights @ values:.0f}", 0.0)
    for left, name in (
        (0.05, "query"),
        (KEY_LEFT, "key"),
        (VALUE_LEFT, "value"),
        (9.75, "output"),
    ):
        ax.text(
            left + WIDTH / 2,
            heights[0] + 0.62,
            name,
            ha="center",
            va="bottom",
            color=GRAY,
        )
    ax.text(0.05, heights[0] + 1.25, title, ha="left", va="bottom", color=INK)
    ax.set(xlim=(0, 11.5), ylim=(-0.5, heights[0] + 1.8), aspect="equal")
    ax.set_axis_off()


def lookup() -> Figure:
    """An exact look-up above, a soft one below."""
    keys, values = table()
    figure, (above, below) = plt.subplots(2, figsize=(6.4, 6.6))
    asked = keys[2]
    exact = (keys == asked).astype(float)
    _look_up(above, asked, exact, "exact: the key must be there", numbers=False)
    _, weights = oracle.kernel_regression(
        np.array([[LOOKUP_INCOME]]), keys[:, None], values[:, None], LOOKUP_BANDWIDTH
    )
    title = "soft: every key counts, near ones more"
    _look_up(below, LOOKUP_INCOME, weights[0], title, numbers=True)
    return figure


if __name__ == "__main__":
    save_figures(households, lookup)
