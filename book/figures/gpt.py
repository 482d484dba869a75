"""The picture of the page on GPT that is not drawn by its own cells.

    python book/figures/gpt.py   # gpt-flow.svg

The way of a text from tokens to losses, and of one loss's gradient back.
"""

import matplotlib.pyplot as plt
from drawing import GRAY, INK, arrow, box, cells, label, save_figures, shade
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure

from course_lib import plot

TEXT = ["the", "firms", "near", "the", "new", "bank", "grow"]
BLOCKS = (2.9, 5.6)  # the middle of each block's height
STEM, SKY = plot.COLORS["green"], plot.COLORS["sky"]
BACK = plot.COLORS["vermillion"]
SHARES = (  # a sketch of each forecast: how high its bars stand, the true word third
    (0.1, 0.25, 0.5, 0.2, 0.3),
    (0.45, 0.15, 0.3, 0.1, 0.2),
    (0.2, 0.1, 0.9, 0.25, 0.15),
    (0.3, 0.4, 0.25, 0.2, 0.35),
    (0.2, 0.35, 0.45, 0.1, 0.3),
    (0.35, 0.2, 0.6, 0.1, 0.15),
)


def _forecast(ax: Axes, x: float, y: float, shares: tuple[float, ...]) -> None:
    """Bars for the probabilities of the next word, the true one filled."""
    for i, share in enumerate(shares):
        color = plot.COLORS["blue"] if i == 2 else shade(plot.COLORS["blue"], 0.35)
        ax.bar(x + (i - 2) * 0.26, 1.2 * share, 0.2, bottom=y, color=color, zorder=2)
    ax.plot([x - 0.7, x + 0.7], [y, y], color=GRAY, lw=1)


def flow() -> Figure:
    """From token to loss, upward, and the gradient of one loss back down."""
    figure, ax = plt.subplots(figsize=(7, 6.6))
    columns = [2.0 * i for i in range(len(TEXT) - 1)]
    last, first = columns[-1], columns[0]
    for name, y in zip(("block 1", "block 2"), BLOCKS, strict=True):
        style = {"fc": to_rgba(SKY, 0.25), "ec": SKY, "rounding": 0.2, "zorder": 0}
        box(ax, (first + last) / 2, y, last - first + 2, 2.0, **style)
        ax.text(first - 1.3, y, name, ha="right", va="center", color=INK)
        for i, x in enumerate(columns):  # each word is read by itself and later ones
            for other in columns[i + 1 :]:
                ends = (x + 0.1, y - 0.7), (other - 0.12, y + 0.7)
                arrow(ax, *ends, color=shade(SKY, 0.75), lw=1, zorder=0.5)
    for x, word, after, shares in zip(
        columns, TEXT[:-1], TEXT[1:], SHARES, strict=True
    ):
        label(ax, x, -0.55, word, fontsize=13)
        colors = [[shade(plot.COLORS["purple"], s)] for s in shares[:4]]
        cells(ax, x - 0.17, 1.15, colors, width=0.34, height=0.28, ec="white")
        arrow(ax, (x, 1.2), (x, 7.75), color=STEM, lw=3, zorder=0.7)
        box(ax, x, 8.1, 1.5, 0.62, "head", fc="white", fontsize=11)
        _forecast(ax, x, 8.95, shares)
        label(ax, x, 10.75, after, fontsize=13, color=plot.COLORS["blue"])
    for y, text in ((0.6, "vectors"), (9.5, "forecasts"), (10.75, "what came")):
        ax.text(first - 1.3, y, text, ha="right", va="center", color=INK)
    ax.text(first - 1.3, -0.55, "tokens", ha="right", va="center", color=INK)
    label(ax, last - 0.2, 11.55, "loss: $-\\log p$(grow)", fontsize=12, color=BACK)
    # The way back: down the last column, and out to the words that it has read.
    side = last + 0.3
    path = {"color": BACK, "lw": 2.2, "zorder": 3}
    arrow(ax, (side + 0.55, 11.2), (side + 0.55, 8.75), **path)
    arrow(ax, (side, 7.75), (side, 6.75), **path)
    arrow(ax, (side, 6.45), (side, 4.05), **path)
    arrow(ax, (side, 3.75), (side, 1.3), **path)
    for x in columns[:-1]:
        arrow(ax, (side, 3.5), (x + 0.3, 2.15), **{**path, "lw": 1.5})
        arrow(ax, (x + 0.3, 2.0), (x + 0.3, 1.3), **{**path, "lw": 1.5})
    ax.set(xlim=(-4.0, last + 1.9), ylim=(-1.0, 11.9))
    ax.set_axis_off()
    return figure


if __name__ == "__main__":
    save_figures(flow)
