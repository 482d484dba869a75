"""The pictures of the page on encoder and decoder that its cells don't draw.

    python book/figures/seq2seq.py   # seq2seq-flow.svg, seq2seq-architecture.svg

A translation on its way through both halves; the first transformer, part by part.
"""

import matplotlib.pyplot as plt
from drawing import GRAY, INK, arrow, box, cells, label, save_figures, shade
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from course_lib import plot

ATTENTION, NORM, FORWARD, TABLE = "#D9CEE9", "#F3F0C8", "#CFE3F3", "#F4D9D0"
CROSS = plot.COLORS["vermillion"]
WIDTH, HEIGHT, GAP = 5.6, 0.92, 0.5

SOURCE = ["six", "hundred", "and", "ninety", "seven"]
GIVEN = ["<start>", "six", "cent", "quatre-vingt", "dix"]
ASKED = ["six", "cent", "quatre-vingt", "dix", "sept"]
SHARES = (0.3, 0.7, 0.4, 0.15)  # a sketch of a vector's entries

# From below; what stands between the marks is repeated L times.
ENCODER = (
    ("source tokens", None),
    ("tokens + positions", TABLE),
    ("[", None),
    ("self-attention", ATTENTION),
    ("add and norm", NORM),
    ("feed-forward", FORWARD),
    ("add and norm", NORM),
    ("]", None),
)
DECODER = (
    ("target, shifted right", None),
    ("tokens + positions", TABLE),
    ("[", None),
    ("causal self-attention", ATTENTION),
    ("add and norm", NORM),
    ("cross-attention", ATTENTION),
    ("add and norm", NORM),
    ("feed-forward", FORWARD),
    ("add and norm", NORM),
    ("]", None),
    ("linear, softmax", TABLE),
    ("next token", None),
)


def repeated(stack) -> list[str]:
    """What stands inside the frame of a stack."""
    names = [name for name, _ in stack]
    return names[names.index("[") + 1 : names.index("]")]


def _box(ax: Axes, x: float, y: float, name: str, color: str | None):
    y += HEIGHT / 2
    if color is None:
        label(ax, x, y, name, size=11.5)
        return
    ec, lw = (CROSS, 2) if name == "cross-attention" else (INK, 0.8)
    style = {"fc": color, "ec": ec, "lw": lw, "zorder": 2, "size": 11.5}
    box(ax, x, y, WIDTH, HEIGHT, name, **style)


def _stack(ax: Axes, x: float, stack, side: int) -> dict[str, float]:
    """Boxes from below, joined by arrows; returns where they stand."""
    y, below, at, bottom, entry = 0.0, None, {}, 0.0, 0.0
    for name, color in stack:
        if name == "[":
            bottom = y - GAP * 0.1
            y += GAP * 0.55
            continue
        if name == "]":
            y += GAP * 0.1
            frame = Rectangle(
                (x - WIDTH / 2 - 0.75, bottom),
                WIDTH + 1.5,
                y - GAP * 0.45 - bottom + 0.2,
                fc="#FAFAFA",
                ec=GRAY,
                lw=1,
                zorder=0,
            )
            ax.add_patch(frame)
            edge = x + side * (WIDTH / 2 + 0.95)
            ha = "left" if side > 0 else "right"
            label(ax, edge, (bottom + y) / 2, r"$L\,\times$", ha=ha)
            y += GAP * 0.35
            continue
        if below is not None:
            arrow(ax, (x, below), (x, y), lw=1.2)
        if "attention" in name or name == "feed-forward":
            entry = y - GAP * 0.5
        if name == "add and norm":  # the skip: from below the part to the sum
            far = x + side * (WIDTH / 2 + 0.4)
            middle = y + HEIGHT / 2
            edge = (x + side * WIDTH / 2, middle)
            skip = (x, entry), (far, entry), (far, middle), edge
            arrow(ax, *skip, color=GRAY, lw=1.2)
        _box(ax, x, y, name, color)
        at.setdefault(name, y)
        below = y + HEIGHT
        y += HEIGHT + GAP
    at["top"] = below or 0.0
    return at


def _vector(ax: Axes, x: float, top: float, turn: int, color: str) -> None:
    shares = SHARES[turn % 4 :] + SHARES[: turn % 4]
    column = [[shade(color, share)] for share in shares]
    cells(ax, x - 0.19, top, column, width=0.38, height=0.28)


def flow() -> Figure:
    """Source words become a memory; each target word is written by looking there."""
    figure, ax = plt.subplots(figsize=(7.4, 4.8))
    sky, blue, green = (plot.COLORS[c] for c in ("sky", "blue", "green"))
    left = [1.75 * i for i in range(len(SOURCE))]
    right = [left[-1] + 2.7 + x for x in (0, 1.95, 3.95, 6.2, 8.35)]
    style = {"ec": sky, "fc": shade(sky, 0.25), "rounding": 0.2, "zorder": 0}
    width = left[-1] - left[0] + 1.4
    box(ax, (left[0] + left[-1]) / 2, 3.0, width, 1.9, **style)
    for i, x in enumerate(left):
        label(ax, x, 0, SOURCE[i], fontsize=11)
        for j, other in enumerate(left):
            if i != j:
                ends = (x, 2.3), (other, 3.6)
                ax.plot(*zip(*ends, strict=True), color=shade(sky, 0.6), lw=0.7)
        arrow(ax, (x, 0.4), (x, 4.3), color=green, lw=2.5, zorder=0.7)
        _vector(ax, x, 5.5, i, CROSS)
    width = right[-1] - right[0] + 1.6
    box(ax, (right[0] + right[-1]) / 2, 3.85, width, 3.6, **style)
    for i, x in enumerate(right):
        color = INK if i else GRAY
        label(ax, x, 0, GIVEN[i].replace("-", "-\n"), fontsize=11, color=color)
        for other in right[i + 1 :]:
            arrow(ax, (x + 0.1, 2.3), (other - 0.12, 3.5), color=shade(sky, 0.7), lw=1)
        arrow(ax, (x, 0.4), (x, 6.5), color=green, lw=2.5, zorder=0.7)
        label(ax, x, 6.95, ASKED[i].replace("-", "-\n"), fontsize=11, color=blue)
    # Cross-attention: how the memory is read for the word "dix".
    asks, weights = right[3], (0.5, 0.5, 0.5, 2.6, 3.4)
    roof = 5.75
    for x, lw in zip(left, weights, strict=True):
        ax.plot(
            [x, x, asks - 0.6], [roof - 0.2, roof, 4.95], color=CROSS, lw=lw, zorder=2
        )
    arrow(ax, (asks - 0.6, 4.95), (asks - 0.12, 4.95), color=CROSS, lw=3, zorder=2)
    label(ax, left[2], 6.2, "memory", color=CROSS, fontsize=12)
    label(ax, (left[0] + left[-1]) / 2, -0.95, "encoder", weight="bold")
    label(ax, (right[0] + right[-1]) / 2, -0.95, "decoder", weight="bold")
    ax.set(xlim=(-1.2, right[-1] + 1.5), ylim=(-1.3, 7.4))
    ax.set_axis_off()
    return figure


def architecture() -> Figure:
    """Encoder and decoder side by side, and the one arrow between them."""
    figure, ax = plt.subplots(figsize=(6.4, 8.0))
    left, right = 0.0, 9.4
    encoder = _stack(ax, left, ENCODER, -1)
    decoder = _stack(ax, right, DECODER, 1)
    top, cross = encoder["top"], decoder["cross-attention"] + HEIGHT / 2
    ax.plot([left, left], [top, top + 0.8], color=CROSS, lw=2.5)
    lane = (left + right) / 2 + 0.35
    start, edge = (left, top + 0.8), (right - WIDTH / 2, cross)
    arrow(ax, start, (lane, top + 0.8), (lane, cross), edge, color=CROSS, lw=2.5)
    ax.text(left + 0.1, top + 0.95, "memory: keys and values", color=CROSS, ha="center")
    asks = decoder["cross-attention"] - GAP / 2
    label(ax, right - 0.25, asks, "queries", ha="right", fontsize=10)
    label(ax, left, top + 2.1, "encoder", va="baseline", weight="bold")
    x, y = right - WIDTH / 2 - 0.5, decoder["linear, softmax"] + HEIGHT / 2
    label(ax, x, y, "decoder", ha="right", weight="bold")
    ax.set(xlim=(-4.3, 13.7), ylim=(-0.2, decoder["top"] + 0.2))
    ax.set_axis_off()
    return figure


if __name__ == "__main__":
    save_figures(flow, architecture)
