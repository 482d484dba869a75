"""The picture of the page on what encoders are used for.

    python book/figures/bert_uses.py   # bert-uses-heads.svg

One encoder, and four heads that read it at different places.
"""

import matplotlib.pyplot as plt
from drawing import GRAY, arrow, box, label, save_figures
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure

from course_lib import plot

TOKENS = ["[CLS]", "the", "bank", "that", "the", "firms", "trust", "grows", "[SEP]"]
TAGS = {2: "subject", 5: "other"}
SPAN = {4: "begins", 5: "ends"}
ROWS = (  # height, what is asked, its color, and the answers by token
    (3.0, "class?", plot.COLORS["vermillion"], {0: "A"}),
    (4.0, "tags?", plot.COLORS["green"], TAGS),
    (5.0, "span?", plot.COLORS["blue"], SPAN),
)


def heads() -> Figure:
    """Tokens below, the encoder, and above it what three heads say."""
    figure, ax = plt.subplots(figsize=(7.6, 4.4))
    last = len(TOKENS) - 1
    box(ax, last / 2, 1.5, last + 0.9, 0.8, lw=1.4)
    label(ax, last / 2, 1.5, "encoder", fontsize=14)
    for i, token in enumerate(TOKENS):
        weight = "bold" if token.startswith("[") else "normal"
        label(ax, i, 0.3, token, fontsize=13, weight=weight)
        arrow(ax, (i, 0.6), (i, 1.05), color=GRAY)
        arrow(ax, (i, 1.95), (i, 2.4), color=GRAY)
    for y, name, color, answers in ROWS:
        label(ax, -0.75, y, name, ha="right", color=color, fontsize=14)
        asked = (0,) if name == "class?" else range(1, last)
        for i in asked:
            style = {"fc": to_rgba(color, 0.2), "ec": color, "lw": 1.1}
            text = answers.get(i, "")
            box(ax, i, y, 0.9, 0.62, text, **style, rounding=0.1, fontsize=10.5)
    ax.set(xlim=(-2.0, last + 0.6), ylim=(-0.1, 5.5))
    ax.set_axis_off()
    return figure


if __name__ == "__main__":
    save_figures(heads)
