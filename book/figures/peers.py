"""The picture of the chapter on firms that is not drawn by its own cells.

    python book/figures/peers.py   # peers-search.svg

A small firm searches among four others, with the simulated economy's weights.
"""

import matplotlib.pyplot as plt
import numpy as np
from drawing import GRAY, INK, arrow, box, label, save_figures
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from course_lib import plot
from course_lib.data.firms import true_relevance

PURPLE = "#6A51A3"  # of the maps for weights
SEARCH, PROFILE, INFORM = (plot.COLORS[c] for c in ("vermillion", "blue", "green"))
NAMES = ("giant", "large", "medium", "small", "startup")
SECTORS = ("tech", "oil", "tech", "oil", "tech")
SIZES = np.array([3.0, 1.2, 0.2, -0.5, -0.8])


def weights() -> np.ndarray:
    """Where the startup looks, by the economy's law, all with the same research."""
    sector = np.array([SECTORS.index(name) for name in SECTORS])
    law = true_relevance(SIZES[None], np.zeros((1, 5)), sector[None])
    return law[0, -1]


def _box(ax: Axes, left: float, y: float, w: float, h: float, text: str, color: str):
    box(ax, left + w / 2, y, w, h, text, ec=color, color=color)


def search() -> Figure:
    """One firm's look at the others, and the line that no return may cross."""
    figure, ax = plt.subplots(figsize=(6.2, 5.4))
    alpha = weights()
    ax.text(0.2, 7.55, "end of quarter $t$: known", color=GRAY, fontsize=12)
    ax.text(9.65, 7.55, "quarter $t+1$", color=GRAY, fontsize=12)
    ax.plot([9.45, 9.45], [-0.6, 7.9], "--", color=GRAY, lw=1.5)

    _box(ax, 0.2, 3.6, 1.5, 0.9, "startup\ntech, $x_i$", INK)
    arrow(ax, (1.7, 3.6), (2.35, 3.6))
    _box(ax, 2.35, 3.6, 1.15, 0.75, "$x_i W_Q$", SEARCH)
    ax.text(2.92, 2.85, "criterion", color=SEARCH, ha="center", fontsize=12)

    heights = np.linspace(6.7, 0.5, len(NAMES))
    for y, name, sector, a in zip(heights, NAMES, SECTORS, alpha, strict=True):
        itself = name == "startup"
        tint = GRAY if itself else INK
        _box(ax, 7.55, y, 1.55, 0.9, f"{name}\n{sector}, $x_j$", tint)
        arrow(ax, (7.55, y + 0.2), (6.95, y + 0.2), color=tint)
        arrow(ax, (7.55, y - 0.2), (6.95, y - 0.2), color=tint)
        _box(ax, 5.75, y + 0.27, 1.2, 0.46, "$x_j W_K$", GRAY if itself else PROFILE)
        _box(ax, 5.75, y - 0.27, 1.2, 0.46, "$x_j W_V$", GRAY if itself else INFORM)
        target = (5.7, y + 0.2)
        ax.plot(
            [3.5, target[0]],
            [3.6, target[1]],
            color=GRAY if itself else PURPLE,
            lw=1.2 if itself else 1.2 + 9 * a,
            ls=":" if itself else "-",
            solid_capstyle="butt",
            alpha=1.0 if itself else 0.75,
            zorder=0,
        )
        near = 0.72
        place = (3.5 + near * (target[0] - 3.5), 3.6 + near * (target[1] - 3.6))
        text, size, color = ("×", 16, SEARCH) if itself else (f"{a:.2f}", 11.5, INK)
        bare = {"fc": "white", "ec": "none", "pad": 0.8}
        label(ax, *place, text, fontsize=size, color=color, bbox=bare)
    ax.text(6.35, 7.4, "profile", color=PROFILE, ha="center", fontsize=12)
    ax.text(6.35, -0.45, "information", color=INFORM, ha="center", fontsize=12)

    _box(ax, 9.8, 3.6, 1.25, 0.9, "return\n$y_i$", INK)
    forecast = r"forecast = own part + $\sum_{j \neq i}\ a_{ij}\ x_j W_V$"
    ax.text(0.2, -1.1, forecast, color=INK)
    ax.set(xlim=(0, 11.25), ylim=(-1.5, 8.0))
    ax.set_axis_off()
    return figure


if __name__ == "__main__":
    save_figures(search)
