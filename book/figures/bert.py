"""The picture of the chapter on BERT that is not drawn by its own cells.

    python book/figures/bert.py   # bert-inputs.svg

What goes into the encoder: three vectors a token, added.
"""

import matplotlib.pyplot as plt
from drawing import GRAY, arrow, box, label, save_figures
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure

from course_lib import data, plot

TOKEN, PLACE = plot.COLORS["blue"], plot.COLORS["orange"]
SEGMENTS = (plot.COLORS["green"], plot.COLORS["purple"])
FIRST, SECOND, HIDDEN = "do many firms", "[MASK] ?", "grow"


def row() -> tuple[list[str], list[int]]:
    """The tokens of the picture and their types, as the package lays them out."""
    language = data.grammar()
    ids, types = data.frame([language.encode(FIRST)], [language.encode(SECOND)])
    return [language.words[i] for i in ids[0]], types[0].tolist()


def inputs() -> Figure:
    """Tokens below, three rows of vectors, the encoder, and two of its outputs."""
    tokens, types = row()
    figure, ax = plt.subplots(figsize=(7.6, 5.2))
    last = len(tokens) - 1
    for i, (token, kind) in enumerate(zip(tokens, types, strict=True)):
        special = token.startswith("[")
        weight = "bold" if special else "normal"
        label(ax, i, 0, token, fontsize=12.5, weight=weight)
        for y, text, color in (
            (0.9, token.strip("[]"), TOKEN),
            (1.75, "AB"[kind], SEGMENTS[kind]),
            (2.6, str(i), PLACE),
        ):
            style = {"fc": to_rgba(color, 0.22), "ec": color, "lw": 1.2}
            box(ax, i, y, 0.84, 0.56, text, **style, rounding=0.1, fontsize=12)
        for y in (1.325, 2.175):
            label(ax, i, y, "+", color=GRAY, fontsize=13)
        arrow(ax, (i, 2.92), (i, 3.45), color=GRAY)
    for y, name, color in (
        (0.9, "token", TOKEN),
        (1.75, "segment", SEGMENTS[0]),
        (2.6, "place", PLACE),
    ):
        label(ax, -0.65, y, name, ha="right", color=color, fontsize=14)
    text = "blocks, in which each token reads all others"
    box(ax, last / 2, 3.875, last + 0.84, 0.75, lw=1.4)
    label(ax, last / 2, 3.87, text, fontsize=14)
    masked = tokens.index("[MASK]")
    for i, text in ((0, "class?"), (masked, f"word? ({HIDDEN})")):
        arrow(ax, (i, 4.27), (i, 4.85))
        label(ax, i, 5.05, text, fontsize=14)
    ax.set(xlim=(-2.05, last + 0.5), ylim=(-0.3, 5.3))
    ax.set_axis_off()
    return figure


if __name__ == "__main__":
    save_figures(inputs)
