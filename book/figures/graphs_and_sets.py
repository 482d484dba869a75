"""The drawings of the pages on graphs and sets that no cell makes.

    python book/figures/graphs_and_sets.py

writes graphs-and-sets-network.svg (six firms, and who supplies whom as a mask) beside
this file.
"""

import math

import matplotlib.pyplot as plt
from drawing import GRAY, INK, arrow, box, cells, label, save_figures, shade
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from course_lib import plot

RED, PURPLE = plot.COLORS["vermillion"], "#6A51A3"

FIRMS = ("glass", "steel", "chips", "paint", "valves", "paper")
SUPPLIERS = {
    "glass": ("steel", "paint", "valves", "paper"),
    "steel": ("chips", "paper"),
    "chips": ("glass", "paint"),
    "paint": ("steel", "valves"),
    "valves": ("steel", "chips"),
    "paper": ("paint", "valves"),
}


def network() -> Figure:
    """Six firms as a graph, and the same graph as a matrix."""
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(7, 3.7), gridspec_kw={"width_ratios": (1.15, 1)}
    )
    place = {"glass": (0.0, 0.0)}
    for k, firm in enumerate(FIRMS[1:]):
        angle = math.pi / 2 + 2 * math.pi * k / 5
        place[firm] = (3.3 * math.cos(angle), 2.6 * math.sin(angle))
    for firm, suppliers in SUPPLIERS.items():
        for supplier in suppliers:
            (x0, y0), (x1, y1) = place[supplier], place[firm]
            dx, dy = x1 - x0, y1 - y0
            gap = min(0.9 / max(abs(dx), 1e-9), 0.55 / max(abs(dy), 1e-9))
            ends = (x0 + gap * dx, y0 + gap * dy), (x1 - gap * dx, y1 - gap * dy)
            told = firm == "glass"
            color = (RED if supplier == "valves" else INK) if told else "#C8C8C8"
            arrow(left, *ends, color=color, lw=2.4 if told else 1.2, zorder=1 + told)
    for firm, (x, y) in place.items():
        hit = firm == "valves"
        fill = shade(RED, 0.3) if hit else shade(GRAY, 0.15)
        edge = RED if hit else INK
        box(left, x, y, 1.55, 0.8, firm, fc=fill, ec=edge, zorder=2, fontsize=13)
    x, y = place["valves"]
    label(left, x, y - 0.75, "hit by a storm", color=RED, fontsize=12)
    left.set(xlim=(-4.05, 4.05), ylim=(-3.2, 3.1), aspect="equal")
    left.set_axis_off()

    colors = [
        [PURPLE if column in SUPPLIERS[row] else "#F0F0F0" for column in FIRMS]
        for row in FIRMS
    ]
    cells(right, 0, 6, colors, lw=2)
    for k, firm in enumerate(FIRMS):
        label(right, -0.15, 5.5 - k, firm, ha="right", fontsize=12)
        label(right, k + 0.35, 6.15, firm, ha="left", va="bottom", rotation=50)
    right.add_patch(Rectangle((0, 5), 6, 1, fill=False, ec=INK, lw=2.4))
    right.set(xlim=(-1.9, 6.9), ylim=(-0.3, 7.6), aspect="equal")
    right.set_axis_off()
    return figure


if __name__ == "__main__":
    save_figures(network)
