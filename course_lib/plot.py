"""Figures in one style: attention maps, heads, masks, curves with their floor.

Every function draws into given axes, or makes its own, and returns them; none shows or
saves. Attention maps have queries down and keys across. Weights have one sequential
color map, light = 0; signed numbers one diverging map around 0; lines the palette of
Okabe and Ito (Color Universal Design, jfly.uni-koeln.de/color). Arrays of either wing
are taken as they are.
"""

from collections.abc import Sequence
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from cycler import cycler
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap

from course_lib.arrays import to_numpy

COLORS = {
    "orange": "#E69F00",
    "sky": "#56B4E9",
    "green": "#009E73",
    "yellow": "#F0E442",
    "blue": "#0072B2",
    "vermillion": "#D55E00",
    "purple": "#CC79A7",
    "black": "#222222",
    "gray": "#777777",
}
TORCH = COLORS["vermillion"]
NNX = COLORS["blue"]
FLOOR = COLORS["gray"]

WEIGHTS = "Purples"  # sequential, from 0 (light) to the largest weight
SIGNED = "PuOr"  # diverging, 0 in the middle
_MASK = ListedColormap(["#F4F4F4", "#6A51A3"])


def use_style() -> None:
    """Set matplotlib's defaults for the course: once, at the top of a page.

    Sizes suit a column of 700 pixels and a phone; the ground is white, which reads on a
    light page and on a dark one.
    """
    cycle = ("blue", "vermillion", "green", "orange", "purple", "sky")
    mpl.rcParams.update(
        {
            "figure.figsize": (6.4, 3.6),
            "figure.dpi": 144,
            "figure.facecolor": "white",
            "figure.constrained_layout.use": True,
            "font.size": 12,
            "axes.titlesize": 12,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.prop_cycle": cycler(color=[COLORS[name] for name in cycle]),
            "legend.frameon": False,
            "lines.linewidth": 2,
            "image.interpolation": "nearest",
            "savefig.facecolor": "white",
        }
    )


def attention_map(
    weights: Any,
    queries: Sequence | None = None,
    keys: Sequence | None = None,
    *,
    ax: Axes | None = None,
    title: str | None = None,
    vmax: float | None = None,
    numbers: bool | None = None,
    signed: bool = False,
) -> Axes:
    """Attention map (heatmap), `T S`: a row for each query, a column for each key.

    Args:
        weights: Of either wing.
        queries: A label for each row.
        keys: A label for each column.
        ax: Where to draw; None makes a new figure.
        title: Written above.
        vmax: The value of the darkest color; None takes the largest entry.
        numbers: Write each weight into its cell; None does so up to 36 cells.
        signed: Draw scores or differences, which may be negative, around 0.
    """
    w = _array(weights, "weights", 2)
    ax = _axes(ax, (4.4, 4.0))
    top = (float(np.nanmax(np.abs(w))) if vmax is None else vmax) or 1.0
    ax.imshow(
        w, cmap=SIGNED if signed else WEIGHTS, vmin=-top if signed else 0, vmax=top
    )
    _label(ax, w.shape, queries, keys, title)
    if numbers if numbers is not None else w.size <= 36:
        for (i, j), value in np.ndenumerate(w):
            color = "white" if abs(value) > 0.6 * top else COLORS["black"]
            place = {"ha": "center", "va": "center", "fontsize": 10}
            ax.text(j, i, f"{value:.2f}", color=color, **place)
    return ax


def mask(
    allowed: Any,
    queries: Sequence | None = None,
    keys: Sequence | None = None,
    *,
    ax: Axes | None = None,
) -> Axes:
    """A mask, `T S`: a cell is filled where the query may attend to the key."""
    m = _array(allowed, "mask", 2)
    ax = _axes(ax, (3.6, 3.6))
    ax.imshow(m.astype(int), cmap=_MASK, vmin=0, vmax=1)
    _label(ax, m.shape, queries, keys, None)
    ax.set_xticks(np.arange(-0.5, m.shape[1]), minor=True)
    ax.set_yticks(np.arange(-0.5, m.shape[0]), minor=True)
    ax.grid(which="minor", color="white", linewidth=1.5)
    ax.tick_params(which="minor", length=0)
    return ax


def floor(ax: Axes, value: float, label: str, *, where: float = 1.0) -> None:
    """Draw the best attainable value as a dashed line that carries its number.

    The words, such as "entropy rate", stand from 0 (left) to 1 (right) of the width.
    """
    ax.axhline(value, color=FLOOR, linestyle="--", linewidth=1.5, zorder=0)
    ax.annotate(
        f"{label} {value:.3g}",
        (where, value),
        xycoords=("axes fraction", "data"),
        xytext=(0, 4),
        textcoords="offset points",
        ha="right" if where > 0.5 else "left",
        color=FLOOR,
    )


def curve(ax: Axes, x: Any, y: Any, label: str, *, color: str | None = None) -> None:
    """Draw a line with a direct label at its end, in the place of a legend.

    Without a color it takes the next of the style's; `TORCH` and `NNX` are the wings'.
    """
    x, y = to_numpy(x), to_numpy(y)
    (line,) = ax.plot(x, y, color=color)
    ax.annotate(
        label,
        (x[-1], y[-1]),
        xytext=(5, 0),
        textcoords="offset points",
        va="center",
        color=line.get_color(),
        annotation_clip=False,
    )


def _array(x: Any, name: str, n_axes: int) -> np.ndarray:
    array = to_numpy(x)
    if array.ndim != n_axes:
        raise ValueError(
            f"{name} must have {n_axes} axes: got shape {array.shape}. "
            "Choose one sequence of a batch with [0], one head with [0, head]."
        )
    return array


def _axes(ax: Axes | None, size: tuple[float, float]) -> Axes:
    return plt.subplots(figsize=size)[1] if ax is None else ax


def _check_labels(name: str, things: str, labels: Sequence | None, n: int) -> None:
    if labels is not None and len(labels) != n:
        raise ValueError(
            f"{name} must name each of the {n} {things}: got {len(labels)} labels."
        )


def _label(
    ax: Axes,
    shape: tuple[int, ...],
    queries: Sequence | None,
    keys: Sequence | None,
    title: str | None,
) -> None:
    """Queries down, keys across, above the map; long labels are turned."""
    _check_labels("queries", "queries", queries, shape[0])
    _check_labels("keys", "keys", keys, shape[1])
    ax.xaxis.tick_top()
    ax.xaxis.set_label_position("top")
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    if keys is None:
        ax.set(xticks=[], xlabel="keys")
    else:
        room = ax.get_window_extent().width / ax.figure.dpi / len(keys)  # inches
        long = max(len(str(key)) for key in keys) * 0.11 > room
        angle, side = (60, "left") if long else (0, "center")
        ax.set_xticks(
            range(len(keys)), keys, rotation=angle, ha=side, rotation_mode="anchor"
        )
    if queries is None:
        ax.set(yticks=[], ylabel="queries")
    else:
        ax.set_yticks(range(len(queries)), queries)
    if title:
        ax.set_title(title)
