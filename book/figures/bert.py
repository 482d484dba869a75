"""The picture of the chapter on BERT that is not drawn by its own cells.

    python book/figures/bert.py   # bert-input.svg

What goes into the encoder: three vectors a token, added. Letters are outlines.
"""

from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

from course_lib import data, plot

HERE = Path(__file__).parent
INK, GRAY = plot.COLORS["black"], plot.COLORS["gray"]
TOKEN, PLACE = plot.COLORS["blue"], plot.COLORS["orange"]
SEGMENTS = (plot.COLORS["green"], plot.COLORS["purple"])
FIRST, SECOND, HIDDEN = "do many firms", "[MASK] ?", "grow"


def row() -> tuple[list[str], list[int]]:
    """The tokens of the picture and their types, as the package lays them out."""
    language = data.grammar()
    ids, types = data.frame([language.encode(FIRST)], [language.encode(SECOND)])
    return [language.words[i] for i in ids[0]], types[0].tolist()


def _box(ax: Axes, x: float, y: float, text: str, color: str):
    box = FancyBboxPatch(
        (x - 0.42, y - 0.28), 0.84, 0.56, boxstyle="round,pad=0,rounding_size=0.1"
    )
    box.set(fc=to_rgba(color, 0.22), ec=color, lw=1.2)
    ax.add_patch(box)
    ax.text(x, y, text, ha="center", va="center", color=INK, fontsize=13)


def _arrow(ax: Axes, x: float, bottom: float, top: float, color: str = GRAY):
    ax.add_patch(
        FancyArrowPatch(
            (x, bottom), (x, top), arrowstyle="-|>", mutation_scale=13, color=color
        )
    )


def inputs() -> Figure:
    """Tokens below, three rows of vectors, the encoder, and two of its outputs."""
    tokens, types = row()
    figure, ax = plt.subplots(figsize=(7.6, 5.2))
    last = len(tokens) - 1
    for i, (token, kind) in enumerate(zip(tokens, types, strict=True)):
        special = token.startswith("[")
        ax.text(
            i, 0, token, ha="center", va="center", fontsize=12.5,
            color=INK, weight="bold" if special else "normal",
        )  # fmt: skip
        for y, text, color in (
            (0.9, f"$E_{{\\mathrm{{{token.strip('[]')}}}}}$", TOKEN),
            (1.75, f"$S_{{\\mathrm{{{'AB'[kind]}}}}}$", SEGMENTS[kind]),
            (2.6, f"$P_{{{i}}}$", PLACE),
        ):
            _box(ax, i, y, text, color)
        for y in (1.325, 2.175):
            ax.text(i, y, "+", ha="center", va="center", color=GRAY, fontsize=13)
        _arrow(ax, i, 2.92, 3.45)
    for y, name, color in (
        (0.9, "token", TOKEN),
        (1.75, "segment", SEGMENTS[0]),
        (2.6, "position", PLACE),
    ):
        ax.text(-0.65, y, name, ha="right", va="center", color=color, fontsize=14)
    bar = FancyBboxPatch(
        (-0.42, 3.5), last + 0.84, 0.75, boxstyle="round,pad=0,rounding_size=0.12"
    )
    bar.set(fc="white", ec=INK, lw=1.4)
    ax.add_patch(bar)
    ax.text(
        last / 2, 3.87, "norm, then L blocks: each token reads all others",
        ha="center", va="center", fontsize=14,
    )  # fmt: skip
    masked = tokens.index("[MASK]")
    for i, text in ((0, "class?"), (masked, f"word? ({HIDDEN})")):
        _arrow(ax, i, 4.27, 4.85, INK)
        ax.text(i, 5.05, text, ha="center", va="center", fontsize=14)
    ax.set(xlim=(-2.05, last + 0.5), ylim=(-0.3, 5.3))
    ax.set_axis_off()
    return figure


def main() -> None:
    """Write the picture."""
    plot.use_style()
    mpl.rcParams["svg.hashsalt"] = "bert"
    inputs().savefig(HERE / "bert-input.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
