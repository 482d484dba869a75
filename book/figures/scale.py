"""The drawing of the page on scale that no cell makes.

    python book/figures/scale.py   # scale-sharing.svg

Two processes, with what each holds of a batch and of the weights.
"""

import matplotlib.pyplot as plt
from drawing import GRAY, arrow, box, cells, label, save_figures, shade
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from course_lib import plot

WEIGHTS, BATCH = plot.COLORS["blue"], plot.COLORS["orange"]


def _process(ax: Axes, left: float, rank: int, held: tuple[int, ...]):
    """One process: its half of the batch, and the rows of the weights that it holds."""
    box(ax, left + 1.5, 2.0, 3.5, 4.7, fc="#F7F7F7", ec=GRAY, lw=1.2)
    label(ax, left + 1.5, 3.95, f"process {rank}", style="italic")
    half = range(2 * rank, 2 * rank + 2)
    rows = [[shade(BATCH, 0.75 if i in half else 0.0)] for i in range(4)]
    cells(ax, left, 3.2, rows, width=0.8, height=0.65, ec=GRAY)
    rows = [[shade(WEIGHTS, 0.65 if i in held else 0.0)] for i in range(4)]
    cells(ax, left + 1.9, 3.2, rows, width=1.1, height=0.65, ec=GRAY)
    label(ax, left + 0.4, 0.15, "batch", fontsize=11)
    label(ax, left + 2.45, 0.15, "weights", fontsize=11)


def _pair(ax: Axes, title: str, held: tuple[tuple[int, ...], ...], notes: list[str]):
    for rank in (0, 1):
        _process(ax, 4.6 * rank, rank, held[rank])
    arrow(ax, (3.5, 1.9), (4.35, 1.9))
    arrow(ax, (4.1, 1.9), (3.25, 1.9))
    for i, note in enumerate(notes):
        label(ax, 3.8, -1.0 - 0.75 * i, note, color=GRAY, fontsize=11)
    label(ax, 3.8, 4.95, title, fontsize=12.5)
    ax.set(xlim=(-0.4, 8.0), ylim=(-2.3, 5.4))
    ax.set_aspect("equal")
    ax.axis("off")


def sharing() -> Figure:
    """Copies of the weights in both processes, and a half of them in each."""
    figure, (copies, shards) = plt.subplots(1, 2, figsize=(7.2, 3.4))
    everything = (0, 1, 2, 3)
    _pair(
        copies,
        "data parallel",
        (everything, everything),
        ["exchange: gradients, averaged"],
    )
    _pair(
        shards,
        "fully sharded",
        ((0, 1), (2, 3)),
        ["exchange: weights, gathered for use", "and gradients, averaged and cut"],
    )
    return figure


if __name__ == "__main__":
    save_figures(sharing)
