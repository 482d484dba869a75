"""The picture of the page on text as data that is not drawn by its own cells.

    python book/figures/text_as_data.py   # text-as-data-splits.svg

Paragraphs of three presidents, and which of them may date one of their number.
"""

import matplotlib.pyplot as plt
from drawing import GRAY, INK, label, save_figures
from matplotlib.figure import Figure

from course_lib import plot

ASKED, USED = plot.COLORS["vermillion"], plot.COLORS["blue"]
PRESIDENTS = ("Grant", "Hayes", "Arthur")
ADDRESSES, PARAGRAPHS = 3, 4  # of each president, and of each address
ONE = (1, 1, 2)  # president, address and paragraph of the one to date
ROWS = {"the paragraph": 3, "its address": 2, "its president": 1}


def may_answer(one: tuple[int, int, int], other: tuple[int, int, int], n: int) -> bool:
    """Whether the other is left in, where what shares its first n numbers is not."""
    return one[:n] != other[:n]


def splits() -> Figure:
    """The same paragraphs three times; hollow are those that are left out."""
    figure, ax = plt.subplots(figsize=(7, 2.6))
    step, gap, wide = 0.3, 0.28, 0.5
    width = ADDRESSES * (PARAGRAPHS * step + gap) + wide
    for row, (name, n) in enumerate(ROWS.items()):
        y = -row
        label(ax, -0.35, y, name, ha="right")
        for i, president in enumerate(PRESIDENTS):
            left = i * width
            for j in range(ADDRESSES):
                start = left + j * (PARAGRAPHS * step + gap)
                for k in range(PARAGRAPHS):
                    place = (i, j, k)
                    used = may_answer(ONE, place, n)
                    color = ASKED if place == ONE else USED if used else "#BBBBBB"
                    fill = "white" if color == "#BBBBBB" else color
                    x = start + k * step
                    ax.plot(x, y, "o", ms=6.5, mfc=fill, mec=color, mew=1.4)
            if row == 0:
                middle = left + (width - wide - gap - step) / 2
                label(ax, middle, 0.75, president, color=INK)
    label(ax, -0.35, 0.75, "left out", ha="right", color=GRAY, style="italic")
    ax.set(xlim=(-2.5, len(PRESIDENTS) * width - wide), ylim=(-2.45, 1.1))
    ax.axis("off")
    return figure


if __name__ == "__main__":
    save_figures(splits)
