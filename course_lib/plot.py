"""Pictures in one style: attention maps, heads, masks, curves with their floor.

Every function draws into given axes, or makes its own, and returns them; none shows or
saves. Weights are drawn the same way everywhere: queries down, keys across, light = 0.
Arrays of either wing go in as they are.

Colors: Okabe and Ito, Color Universal Design, jfly.uni-koeln.de/color.
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

WEIGHTS = "Purples"  # from 0 (light) to the largest weight
SIGNED = "PuOr"  # 0 in the middle
_MASK = ListedColormap(["#F4F4F4", "#6A51A3"])


def use_style() -> None:
    """Set matplotlib's defaults for the course: once, at the top of a chapter.

    Figures are made for a column of 700 pixels and stay legible on a phone; their
    ground is white, which reads on a light page and on a dark one.
    """
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
            "axes.prop_cycle": cycler(
                color=[
                    COLORS[c]
                    for c in ("blue", "vermillion", "green", "orange", "purple", "sky")
                ]
            ),
            "legend.frameon": False,
            "lines.linewidth": 2,
            "image.interpolation": "nearest",
            "savefig.facecolor": "white",
        }
    )


def _matrix(x: Any, name: str, axes: int = 2) -> np.ndarray:
    array = to_numpy(x)
    if array.ndim != axes:
        raise ValueError(
            f"{name} must have {axes} axes: got shape {array.shape}. "
            "Choose one sequence of a batch with [0], one head with [0, head]."
        )
    return array


def _label(
    ax: Axes, shape: tuple[int, ...], queries: Sequence | None, keys: Sequence | None
):
    for labels, size, name in (
        (queries, shape[0], "queries"),
        (keys, shape[1], "keys"),
    ):
        if labels is not None and len(labels) != size:
            raise ValueError(
                f"{name} must name each of the {size} {name}: got {len(labels)} labels."
            )
    ax.xaxis.tick_top()
    ax.xaxis.set_label_position("top")
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    if keys is None:
        ax.set(xticks=[], xlabel="keys")
    else:
        room = ax.get_window_extent().width / ax.figure.dpi / len(keys)  # inches
        long = max(len(str(key)) for key in keys) * 0.11 > room
        ax.set_xticks(
            range(len(keys)),
            keys,
            rotation=60 if long else 0,
            ha="left" if long else "center",
            rotation_mode="anchor",
        )
    if queries is None:
        ax.set(yticks=[], ylabel="queries")
    else:
        ax.set_yticks(range(len(queries)), queries)


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
    """Draw who attends to whom: a row for each query, a column for each key.

    Args:
        weights: `T S`, of either wing.
        queries: A label for each row.
        keys: A label for each column.
        ax: Where to draw; None makes a new figure.
        title: Written above.
        vmax: The value of the darkest color; None takes the largest entry.
        numbers: Write each weight into its cell; None does so up to 36 cells.
        signed: Draw scores or differences, which may be negative, around 0.

    Returns:
        The axes.

    Raises:
        ValueError: Not two axes, or labels that do not match them.
    """
    w = _matrix(weights, "weights")
    if ax is None:
        _, ax = plt.subplots(figsize=(4.4, 4.0))
    top = float(np.nanmax(np.abs(w))) if vmax is None else vmax
    top = top or 1.0
    ax.imshow(
        w, cmap=SIGNED if signed else WEIGHTS, vmin=-top if signed else 0, vmax=top
    )
    _label(ax, w.shape, queries, keys)
    if title:
        ax.set_title(title)
    if numbers if numbers is not None else w.size <= 36:
        for (i, j), value in np.ndenumerate(w):
            dark = abs(value) > 0.6 * top
            ax.text(
                j,
                i,
                f"{value:.2f}",
                ha="center",
                va="center",
                color="white" if dark else COLORS["black"],
                fontsize=10,
            )
    return ax


def heads(
    weights: Any,
    queries: Sequence | None = None,
    keys: Sequence | None = None,
    *,
    titles: Sequence[str] | None = None,
    columns: int = 4,
) -> np.ndarray:
    """Draw the maps of all heads side by side, in one scale.

    Args:
        weights: `H T S`, of either wing.
        queries: A label for each row, the same in every head.
        keys: A label for each column.
        titles: One for each head; None writes "head 1", "head 2", ...
        columns: Heads in one row of the figure.

    Returns:
        The axes, one for each head.

    Raises:
        ValueError: Not three axes, or labels that do not match them.
    """
    w = _matrix(weights, "weights", axes=3)
    columns = min(columns, len(w))
    rows = -(-len(w) // columns)
    _, grid = plt.subplots(
        rows, columns, figsize=(6.8, 6.8 / columns * rows + 0.5), squeeze=False
    )
    for extra in grid.flat[len(w) :]:
        extra.set_axis_off()
    for h, (ax, one) in enumerate(zip(grid.flat, w, strict=False)):
        first = h % columns == 0
        attention_map(
            one,
            queries if first else None,
            keys,
            ax=ax,
            title=titles[h] if titles else f"head {h + 1}",
            vmax=float(w.max()),
            numbers=False,
        )
        if not first:
            ax.set_ylabel("")
    return grid.flat[: len(w)]


def mask(
    allowed: Any,
    queries: Sequence | None = None,
    keys: Sequence | None = None,
    *,
    ax: Axes | None = None,
    title: str | None = None,
) -> Axes:
    """Draw a mask: filled where a query may attend.

    Args:
        allowed: `T S`, boolean.
        queries: A label for each row.
        keys: A label for each column.
        ax: Where to draw; None makes a new figure.
        title: Written above.

    Returns:
        The axes.

    Raises:
        ValueError: Not two axes, or labels that do not match them.
    """
    m = _matrix(allowed, "mask")
    if ax is None:
        _, ax = plt.subplots(figsize=(3.6, 3.6))
    ax.imshow(m.astype(int), cmap=_MASK, vmin=0, vmax=1)
    _label(ax, m.shape, queries, keys)
    ax.set_xticks(np.arange(-0.5, m.shape[1]), minor=True)
    ax.set_yticks(np.arange(-0.5, m.shape[0]), minor=True)
    ax.grid(which="minor", color="white", linewidth=1.5)
    ax.tick_params(which="minor", length=0)
    if title:
        ax.set_title(title)
    return ax


def floor(ax: Axes, value: float, label: str, *, where: float = 1.0) -> None:
    """Draw the best attainable value as a dashed line with its number written on it.

    Args:
        ax: Axes with the curve already in them.
        value: The known answer, in the units of the vertical axis.
        label: What it is, for example "entropy rate".
        where: Horizontal place of the words, 0 (left) to 1 (right).
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
    """Draw a line and write its name at its end, where a legend would make eyes travel.

    Args:
        ax: Where to draw.
        x: Horizontal values.
        y: Vertical values, of either wing.
        label: The line's name.
        color: None takes the next of the style's colors; `TORCH` and `NNX` are the
            wings'.
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
