"""The drawing of the page on positions in depth that no cell makes.

    python book/figures/positions_in_depth.py   # positions-in-depth-doors.svg

One head from X to Z, computed by the course's own equation, with the three places where
a position can come in. A color is such a place.
"""

import matplotlib.pyplot as plt
import numpy as np
from drawing import GRAY, INK, label, matrix, save_figures, shade, sign
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from course_lib import oracle, plot

ADDED, TURNED, BIASED = (plot.COLORS[c] for c in ("vermillion", "green", "blue"))
T, D, WIDTH = 4, 6, 4


def _grid(
    ax: Axes,
    left: float,
    middle: float,
    values: np.ndarray,
    name: str,
    color: str = GRAY,
    *,
    frame: bool = False,
):
    """Draw a matrix with its name above, shaded by the size of its entries."""
    rows, columns = values.shape
    top = middle + rows / 2
    share = np.abs(values) / np.abs(values).max()
    shades = [[shade(color, 0.12 + 0.78 * number) for number in row] for row in share]
    matrix(ax, left, top, shades, name, color=color if frame else INK)
    if frame:
        ax.add_patch(
            Rectangle((left, top - rows), columns, rows, fc="none", ec=color, lw=2)
        )


def _note(ax: Axes, x: float, y: float, text: str, color: str):
    label(ax, x, y, text, va="top", color=color, fontsize=11)


def doors() -> Figure:
    """One head, and the three doors through which a position can come in."""
    rng = np.random.default_rng(2017)
    tokens = rng.standard_normal((T, D))
    table = oracle.sinusoidal(T, D)
    w = {name: rng.standard_normal((D, WIDTH)) / np.sqrt(D) for name in "QKV"}
    q, k, v = ((tokens + table) @ w[name] for name in "QKV")
    turned_q, turned_k = oracle.rotary(q), oracle.rotary(k)
    products = turned_q @ turned_k.T / np.sqrt(WIDTH)
    step = np.arange(T)[:, None] - np.arange(T)
    bias = -0.5 * abs(step).astype(float)
    weights = np.apply_along_axis(oracle.softmax, -1, products + bias)
    figure, ax = plt.subplots(figsize=(7, 6.6))

    y = 0.0
    _grid(ax, 0, y, tokens, "words")
    sign(ax, 6.8, y, "+")
    _grid(ax, 7.6, y, table, "positions", ADDED, frame=True)
    _note(ax, 10.6, y - 2.4, "1  added:\nsinusoidal, learned", ADDED)
    sign(ax, 14.5, y, "=")
    _grid(ax, 15.4, y, tokens + table, "$X$")
    sign(ax, 22.8, y, "→")
    label(ax, 24.3, y, "$Q,\\ K,\\ V$", ha="left")

    y -= 8.6
    _grid(ax, 0, y, q, "$Q = XW_Q$")
    sign(ax, 5.1, y, "→")
    _grid(ax, 6.2, y, turned_q, "$Q$, turned", TURNED, frame=True)
    _grid(ax, 14.0, y, k, "$K = XW_K$")
    sign(ax, 19.1, y, "→")
    _grid(ax, 20.2, y, turned_k, "$K$, turned", TURNED, frame=True)
    _note(ax, 13.0, y - 2.4, "2  turned: RoPE", TURNED)
    label(ax, 25.3, y, "($V$ stays)", ha="left", color=GRAY, fontsize=11)

    y -= 8.2
    _grid(ax, 0, y, products, "$QK^\\top/\\sqrt{d}$")
    sign(ax, 4.8, y, "+")
    _grid(ax, 5.6, y, bias, "bias", BIASED, frame=True)
    _note(ax, 7.6, y - 2.4, "3  added to the scores:\nrelative bias, ALiBi", BIASED)
    sign(ax, 11.6, y, "softmax\n→")
    _grid(ax, 13.6, y, weights, "$A$")
    sign(ax, 18.4, y, "×")
    _grid(ax, 19.2, y, v, "$V$")
    sign(ax, 24.0, y, "=")
    _grid(ax, 24.8, y, weights @ v, "$Z$")
    ax.set(xlim=(-0.3, 29.3), ylim=(y - 5.0, 3.4), aspect="equal")
    ax.set_axis_off()
    return figure


if __name__ == "__main__":
    save_figures(doors)
