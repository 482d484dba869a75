"""The picture of the page on tokens that is not drawn by its own cells.

    python book/figures/tokens.py   # tokens-lookup.svg

A sentence becomes ids, and each id picks its row of the table W_E. A color is a token.
Letters are outlines.
"""

import matplotlib.pyplot as plt
import numpy as np
from drawing import GRAY, label, matrix, save_figures, shade
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from course_lib import data, plot

TEXT = "the bank sees the firms"
SHOWN = "[MASK] the new firm bank firms banks sees grows ."  # rows of the table
COLORS = {"the": "green", "bank": "blue", "sees": "purple", "firms": "vermillion"}
D = 4


def tables() -> tuple[list[int], list[int], np.ndarray, np.ndarray]:
    """What is drawn: the text's ids, the ids of the rows, the rows, and the product."""
    language = data.grammar()
    ids, rows = language.encode(TEXT), language.encode(SHOWN)
    table = np.random.default_rng(2013).standard_normal((len(rows), D))
    return ids, rows, table, table[[rows.index(c) for c in ids]]


def _shades(values: np.ndarray, colors: list[str], largest: float) -> list[list]:
    """A row has one color, the darker the larger its numbers are."""
    share = 0.15 + 0.75 * np.abs(values) / largest
    rows = zip(colors, share, strict=True)
    return [[shade(color, number) for number in row] for color, row in rows]


def lookup() -> Figure:
    """From words to the matrix X."""
    ids, rows, table, x = tables()
    largest = float(np.abs(table).max())  # one scale: a row keeps its shades
    names = [plot.COLORS[COLORS[word]] for word in TEXT.split()]
    listed = [plot.COLORS.get(COLORS.get(w, ""), GRAY) for w in SHOWN.split()]
    figure, ax = plt.subplots(figsize=(7, 3.9))
    top, left, right = 10.0, 11.6, 19.0

    for i, (word, color) in enumerate(zip(TEXT.split(), names, strict=True)):
        y, row = 8.2 - 1.55 * i, top - rows.index(ids[i]) - 0.5
        ax.add_patch(Rectangle((0, y - 0.55), 3.2, 1.1, fc="white", ec=color, lw=1.8))
        label(ax, 1.6, y, word)
        label(ax, 4.3, y, str(ids[i]), color=color)
        ax.plot([5.1, 7.6], [y, row], color=color, lw=1.2)
        ax.plot(
            [left + D + 0.15, right - 0.15],
            [row, 7.5 - i - 0.5],
            color=color,
            lw=1.2,
        )
    label(ax, 1.6, 9.7, "tokens", color=GRAY)
    label(ax, 4.3, 9.7, "ids", color=GRAY)
    matrix(ax, left, top, _shades(table, listed, largest), "$W_E$", "$N \\times D$")
    for r, (word, color) in enumerate(zip(SHOWN.split(), listed, strict=True)):
        label(ax, left - 0.3, top - r - 0.5, word, ha="right", color=color, fontsize=10)
        label(ax, 7.9, top - r - 0.5, str(rows[r]), ha="left", color=color, fontsize=10)
    matrix(ax, right, 7.5, _shades(x, names, largest), "$X$", "$T \\times D$")
    label(ax, left + D / 2, -1.9, "10 of the 52 rows", color=GRAY, fontsize=10)
    ax.set(xlim=(-0.4, 23.4), ylim=(-2.5, 12.0), aspect="equal")
    ax.set_axis_off()
    return figure


if __name__ == "__main__":
    save_figures(lookup)
