"""The picture of the chapter on encoder and decoder that no cell draws.

    python book/figures/seq2seq.py   # seq2seq-architecture.svg

The first transformer, part by part, from below.
"""

import matplotlib.pyplot as plt
from drawing import GRAY, INK, arrow, box, label, save_figures
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from course_lib import plot

ATTENTION, NORM, FORWARD, TABLE = "#D9CEE9", "#F3F0C8", "#CFE3F3", "#F4D9D0"
CROSS = plot.COLORS["vermillion"]
WIDTH, HEIGHT, GAP = 5.1, 0.92, 0.5

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
    save_figures(architecture)
