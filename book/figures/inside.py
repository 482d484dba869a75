"""The picture of the page on which head carries the number that no cell draws.

    python book/figures/inside.py   # inside-swap.svg

Two runs of one model, and what one head found, taken from the one into the other.
"""

import matplotlib.pyplot as plt
from drawing import GRAY, arrow, box, label, save_figures, shade
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from course_lib import plot

SWAP = plot.COLORS["vermillion"]
N_HEADS, SWAPPED = 4, (2, 4)  # heads a block; block and head, as the text counts
LEFT = {1: 3.6, 2: 6.5}  # where the first head of a block stands


def place(block: int, head: int) -> float:
    """Where a head stands, from left to right."""
    return LEFT[block] + 0.62 * (head - 1)


def run(ax: Axes, y: float, subject: str) -> None:
    """Words, the heads of both blocks, and the way to the verb."""
    label(ax, 1.2, y, f"the {subject} near\nthe new banks", fontsize=13)
    for start, end in ((2.55, 3.2), (5.9, 6.1), (8.8, 9.35)):
        arrow(ax, (start, y), (end, y), color=GRAY)
    for block in LEFT:
        for head in range(1, N_HEADS + 1):
            here = (block, head) == SWAPPED
            fc, ec = (shade(SWAP, 0.35), SWAP) if here else ("white", GRAY)
            x = place(block, head)
            box(ax, x, y, 0.5, 0.6, f"{head}", fc=fc, ec=ec, fontsize=12)


def swap() -> Figure:
    """The run about several above the one about one, and the arrow between them."""
    figure, ax = plt.subplots(figsize=(7, 2.7))
    for block, left in LEFT.items():
        label(ax, left + 0.93, 2.75, f"block {block}", color=GRAY, fontsize=13)
    run(ax, 2, "firms")
    run(ax, 0.3, "firm")
    x = place(*SWAPPED)
    arrow(ax, (x, 1.65), (x, 0.66), color=SWAP, lw=2.4)
    label(ax, x - 0.15, 1.17, "what it found", color=SWAP, ha="right", fontsize=13)
    label(ax, 9.5, 2, "grow", ha="left", fontsize=14)
    label(ax, 9.5, 0.3, "grows?", ha="left", fontsize=14, color=SWAP)
    ax.set(xlim=(-0.1, 10.9), ylim=(-0.2, 3))
    ax.set_axis_off()
    return figure


if __name__ == "__main__":
    save_figures(swap)
