"""The picture of the recap: every shape from ids to logits.

    python book/figures/recap.py   # recap-shapes.svg

Downward, one line of the program a row: what is done, what it gives, and where it is.
"""

import matplotlib.pyplot as plt
from drawing import GRAY, INK, arrow, box, label, save_figures, shade
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure

from course_lib import plot

STEM, SKY = plot.COLORS["green"], plot.COLORS["sky"]
TABLE, WORK = plot.COLORS["purple"], plot.COLORS["orange"]
PLAIN = plot.COLORS["gray"]

# What is done, the color of its box, the shape that it gives, and what that is called.
ROWS = (
    ("rows of the table $W_E$", TABLE, "B T D", "X"),
    ("LayerNorm", PLAIN, "B T D", ""),
    ("q_proj, k_proj, v_proj; split", SKY, "B H T d", "Q, K, V"),
    ("Rotary turns Q and K", SKY, "B H T d", ""),
    ("$QK^{\\top}\\!/\\sqrt{d}$, then the mask", SKY, "B H T T", "scores"),
    ("softmax", SKY, "B H T T", "A, weights"),
    ("times V", SKY, "B H T d", "a mean for each head"),
    ("join; o_proj", SKY, "B T D", ""),
    ("+", STEM, "B T D", "X"),
    ("LayerNorm", PLAIN, "B T D", ""),
    ("up_proj; GELU", WORK, "B T F", "hidden units"),
    ("down_proj", WORK, "B T D", ""),
    ("+", STEM, "B T D", "X"),
    ("LayerNorm", PLAIN, "B T D", ""),
    ("times $W_E^{\\top}$", TABLE, "B T N", "z, logits"),
    ("softmax; $-\\log P$ of what came", PLAIN, "B T", "their mean is the loss"),
)
BLOCK = slice(1, 13)  # the rows of a block
PARTS = {"MultiHeadAttention": (2, 8), "FeedForward": (10, 12)}
STEP, WIDTH, SIDE = 1.0, 5.0, 0.9


def _skip(ax: Axes, start: float, end: float) -> None:
    """A line beside the boxes, from above a norm to the sum that it enters."""
    x = -WIDTH / 2 - SIDE
    points = (0, start), (x, start), (x, end), (-0.36, end)
    arrow(ax, *points, color=STEM, lw=2.4, zorder=0.7)


def shapes() -> Figure:
    """From the ids at the top to the loss at the bottom, a row for each line."""
    figure, ax = plt.subplots(figsize=(7, 7.2))
    ys = [-STEP * (i + 1) for i in range(len(ROWS))]
    first, last = ys[BLOCK][0], ys[BLOCK][-1]
    style = {"fc": to_rgba(PLAIN, 0.08), "ec": PLAIN, "rounding": 0.2, "zorder": 0}
    middle, height = (first + last) / 2 - 0.03, first - last + 0.94
    box(ax, -0.7, middle, WIDTH + 2.1, height, **style)
    ax.text(-4.4, middle, "Block, L times", ha="right", va="center", rotation=90)
    label(ax, 0, 0, "ids", fontsize=13)
    ax.text(2.95, -0.02, "B T", ha="left", va="center", family="monospace")
    ax.text(5.15, -0.02, "the firms near …", ha="left", va="center", color=GRAY)
    for i, (y, (done, color, shape, name)) in enumerate(zip(ys, ROWS, strict=True)):
        if done == "+":
            box(ax, 0, y, 0.62, 0.56, done, fc="white", ec=color, rounding=0.28)
        else:
            look = {"fc": shade(color, 0.25), "ec": color, "lw": 1.3}
            box(ax, 0, y, WIDTH, 0.62, done, fontsize=11, **look)
        above = ys[i - 1] - 0.31 if i else -0.28
        stem = i in {0, 1, 9, 13}
        line = {"color": STEM, "lw": 2.4} if stem else {"color": INK, "lw": 1.2}
        arrow(ax, (0, above), (0, y + 0.31), **line)
        ax.text(2.95, y - 0.02, shape, ha="left", va="center", family="monospace")
        ax.text(5.15, y - 0.02, name, ha="left", va="center", color=GRAY)
    for i in (1, 9):
        _skip(ax, ys[i] + 0.5, ys[i + 3 if i == 9 else i + 7])
    for name, (start, end) in PARTS.items():
        where = (ys[start] + ys[end - 1]) / 2
        ax.text(-2.95, where, name, ha="right", va="center", rotation=90, fontsize=11)
    ax.set(xlim=(-4.6, 8.3), ylim=(ys[-1] - 0.5, 0.5))
    ax.set_axis_off()
    return figure


if __name__ == "__main__":
    save_figures(shapes)
