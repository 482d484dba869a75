"""The picture of the page on learning from the prompt that no cell draws.

    python book/figures/in_context.py   # in-context-induction.svg

How two heads, one after the other, look up in a ledger what they have seen.
"""

import matplotlib.pyplot as plt
from drawing import INK, arrow, label, save_figures
from matplotlib.figure import Figure

from course_lib import plot

FIRST, SECOND = plot.COLORS["vermillion"], plot.COLORS["blue"]
ITEMS = ("rent", "wages", "power", "repairs")
TOKENS = (3, 1, 1, 3, 2, 4, 1)  # item, account, ..., and an item that returns


def look_back(place: int) -> int:
    """Where the first head looks."""
    return place - 1


def look_up(tokens: tuple[int, ...]) -> list[int]:
    """Where the second head looks from the last token: values of the same key."""
    return [i for i in range(1, len(tokens), 2) if tokens[look_back(i)] == tokens[-1]]


def induction() -> Figure:
    """A ledger in three rows: as it stands, after block 1, after block 2."""
    figure, ax = plt.subplots(figsize=(7, 4.0))
    last = len(TOKENS) - 1
    for i, token in enumerate(TOKENS):
        name = f"{token}" if i % 2 else ITEMS[token - 1]
        label(ax, i, 0, name, fontsize=13)
        label(ax, i, 2.2, name, fontsize=13)
        if i % 2:
            mark = f"after {ITEMS[TOKENS[look_back(i)] - 1]}"
            label(ax, i, 1.85, mark, fontsize=12, color=FIRST)
            arrow(ax, (i - 1, 0.3), (i - 0.12, 1.6), color=FIRST, lw=2)
    for i in look_up(TOKENS):
        arrow(ax, (i + 0.1, 2.5), (last - 0.15, 3.75), color=SECOND, lw=2)
        style = {"ha": "center", "color": SECOND, "weight": "bold", "fontsize": 13}
        ax.text(last, 3.9, f"{TOKENS[i]}", **style)
    ax.text(-0.8, 0, "tokens", color=INK, ha="right", va="center", fontsize=13)
    question = "block 1: what stands\nbefore me?"
    ax.text(-0.8, 0.85, question, color=FIRST, ha="right", fontsize=13)
    question = f"block 2: what came\nafter {ITEMS[TOKENS[-1] - 1]}?"
    ax.text(-0.8, 3.0, question, color=SECOND, ha="right", fontsize=13)
    ax.set(xlim=(-3.4, last + 0.6), ylim=(-0.4, 4.4))
    ax.set_axis_off()
    return figure


if __name__ == "__main__":
    save_figures(induction)
