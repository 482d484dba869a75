"""The picture of the chapter on GPT that is not drawn by its own cells.

    python book/figures/gpt.py   # gpt-induction.svg

How two heads, one behind the other, copy a value.
"""

import matplotlib.pyplot as plt
from drawing import arrow, label, save_figures
from matplotlib.figure import Figure

from course_lib import plot

FIRST, SECOND = plot.COLORS["vermillion"], plot.COLORS["blue"]
TOKENS = (4, 1, 3, 2, 2, 4, 3)  # key, value, key, value, ..., and a key that returns


def look_back(place: int) -> int:
    """Where the first head looks."""
    return place - 1


def look_up(tokens: tuple[int, ...]) -> list[int]:
    """Where the second head looks from the last token: values of the same key."""
    return [i for i in range(1, len(tokens), 2) if tokens[look_back(i)] == tokens[-1]]


def induction() -> Figure:
    """The text in three rows: as it stands, after block 1, after block 2."""
    figure, ax = plt.subplots(figsize=(7, 4.2))
    last = len(TOKENS) - 1
    for i, token in enumerate(TOKENS):
        own = f"{'key' if i % 2 == 0 else 'value'}\n{token}"
        label(ax, i, 0, own)
        mark = f"{token}"
        if i % 2:
            mark += f"\nafter {TOKENS[look_back(i)]}"
            arrow(ax, (i - 1, 0.42), (i - 0.12, 1.5), color=FIRST, lw=2)
        label(ax, i, 2, mark)
    for i in look_up(TOKENS):
        arrow(ax, (i + 0.1, 2.45), (last - 0.15, 3.75), color=SECOND, lw=2)
        ax.text(last, 4, f"say {TOKENS[i]}", ha="center", color=SECOND, weight="bold")
    ax.text(-0.9, 0.95, "block 1: what stands\nbefore me?", color=FIRST, ha="right")
    question = f"block 2: who stands\nafter a {TOKENS[-1]}?"
    ax.text(-0.9, 3.0, question, color=SECOND, ha="right")
    ax.set(xlim=(-3.6, last + 0.6), ylim=(-0.6, 4.5))
    ax.set_axis_off()
    return figure


if __name__ == "__main__":
    save_figures(induction)
