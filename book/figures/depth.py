"""The pictures of the page on depth that no cell draws.

    python book/figures/depth.py   # depth-flow.svg, depth-norms.svg

The first shows one word's stream through a block, post-norm and pre-norm side by side.
The second shows which numbers of a batch one mean is taken over in four norms;
`averaged` says it as a rule, and a test holds the frameworks' own layers to the rule.
"""

import matplotlib.pyplot as plt
import numpy as np
from block import PARTS, part_box, sum_sign
from drawing import GRAY, INK, arrow, cells, label, save_figures
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from course_lib import plot

COLORED = plot.COLORS["purple"]
B, T, D, GROUPS = 3, 4, 6, 2
NORMS = ("BatchNorm", "LayerNorm", "GroupNorm", "RMSNorm")


def averaged(norm: str, b: int, t: int, d: int) -> np.ndarray:
    """Which numbers of a batch the norm of entry (b, t, d) is computed from.

    Args:
        norm: One of NORMS.
        b: Sequence.
        t: Position.
        d: Feature.

    Returns:
        True where an entry takes part, `B T D`.
    """
    sequence, position, feature = np.ogrid[:B, :T, :D]
    own = (sequence == b) & (position == t)
    if norm == "BatchNorm":
        return np.broadcast_to(feature == d, (B, T, D))
    if norm == "GroupNorm":
        width = D // GROUPS
        return own & (feature // width == d // width)
    return own & (feature >= 0)


def _batch(ax: Axes, chosen: np.ndarray, left: float, top: float):
    """Three sequences as sheets of positions by features, the chosen cells filled."""
    for b in range(B):
        colors = np.where(chosen[b], COLORED, "#F1F1F1")
        cells(ax, left + b * (D + 0.9), top, colors, lw=1.2)


def norms() -> Figure:
    """What one mean is taken over, for the entry with a frame."""
    figure, ax = plt.subplots(figsize=(7, 8.6))
    entry = (1, 1, 1)
    notes = {
        "BatchNorm": "one feature, over all sequences and positions",
        "LayerNorm": "one position, over all of its features",
        "GroupNorm": "one position, over a group of its features",
        "RMSNorm": "as LayerNorm, and nothing is centered",
    }
    for row, name in enumerate(NORMS):
        top = -row * (T + 2.5)
        ax.text(0, top + 0.45, name, fontsize=14, color=INK, weight="bold")
        ax.text(6.3, top + 0.47, notes[name], fontsize=12, color=GRAY)
        _batch(ax, averaged(name, *entry), 0, top)
        b, t, d = entry
        ax.add_patch(
            Rectangle((b * (D + 0.9) + d, top - t - 1), 1, 1, fc="none", ec=INK, lw=2.2)
        )
    bottom = -3 * (T + 2.5) - T
    for b in range(B):
        middle = b * (D + 0.9) + D / 2
        name = f"sequence {b + 1}"
        label(ax, middle, bottom - 0.75, name, color=GRAY, fontsize=12)
    label(ax, -0.4, -T / 2, "positions", rotation=90, color=GRAY)
    ax.set(xlim=(-1.0, B * (D + 0.9) - 0.7), ylim=(bottom - 1.3, 1.6), aspect="equal")
    ax.set_axis_off()
    return figure


def _column(ax: Axes, x: float, form: str):
    """One block, drawn upward: the stream at x, the parts to its right."""
    side, stream, lw = x + 2.9, plot.COLORS["green"], 4.0
    ax.text(x + 1.3, 11.35, form, ha="center", fontsize=15, color=INK)
    y = 0.0
    label(ax, x, y - 0.45, "$x$", fontsize=14)
    for part in ("attention", "feed-forward"):
        height = 4.9
        plus = y + (4.1 if form == "pre-norm" else 3.0)
        ax.plot([x, x], [y, plus - 0.33], color=stream, lw=lw, zorder=0)
        if form == "pre-norm":
            arrow(ax, (x, y + 0.5), (side, y + 0.5), (side, y + 1.02))
            part_box(ax, side, y + 1.45, "norm", PARTS["norm"])
            arrow(ax, (side, y + 1.9), (side, y + 2.37))
            part_box(ax, side, y + 2.8, part, PARTS[part])
            arrow(ax, (side, y + 3.25), (side, plus), (x + 0.36, plus))
            ax.plot([x, x], [plus + 0.33, y + height], color=stream, lw=lw, zorder=0)
        else:
            arrow(ax, (x, y + 0.5), (side, y + 0.5), (side, y + 1.12))
            part_box(ax, side, y + 1.55, part, PARTS[part])
            arrow(ax, (side, y + 2.0), (side, plus), (x + 0.36, plus))
            ax.plot([x, x], [plus + 0.33, y + 3.6], color=stream, lw=lw, zorder=0)
            part_box(ax, x, y + 4.05, "norm", PARTS["norm"], width=2.2)
            ax.plot([x, x], [y + 4.5, y + height], color=stream, lw=lw, zorder=0)
        sum_sign(ax, x, plus)
        y += height
    arrow(ax, (x, y - 0.1), (x, y + 0.75), color=stream, lw=lw)


def flow() -> Figure:
    """One block in both forms."""
    figure, ax = plt.subplots(figsize=(7, 7.0))
    _column(ax, 1.6, "post-norm")
    _column(ax, 9.0, "pre-norm")
    ax.set(xlim=(-0.2, 13.6), ylim=(-0.9, 11.9), aspect="equal")
    ax.set_axis_off()
    return figure


if __name__ == "__main__":
    save_figures(flow, norms)
