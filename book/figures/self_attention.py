"""The drawing of the page on self-attention that no cell makes.

    python book/figures/self_attention.py   # self-attention-sharing.svg

The weights in its right half are those of three words whose features we chose: how much
of a function word, a thing and an action each is.
"""

import matplotlib.pyplot as plt
import numpy as np
from drawing import GRAY, INK, label, save_figures
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from course_lib import oracle, plot

WORDS = ("many", "firms", "grow")
X = np.array([[1.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 1.0, 1.0]])
W_Q = np.array([[0.0, 1.0], [1.0, 0.0], [-1.0, 3.0]])
W_K = np.array([[2.0, 0.0], [0.0, 1.0], [0.0, -1.0]])


def _words(ax: Axes, title: str, note: str):
    for i, word in enumerate(WORDS):
        for y, side in ((1.12, "top"), (-0.12, "bottom")):
            where = "bottom" if side == "top" else "top"
            label(ax, i, y, word, va=where, style="italic")
    ax.set(xlim=(-0.45, 2.45), ylim=(-0.75, 1.35), title=title)
    label(ax, 1, -0.5, note, color=GRAY, fontsize=11, va="center")
    ax.set_axis_off()


def sharing() -> Figure:
    """The same nine pairs of words in a dense layer and in self-attention."""
    figure, (dense, attention) = plt.subplots(1, 2, figsize=(7, 3.5))
    names = [name for name in plot.COLORS if name not in ("black", "yellow")]
    colors = [plot.COLORS[name] for name in names] + [INK, "#8c6d31"]
    weights = oracle.attention(X @ W_Q, X @ W_K, X)[1]
    for i, j in np.ndindex(3, 3):
        ends = (i, j), (1.08, -0.08)
        dense.plot(*ends, color=colors[3 * i + j], lw=2.4)
        attention.plot(
            *ends,
            color=plot.COLORS["blue"],
            lw=8 * weights[i, j],
            solid_capstyle="butt",
        )
    _words(dense, "dense layer", "a matrix of its own\nfor each pair of places")
    _words(attention, "self-attention", "the same matrices for all pairs:\n")
    label(attention, 1, -0.615, "$W_Q$, $W_K$, $W_V$", color=GRAY, fontsize=11)
    return figure


if __name__ == "__main__":
    save_figures(sharing)
