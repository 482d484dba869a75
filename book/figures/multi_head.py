"""The picture of the chapter on many heads that is not drawn by its own cells.

    python book/figures/multi_head.py   # multi-head-shapes.svg

What happens to the shapes in a layer with two heads, computed by the course's own
equation. A color is a head. Letters are outlines.
"""

from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from course_lib import oracle, plot

HERE = Path(__file__).parent
INK, GRAY = plot.COLORS["black"], plot.COLORS["gray"]
T, D, H = 4, 6, 2
WIDTH = D // H
HEADS = (plot.COLORS["green"], plot.COLORS["orange"])


def _grid(
    ax: Axes,
    left: float,
    middle: float,
    values: np.ndarray,
    name: str,
    shape: str,
    *,
    colors: np.ndarray,
):
    """Draw a matrix; `colors` says for each cell which color it is a shade of."""
    rows, columns = values.shape
    top = middle + rows / 2
    share = np.abs(values) / np.abs(values).max()
    for i, j in np.ndindex(values.shape):
        shades = LinearSegmentedColormap.from_list("", ["white", str(colors[i, j])])
        ax.add_patch(
            Rectangle(
                (left + j, top - i - 1),
                1,
                1,
                fc=shades(0.15 + 0.75 * share[i, j]),
                ec="white",
                lw=1.0,
            )
        )
    middle_x = left + columns / 2
    ax.text(middle_x, top + 0.3, name, ha="center", va="bottom", color=INK)
    ax.text(
        middle_x,
        top - rows - 0.3,
        shape,
        ha="center",
        va="top",
        color=GRAY,
        fontsize=11,
    )


def _sign(ax: Axes, x: float, y: float, text: str):
    ax.text(x, y, text, ha="center", va="center", color=INK, fontsize=13)


def shapes() -> Figure:
    """The layer from X to its output: project, split, attend, join, project."""
    rng = np.random.default_rng(2017)
    x = rng.standard_normal((T, D))
    w = {name: rng.standard_normal((D, D)) / np.sqrt(D) for name in "QKVO"}
    q, k, v = (x @ w[name] for name in "QKV")
    by_column = np.array([HEADS[j // WIDTH] for j in range(D)])
    across = np.tile(by_column, (T, 1))
    down = np.tile(by_column[:, None], (1, D))  # row j of W_O reads feature j
    figure, ax = plt.subplots(figsize=(7, 7.2))

    y = 0.0
    _grid(ax, 0, y, x, "$X$", "$T \\times D$", colors=np.full((T, D), GRAY))
    _sign(ax, 7.6, y, "$W_Q$\n$W_K$\n$W_V$")
    _sign(ax, 8.9, y, "→")
    for place, (name, values) in enumerate(zip("QKV", (q, k, v), strict=True)):
        _grid(
            ax,
            10 + 7 * place,
            y,
            values,
            f"${name}$",
            "$T \\times D$",
            colors=across,
        )

    heads = []
    for h in range(H):
        y -= 7.5
        mine = slice(h * WIDTH, (h + 1) * WIDTH)
        color = HEADS[h]
        head, weights = oracle.attention(q[:, mine], k[:, mine], v[:, mine])
        heads.append(head)
        index = str(h + 1)
        for left, values, name, shape in (
            (0, q[:, mine], f"$Q_{index}$", "$T \\times d$"),
            (4.6, k[:, mine].T, f"$K_{index}^\\top$", "$d \\times T$"),
            (12.4, weights, f"$A_{index}$", "$T \\times T$"),
            (17.7, v[:, mine], f"$V_{index}$", "$T \\times d$"),
            (22.6, head, f"head {index}", "$T \\times d$"),
        ):
            _grid(
                ax,
                left,
                y,
                values,
                name,
                shape,
                colors=np.full(values.shape, color),
            )
        _sign(ax, 3.8, y, "×")
        _sign(ax, 10.5, y, "softmax\n→")
        _sign(ax, 16.98, y, "×")
        _sign(ax, 21.6, y, "=")

    y -= 8.3
    joined = np.concatenate(heads, axis=1)
    _grid(ax, 0, y, joined, "the heads, joined", "$T \\times D$", colors=across)
    _sign(ax, 7.2, y, "×")
    _grid(ax, 8.4, y, w["O"], "$W_O$", "$D \\times D$", colors=down)
    _sign(ax, 15.8, y, "=")
    _grid(
        ax,
        17.2,
        y,
        joined @ w["O"],
        "output",
        "$T \\times D$",
        colors=np.full((T, D), GRAY),
    )
    ax.set(xlim=(-0.4, 30.4), ylim=(y - 4.4, 3.3), aspect="equal")
    ax.set_axis_off()
    return figure


if __name__ == "__main__":
    plot.use_style()
    mpl.rcParams["svg.hashsalt"] = "multi-head"
    shapes().savefig(HERE / "multi-head-shapes.svg", metadata={"Date": None})
