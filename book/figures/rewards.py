"""The picture of the page on rewards that no cell draws.

    python book/figures/rewards.py   # rewards-group.svg

A question, a group of answers, what the check says, and what each answer is pushed by.
"""

import matplotlib.pyplot as plt
from drawing import GRAY, INK, arrow, box, label, save_figures, shade
from matplotlib.figure import Figure

from course_lib import plot

ANSWERS = ("5", "15", "5", "14")
REWARDS = (0, 1, 0, 0)
UP, DOWN = plot.COLORS["blue"], plot.COLORS["vermillion"]
COLUMNS = (0, 3.1, 5.4, 7.9)  # question, answers, rewards, advantages


def group() -> Figure:
    """From one question to four advantages, and back to the model."""
    figure, ax = plt.subplots(figsize=(7, 3.3))
    style = {"fontsize": 12, "color": INK}
    heads = ("question", "answers", "reward", "reward\n− mean")
    for x, head in zip(COLUMNS, heads, strict=True):
        label(ax, x, 2.75, head, fontsize=12, color=GRAY)
    box(ax, 0, 0, 1.9, 1.0, "7 + 8", fontsize=14)
    mean = sum(REWARDS) / len(REWARDS)
    for row, (answer, reward) in enumerate(zip(ANSWERS, REWARDS, strict=True)):
        y = 1.65 - 1.1 * row
        color = UP if reward else DOWN
        arrow(ax, (1.0, 0.25 * y), (2.35, y), color=GRAY)
        box(
            ax,
            COLUMNS[1],
            y,
            1.3,
            0.8,
            answer,
            fc=shade(color, 0.12),
            ec=color,
            **style,
        )
        arrow(ax, (3.85, y), (4.85, y), color=GRAY)
        label(ax, COLUMNS[2], y, str(reward), **style)
        advantage = reward - mean
        sign = "+" if advantage > 0 else "−"
        label(
            ax, COLUMNS[3], y, f"{sign}{abs(advantage):.2f}", fontsize=12, color=color
        )
        end = (9.3, y + 0.35 * (1 if advantage > 0 else -1))
        start = (9.3, y - 0.35 * (1 if advantage > 0 else -1))
        arrow(ax, start, end, color=color, lw=2.2)
        word = "likelier" if advantage > 0 else "less likely"
        label(ax, 9.7, y, word, fontsize=12, color=color, ha="left")
    ax.set(xlim=(-1.1, 12.2), ylim=(-2.3, 3.3))
    ax.set_axis_off()
    return figure


if __name__ == "__main__":
    save_figures(group)
