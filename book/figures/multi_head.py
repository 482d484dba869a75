"""The drawings of the pages on multi-head attention that no cell makes.

    python book/figures/multi_head.py

writes multi-head-looks.svg (what reaches a verb through one head and through two),
multi-head-shapes.svg (the shapes in a layer with two heads) and multi-head-sharing.svg
(who shares keys and values in MHA, GQA and MQA). Weights are computed by the course's
own equation. Letters are outlines.
"""

import matplotlib.pyplot as plt
import numpy as np
from drawing import GRAY, box, label, matrix, save_figures, shade, sign
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from course_lib import oracle, plot

GREEN, ORANGE = plot.COLORS["green"], plot.COLORS["orange"]
BLUE, RED = plot.COLORS["blue"], plot.COLORS["vermillion"]

WORDS = ("the", "firm", "sees", "the", "bank")
FIRM, SEES, BANK = 1, 2, 4


def _look(ax: Axes, word: int, x: float, color: str) -> None:
    """A line from a word of the sentence to what reaches the verb, at x."""
    ax.plot((word, x), (1.84, 0.66), color=color, lw=4, solid_capstyle="round")


def looks() -> Figure:
    """What reaches the verb through one head, an average, and through two."""
    figure, axes = plt.subplots(2, 1, figsize=(5.2, 5.4))
    for ax, name in zip(axes, ("one head", "two heads"), strict=True):
        for i, word in enumerate(WORDS):
            weight = "bold" if i == SEES else "normal"
            label(ax, i, 2.1, word, fontsize=15, fontweight=weight)
        if ax is axes[0]:
            _look(ax, FIRM, SEES, GRAY)
            _look(ax, BANK, SEES, GRAY)
            text = "½ firm + ½ bank"
            box(ax, SEES, 0.3, 2.3, 0.68, text, fc="#F4F4F4", ec=GRAY, fontsize=14)
        else:
            for word, x, color in ((FIRM, 1.35, GREEN), (BANK, 2.65, ORANGE)):
                _look(ax, word, x, color)
                fill = shade(color, 0.25)
                box(ax, x, 0.3, 1.2, 0.68, WORDS[word], fc=fill, ec=color, fontsize=14)
            for word, x, color in (("who?", 0.62, GREEN), ("whom?", 3.95, ORANGE)):
                label(ax, x, 1.2, word, fontsize=14, color=color)
        ax.set_title(name, fontsize=15, fontweight="bold")
        ax.set(xlim=(-0.5, 4.5), ylim=(-0.15, 2.4))
        ax.set_axis_off()
    return figure


T, D, H = 4, 6, 2
WIDTH = D // H
HEADS = (GREEN, ORANGE)


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
    share = 0.15 + 0.75 * np.abs(values) / np.abs(values).max()
    shades = [
        [shade(colors[i, j], share[i, j]) for j in range(values.shape[1])]
        for i in range(values.shape[0])
    ]
    top = middle + len(values) / 2
    matrix(ax, left, top, shades, name, shape, fontsize=14)


def shapes() -> Figure:
    """The layer from X to its output: project, split, attend, join, project."""
    rng = np.random.default_rng(2017)
    x = rng.standard_normal((T, D))
    w = {name: rng.standard_normal((D, D)) / np.sqrt(D) for name in "QKVO"}
    q, k, v = (x @ w[name] for name in "QKV")
    by_column = np.array([HEADS[j // WIDTH] for j in range(D)])
    across = np.tile(by_column, (T, 1))
    down = np.tile(by_column[:, None], (1, D))  # row j of W_O reads feature j
    plain = np.full((T, D), GRAY)
    figure, ax = plt.subplots(figsize=(6, 7))

    y = 0.0
    _grid(ax, 0, y, x, "$X$", "$T \\times D$", colors=plain)
    sign(ax, 7.8, y, "$W_Q$\n$W_K$\n$W_V$")
    sign(ax, 9.5, y, "→")
    for left, name, values in ((10.5, "$Q$", q), (17.5, "$K$", k), (24.5, "$V$", v)):
        _grid(ax, left, y, values, name, "$T \\times D$", colors=across)

    heads = []
    for h, color in enumerate(HEADS):
        y -= 8.2
        mine = slice(h * WIDTH, (h + 1) * WIDTH)
        head, weights = oracle.attention(q[:, mine], k[:, mine], v[:, mine])
        heads.append(head)
        index = str(h + 1)
        for left, values, name, shape in (
            (0, q[:, mine], f"$Q_{index}$", "$T \\times d$"),
            (4.8, k[:, mine].T, f"$K_{index}^\\top$", "$d \\times T$"),
            (14.3, weights, f"$A_{index}$", "$T \\times T$"),
            (20.3, v[:, mine], f"$V_{index}$", "$T \\times d$"),
            (26.2, head, f"head {index}", "$T \\times d$"),
        ):
            shade = np.full(values.shape, color)
            _grid(ax, left, y, values, name, shape, colors=shade)
        sign(ax, 3.9, y, "×")
        sign(ax, 11.55, y, "softmax\n→")
        sign(ax, 19.3, y, "×")
        sign(ax, 24.75, y, "=")

    y -= 9.0
    joined = np.concatenate(heads, axis=1)
    _grid(ax, 0, y, joined, "joined heads", "$T \\times D$", colors=across)
    sign(ax, 8.1, y, "×")
    _grid(ax, 10.2, y, w["O"], "$W_O$", "$D \\times D$", colors=down)
    sign(ax, 18.3, y, "=")
    _grid(ax, 20.3, y, joined @ w["O"], "output", "$T \\times D$", colors=plain)
    ax.set(xlim=(-0.6, 31), ylim=(y - 4.6, 4.0), aspect="equal")
    ax.set_axis_off()
    return figure


def sharing(n_heads: int = 6) -> Figure:
    """Query heads and the key and value heads they share, in MHA, GQA and MQA."""
    kinds = {"multi-head": 6, "grouped-query": 2, "multi-query": 1}
    palette = (GREEN, ORANGE, BLUE, RED, plot.COLORS["purple"], plot.COLORS["sky"])
    figure, axes = plt.subplots(1, 3, figsize=(6.2, 2.9))
    for ax, (kind, n_kv) in zip(axes, kinds.items(), strict=True):
        group = n_heads // n_kv
        for g in range(n_kv):
            color = palette[g] if n_kv > 1 else GRAY
            middle = g * group + (group - 1) / 2
            ax.plot((middle, middle), (2, 3), color=color, lw=1.6)
            for y in (2, 3):
                box(ax, middle, y, 0.6, 0.6, fc=shade(color, 0.35), ec=color, zorder=3)
            for h in range(g * group, (g + 1) * group):
                ax.plot((h, middle), (0.3, 1.7), color=color, lw=1.6)
                box(ax, h, 0, 0.6, 0.6, fc=shade(color, 0.35), ec=color, zorder=3)
        if ax is axes[0]:
            for y, name in ((3, "V"), (2, "K"), (0, "Q")):
                ax.text(-0.75, y, name, ha="right", va="center", fontsize=14)
        ax.set_title(kind, fontsize=14)
        ax.text(
            (n_heads - 1) / 2,
            -0.65,
            f"$G = {n_kv}$",
            ha="center",
            va="top",
            fontsize=13,
            color=GRAY,
        )
        left = -1.5 if ax is axes[0] else -0.6
        ax.set(xlim=(left, n_heads - 0.4), ylim=(-1.4, 3.5))
        ax.set_axis_off()
    return figure


if __name__ == "__main__":
    save_figures(looks, shapes, sharing)
