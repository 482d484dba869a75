"""The picture of the chapter on tokens that is not drawn by its own cells.

    python book/figures/tokens.py   # tokens-lookup.svg

A sentence becomes tokens, ids, one-hot rows, and rows of the table W_E. A color is a
token. Letters are outlines.
"""

import matplotlib.pyplot as plt
import numpy as np
from drawing import GRAY, INK, matrix, save_figures, shade
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from course_lib import plot

VOCABULARY = ("[PAD]", "[MASK]", "I", "eat", "like", "cakes", "pan", "tea")
TOKENS = ("I", "like", "pan", "cakes")
COLORS = ("blue", "vermillion", "green", "purple")
D = 4


def tables() -> tuple[list[int], np.ndarray, np.ndarray, np.ndarray]:
    """What is drawn: the ids, their one-hot rows, the table, and the product."""
    ids = [VOCABULARY.index(token) for token in TOKENS]
    table = np.random.default_rng(2013).standard_normal((len(VOCABULARY), D))
    one_hot = np.eye(len(VOCABULARY))[ids]
    return ids, one_hot, table, one_hot @ table


def _shades(values: np.ndarray, colors: list[str], largest: float) -> list[list]:
    """A row has one color, the darker the larger its numbers are."""
    share = 0.15 + 0.75 * np.abs(values) / largest
    rows = zip(colors, share, strict=True)
    return [[shade(color, number) for number in row] for color, row in rows]


def lookup() -> Figure:
    """From words to the matrix X, in two rows of drawing."""
    ids, one_hot, table, x = tables()
    largest = float(np.abs(table).max())  # one scale: a row keeps its shades
    mine = [plot.COLORS[color] for color in COLORS]
    figure, ax = plt.subplots(figsize=(7, 4.2))

    for i, (token, color) in enumerate(zip(TOKENS, mine, strict=True)):
        left = 3.0 + 5.6 * i
        ax.add_patch(Rectangle((left, 11.2), 5.0, 1.5, fc="white", ec=color, lw=2))
        ax.text(left + 2.5, 11.95, token, ha="center", va="center", color=INK)
        ax.text(left + 2.5, 10.6, str(ids[i]), ha="center", va="top", color=color)
    ax.text(2.4, 11.95, "tokens", ha="right", va="center", color=GRAY)
    ax.text(2.4, 10.3, "ids", ha="right", va="center", color=GRAY)

    top = 6.0
    shades = [
        [shade(color, 0.9) if one else shade(GRAY, 0.12) for one in row]
        for color, row in zip(mine, one_hot, strict=True)
    ]
    matrix(ax, 0, top, shades, "one-hot rows", "$T \\times V$")
    for i, j in np.ndindex(one_hot.shape):
        one = one_hot[i, j] == 1
        ax.text(
            j + 0.5,
            top - i - 0.5,
            "1" if one else "0",
            ha="center",
            va="center",
            color="white" if one else GRAY,
            fontsize=10,
        )
    ax.text(9.0, top - 2, "×", ha="center", va="center", color=INK, fontsize=13)

    high = top + 2
    colors = [mine[ids.index(r)] if r in ids else GRAY for r in range(len(VOCABULARY))]
    shades = _shades(table, colors, largest)
    matrix(ax, 14.4, high, shades, "$W_E$", "$V \\times D$")
    for row, token in enumerate(VOCABULARY):
        ax.text(
            14.1,
            high - row - 0.5,
            f"{token}  {row}",
            ha="right",
            va="center",
            color=colors[row],
            fontsize=10,
        )
    ax.text(19.7, top - 2, "=", ha="center", va="center", color=INK, fontsize=13)
    matrix(ax, 21.2, top, _shades(x, mine, largest), "$X$", "$T \\times D$")

    ax.set(xlim=(-0.4, 26.2), ylim=(-1.6, 13.0), aspect="equal")
    ax.set_axis_off()
    return figure


if __name__ == "__main__":
    save_figures(lookup)
