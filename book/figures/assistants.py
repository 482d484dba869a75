"""The picture of the page on assistants that no cell draws.

    python book/figures/assistants.py   # assistants-stages.svg

The three trainings of an assistant, and what each model answers to one question.
"""

import matplotlib.pyplot as plt
import numpy as np
from drawing import GRAY, INK, arrow, box, label, save_figures, shade
from matplotlib.figure import Figure

from course_lib import plot

SHARES = np.array([0.5, 0.3, 0.2])  # of the three wordings in the demonstrations
REWARDS = np.array([0.0, 1.0, -1.0])  # what readers think of them
PREFERRED = SHARES * np.exp(REWARDS)  # the optimum with beta = 1
ANSWERS = ("grow", "many grow .", "do many grow ?", "anything else")
STAGES = (
    ("texts", "forecast the\nnext word", (0, 0, 0, 1)),
    ("questions with\nanswers", "forecast the\nanswer", (*SHARES, 0)),
    ("pairs of answers,\none preferred", "prefer what\nreaders prefer", None),
)
COLORS = (GRAY, plot.COLORS["blue"], plot.COLORS["vermillion"])
STEP = 4.4


def stages() -> Figure:
    """Data, training and answers of each stage, from left to right."""
    figure, ax = plt.subplots(figsize=(7, 4.0))
    asked = "asked about\nthe firms near\nthe new bank"
    label(ax, -1.5, 2.55, asked, ha="right", fontsize=12, color=INK)
    for i, (texts, task, shares) in enumerate(STAGES):
        x, color = i * STEP, COLORS[i]
        shares = (*PREFERRED / PREFERRED.sum(), 0) if shares is None else shares
        label(ax, x, 4.9, texts, fontsize=12, color=INK)
        arrow(ax, (x, 4.4), (x, 3.75), color=color, lw=2)
        style = {"fc": shade(color, 0.15), "ec": color, "fontsize": 12}
        box(ax, x, 3.05, 3.4, 1.3, task, **style)
        if i < len(STAGES) - 1:
            arrow(ax, (x + 1.75, 3.05), (x + STEP - 1.75, 3.05), color=INK, lw=2)
        arrow(ax, (x, 2.35), (x, 1.85), color=color, lw=2)
        for row, share in enumerate(shares):
            ax.barh(1.45 - 0.55 * row, 2.4 * share, 0.36, left=x - 1.2, color=color)
    for row, answer in enumerate(ANSWERS):
        style = {"ha": "right", "fontsize": 12, "color": INK}
        label(ax, -1.5, 1.45 - 0.55 * row, answer, **style)
    ax.set(xlim=(-4.6, 2 * STEP + 1.9), ylim=(-0.6, 5.5))
    ax.set_axis_off()
    return figure


if __name__ == "__main__":
    save_figures(stages)
