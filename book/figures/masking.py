"""The picture of the chapter on masks that is not drawn by its own cells.

    python book/figures/masking.py   # masking-rows.svg

A causal mask, row by row: what a position may read, and what it must say.
"""

from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, Rectangle

from course_lib import data, oracle, plot

HERE = Path(__file__).parent
INK, GRAY = plot.COLORS["black"], plot.COLORS["gray"]
ALLOWED, FORBIDDEN = "#CFC6E6", "#F4F4F4"
TEXT = "the bank near the firms grows ."
WIDTH, HEIGHT = 1.5, 0.8  # of a cell


def _word(ax: Axes, x: float, y: float, text: str, color: str = INK, **style: Any):
    ax.text(x, y, text, ha="center", va="center", color=color, **style)


def rows() -> Figure:
    """One text is as many examples as the mask has rows."""
    words = TEXT.split()
    data.grammar().encode(TEXT)  # refuses what is not in the language
    inputs, targets = words[:-1], words[1:]
    allowed = oracle.causal_mask(len(inputs), len(inputs))
    figure, ax = plt.subplots(figsize=(7, 3.4))
    right = WIDTH * len(inputs)
    for i, target in enumerate(targets):
        y = -HEIGHT * i
        for j, word in enumerate(inputs):
            color = ALLOWED if allowed[i, j] else FORBIDDEN
            ax.add_patch(
                Rectangle(
                    (WIDTH * j, y - HEIGHT), WIDTH, HEIGHT, fc=color, ec="white", lw=2
                )
            )
            if allowed[i, j]:
                weight = "bold" if i == j else "normal"
                middle = WIDTH * (j + 0.5)
                _word(ax, middle, y - HEIGHT / 2, word, weight=weight, fontsize=13)
        _word(ax, right + 0.45, y - HEIGHT / 2, "→", fontsize=15)
        ax.add_patch(
            FancyBboxPatch(
                (right + 0.95, y - HEIGHT + 0.12),
                WIDTH - 0.1,
                HEIGHT - 0.24,
                boxstyle="round,pad=0.02,rounding_size=0.12",
                fc="white",
                ec=plot.COLORS["vermillion"],
                lw=1.8,
            )
        )
        middle = right + 0.95 + (WIDTH - 0.1) / 2
        _word(ax, middle, y - HEIGHT / 2, target, fontsize=13)
        _word(ax, -0.35, y - HEIGHT / 2, str(i + 1), color=GRAY, fontsize=13)
    _word(ax, right / 2, 0.4, "may read (keys)", color=GRAY, fontsize=13)
    _word(
        ax, right + 1.65, 0.4, "must say", color=plot.COLORS["vermillion"], fontsize=13
    )
    bottom = -HEIGHT * len(targets)
    ax.text(
        -0.95,
        bottom / 2,
        "position (queries)",
        rotation=90,
        ha="center",
        va="center",
        color=GRAY,
        fontsize=13,
    )
    ax.set(xlim=(-1.25, right + 2.5), ylim=(bottom - 0.1, 0.75), aspect="equal")
    ax.set_axis_off()
    return figure


if __name__ == "__main__":
    plot.use_style()
    mpl.rcParams["svg.hashsalt"] = "masking"
    rows().savefig(HERE / "masking-rows.svg", metadata={"Date": None})
