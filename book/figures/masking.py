"""The picture of the chapter on masks that is not drawn by its own cells.

    python book/figures/masking.py   # masking-rows.svg

A causal mask, row by row: what a word may read, and what it must predict.
"""

import matplotlib.pyplot as plt
import numpy as np
from drawing import GRAY, box, cells, label, save_figures
from matplotlib.figure import Figure

from course_lib import data, oracle, plot

ALLOWED, FORBIDDEN = "#CFC6E6", "#F4F4F4"
TEXT = "the bank near the firms grows ."
WIDTH, HEIGHT = 1.5, 0.8  # of a cell


def rows() -> Figure:
    """One text is as many examples as the mask has rows."""
    words = TEXT.split()
    data.grammar().encode(TEXT)  # refuses what is not in the language
    inputs, targets = words[:-1], words[1:]
    allowed = oracle.causal_mask(len(inputs), len(inputs))
    figure, ax = plt.subplots(figsize=(7, 3.4))
    right = WIDTH * len(inputs)
    colors = np.where(allowed, ALLOWED, FORBIDDEN)
    cells(ax, 0, 0, colors, width=WIDTH, height=HEIGHT, lw=2)
    for i, target in enumerate(targets):
        y = -HEIGHT * i
        for j, word in enumerate(inputs):
            if allowed[i, j]:
                weight = "bold" if i == j else "normal"
                middle = WIDTH * (j + 0.5)
                label(ax, middle, y - HEIGHT / 2, word, weight=weight, fontsize=13)
        label(ax, right + 0.45, y - HEIGHT / 2, "→", fontsize=15)
        center = right + 0.95 + (WIDTH - 0.1) / 2, y - HEIGHT / 2
        style = {"ec": plot.COLORS["vermillion"], "lw": 1.8, "fontsize": 13}
        box(ax, *center, WIDTH - 0.06, HEIGHT - 0.2, target, **style)
        label(ax, -0.35, y - HEIGHT / 2, str(i + 1), color=GRAY, fontsize=13)
    label(ax, right / 2, 0.4, "may read (keys)", color=GRAY, fontsize=13)
    label(
        ax,
        right + 1.65,
        0.4,
        "must predict",
        color=plot.COLORS["vermillion"],
        fontsize=13,
    )
    bottom = -HEIGHT * len(targets)
    style = {"rotation": 90, "color": GRAY, "fontsize": 13}
    label(ax, -0.95, bottom / 2, "place (queries)", **style)
    ax.set(xlim=(-1.25, right + 2.5), ylim=(bottom - 0.1, 0.75), aspect="equal")
    ax.set_axis_off()
    return figure


if __name__ == "__main__":
    save_figures(rows)
