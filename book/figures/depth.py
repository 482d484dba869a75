"""The picture of the page on depth that no cell draws.

    python book/figures/depth.py   # depth-norms.svg

It shows which numbers of a batch one mean is taken over in four norms; `averaged` says
it as a rule, and a test holds the frameworks' own layers to the rule.
"""

import matplotlib.pyplot as plt
import numpy as np
from drawing import GRAY, INK, cells, label, save_figures
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


if __name__ == "__main__":
    save_figures(norms)
