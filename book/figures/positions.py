"""The drawings of the page on positions that no cell makes.

python book/figures/positions.py   # positions-twins.svg, positions-turning.svg
"""

import matplotlib.pyplot as plt
import numpy as np
from drawing import GRAY, INK, label, save_figures
from matplotlib.figure import Figure
from matplotlib.patches import Arc, Circle, FancyArrowPatch

from course_lib import plot

ONE = ("the", "firms", "near", "the", "bank")


def twins() -> Figure:
    """The same five words in two orders, each with the verb that follows."""
    order = [3, 4, 2, 0, 1]  # where each word of the first phrase stands in the second
    colors = {"firms": plot.COLORS["vermillion"], "bank": plot.COLORS["blue"]}
    figure, ax = plt.subplots(figsize=(7, 2.5))
    for t, word in enumerate(ONE):
        color = colors.get(word, GRAY)
        ax.plot([t, order[t]], [0.82, 0.18], color=color, lw=2 + (color != GRAY))
        for place, y in ((t, 1.0), (order[t], 0.0)):
            label(ax, place, y, word, color=colors.get(word, INK), style="italic")
    for y, verb, noun in ((1.0, "grow", "firms"), (0.0, "grows", "bank")):
        label(ax, 5, y, "____", color=GRAY)
        label(ax, 6, y, verb, color=colors[noun], style="italic")
    ax.set(xlim=(-0.4, 6.5), ylim=(-0.25, 1.25))
    ax.set_axis_off()
    return figure


def turning() -> Figure:
    """One pair of entries: a query and a key, turned by where they stand."""
    turn, query, key = 20, 30, 10  # degrees a position, and the angles at position 0
    figure, axes = plt.subplots(1, 3, figsize=(7.2, 3.0))
    for ax, (i, j) in zip(axes, ((2, 0), (7, 5), (7, 0)), strict=True):
        ax.add_patch(Circle((0, 0), 1, fc="none", ec="#DDDDDD", lw=1.2))
        angles = query + turn * i, key + turn * j
        for start, angle, color in (
            (query, angles[0], "vermillion"),
            (key, angles[1], "blue"),
        ):
            for degrees, strength in ((start, 0.3), (angle, 1.0)):
                end = np.cos(np.deg2rad(degrees)), np.sin(np.deg2rad(degrees))
                shaft = FancyArrowPatch((0, 0), end, shrinkA=0, shrinkB=0)
                shaft.set(arrowstyle="-|>", mutation_scale=14, lw=2.4, alpha=strength)
                shaft.set_color(plot.COLORS[color])
                ax.add_patch(shaft)
            place = 1.24 * np.cos(np.deg2rad(angle)), 1.24 * np.sin(np.deg2rad(angle))
            name = "$\\tilde q$" if color == "vermillion" else "$\\tilde k$"
            label(ax, *place, name, color=plot.COLORS[color], fontsize=14)
        low, high = sorted(angles)
        ax.add_patch(Arc((0, 0), 0.7, 0.7, theta1=low, theta2=high, color=INK, lw=1.4))
        between = high - low
        middle = np.deg2rad((low + high) / 2)
        place = 0.6 * np.cos(middle), 0.6 * np.sin(middle)
        label(ax, *place, f"{between}°", fontsize=10)
        product = np.cos(np.deg2rad(between))
        label(ax, 0, -1.55, f"product {product:.2f}".replace("-", "−"))
        ax.set(title=f"query at {i}, key at {j}", aspect="equal")
        ax.set(xlim=(-1.45, 1.45), ylim=(-1.75, 1.45))
        ax.set_axis_off()
    return figure


if __name__ == "__main__":
    save_figures(twins, turning)
