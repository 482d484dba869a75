"""The picture of the chapter on firms that is not drawn by its own cells.

    python book/figures/peers.py   # peers-search.svg

A small firm searches among four others; the weights are the simulated economy's own.
Letters are outlines.
"""

from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

from course_lib import plot
from course_lib.data.firms import true_relevance

HERE = Path(__file__).parent
INK, GRAY = plot.COLORS["black"], plot.COLORS["gray"]
PURPLE = "#6A51A3"  # of the maps for weights
SEARCH, PROFILE, INFORM = (plot.COLORS[c] for c in ("vermillion", "blue", "green"))
NAMES = ("giant", "large", "middling", "small", "startup")
SECTORS = ("tech", "oil", "tech", "oil", "tech")
SIZES = np.array([3.0, 1.2, 0.2, -0.5, -0.8])


def weights() -> np.ndarray:
    """Where the startup looks, by the economy's law, all with the same research."""
    sector = np.array([SECTORS.index(name) for name in SECTORS])
    law = true_relevance(SIZES[None], np.zeros((1, 5)), sector[None])
    return law[0, -1]


def _box(ax: Axes, x: float, y: float, w: float, h: float, text: str, color: str):
    ax.add_patch(
        FancyBboxPatch(
            (x, y - h / 2),
            w,
            h,
            boxstyle="round,pad=0,rounding_size=0.12",
            fc="white",
            ec=color,
            lw=1.6,
        )
    )
    ax.text(x + w / 2, y, text, ha="center", va="center", color=color, fontsize=12)


def _arrow(ax: Axes, start: tuple, end: tuple, color: str = INK, lw: float = 1.3):
    ax.add_patch(
        FancyArrowPatch(
            start,
            end,
            arrowstyle="-|>",
            mutation_scale=11,
            color=color,
            lw=lw,
            shrinkA=0,
            shrinkB=0,
        )
    )


def search() -> Figure:
    """One firm's look at the others, and the line that no return may cross."""
    figure, ax = plt.subplots(figsize=(7, 5.4))
    alpha = weights()
    ax.text(0.2, 7.55, "end of quarter $t$: known", color=GRAY, fontsize=12)
    ax.text(9.65, 7.55, "quarter $t+1$", color=GRAY, fontsize=12)
    ax.plot([9.45, 9.45], [-0.4, 7.9], "--", color=GRAY, lw=1.5)

    _box(ax, 0.2, 3.6, 1.5, 0.9, "startup\ntech, $x_i$", INK)
    _arrow(ax, (1.7, 3.6), (2.35, 3.6))
    _box(ax, 2.35, 3.6, 1.15, 0.75, "$x_i W_Q$", SEARCH)
    ax.text(2.92, 2.95, "search", color=SEARCH, ha="center", fontsize=12)

    heights = np.linspace(6.7, 0.5, len(NAMES))
    for y, name, sector, a in zip(heights, NAMES, SECTORS, alpha, strict=True):
        itself = name == "startup"
        tint = GRAY if itself else INK
        _box(ax, 7.55, y, 1.55, 0.9, f"{name}\n{sector}, $x_j$", tint)
        _arrow(ax, (7.55, y + 0.2), (6.95, y + 0.2), tint)
        _arrow(ax, (7.55, y - 0.2), (6.95, y - 0.2), tint)
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
        ax.text(
            *place,
            "×" if itself else f"{a:.2f}",
            ha="center",
            va="center",
            fontsize=16 if itself else 11.5,
            color=SEARCH if itself else INK,
            bbox={"fc": "white", "ec": "none", "pad": 0.8},
        )
    ax.text(6.35, 7.25, "profile", color=PROFILE, ha="center", fontsize=12)
    ax.text(6.35, -0.25, "information", color=INFORM, ha="center", fontsize=12)

    _box(ax, 9.8, 3.6, 1.25, 0.9, "return\n$y_i$", INK)
    ax.text(
        0.2,
        -0.25,
        "forecast = own part + $\\sum_{j \\neq i}\\ \\alpha_{ij}\\ x_j W_V$",
        color=INK,
        fontsize=12,
    )
    ax.set(xlim=(0, 11.25), ylim=(-0.6, 8.0))
    ax.set_axis_off()
    return figure


if __name__ == "__main__":
    plot.use_style()
    mpl.rcParams["svg.hashsalt"] = "peers"
    search().savefig(HERE / "peers-search.svg", metadata={"Date": None})
