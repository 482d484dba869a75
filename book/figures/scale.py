"""The drawing of the page on scale that no cell makes.

    python book/figures/scale.py   # scale-sharing.svg

Two GPUs share the training of one model in six ways, each a cut through the batch, the
weights, or both.
"""

from collections.abc import Iterable

import matplotlib.pyplot as plt
from drawing import GRAY, cells, label, save_figures, shade
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Polygon

from course_lib import plot

FIRST = shade(plot.COLORS["blue"], 0.8)
SECOND = shade(plot.COLORS["orange"], 0.85)
SIDE = 0.72  # of a cell

UPPER = ["1111", "1111", "2222", "2222"]  # a row is a text, or a block
LEFT = ["1122"] * 4  # a column is a token, or a part of the block's weights
BOTH = ["bbbb"] * 4
EXPERTS = ["bb12"] * 4

WAYS = {
    "data": (UPPER, BOTH, "gradients"),
    "fully sharded": (UPPER, LEFT, "weights, gradients"),
    "context": (LEFT, BOTH, "keys and values"),
    "tensor": (BOTH, LEFT, "sums, in each block"),
    "pipeline": (BOTH, UPPER, "vectors, at one place"),
    "expert": (UPPER, EXPERTS, "vectors, in each block"),
}


def _owners(ax: Axes, left: float, top: float, rows: Iterable[str]):
    """A grid of cells in the color of their owner, in both colors if both have it."""
    first = [[FIRST if cell in "1b" else SECOND for cell in row] for row in rows]
    cells(ax, left, top, first, width=SIDE, height=SIDE, lw=1.2)
    for i, row in enumerate(rows):
        for j, cell in enumerate(row):
            if cell == "b":
                x, y = left + j * SIDE, top - i * SIDE
                corners = [(x + SIDE, y), (x + SIDE, y - SIDE), (x, y - SIDE)]
                half = Polygon(corners, fc=SECOND, ec="white", lw=1.2)
                ax.add_patch(half)


def sharing() -> Figure:
    """What each of two GPUs holds of the batch and of the weights, in six ways."""
    figure, axes = plt.subplots(3, 2, figsize=(5, 6))
    for ax, (name, (batch, weights, exchanged)) in zip(
        axes.flat, WAYS.items(), strict=True
    ):
        _owners(ax, 0, 0, batch)
        _owners(ax, 4, 0, weights)
        label(ax, 3.44, 0.8, name, fontsize=13)
        label(ax, 1.44, -3.3, "batch", fontsize=11)
        label(ax, 5.44, -3.3, "weights", fontsize=11)
        label(
            ax,
            3.44,
            -4.2,
            f"\N{RIGHTWARDS ARROW OVER LEFTWARDS ARROW} {exchanged}",
            fontsize=11,
            color=GRAY,
        )
        label(ax, -0.4, -1.44, "texts", fontsize=10, rotation=90)
        label(ax, 3.6, -1.44, "blocks", fontsize=10, rotation=90)
        ax.set(xlim=(-0.8, 7.1), ylim=(-4.6, 1.2))
        ax.set_aspect("equal")
        ax.axis("off")
    return figure


if __name__ == "__main__":
    save_figures(sharing)
