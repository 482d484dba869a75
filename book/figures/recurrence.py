"""The pictures of the two pages on recurrence that are not drawn by their own cells.

    python book/figures/recurrence.py   # recurrence-context, -lstm, -paths (.svg)

In the last, which node reads which is a graph, and the way marked in color is the
shortest one from the first token to the answer, found by search.
"""

from collections import deque

import matplotlib.pyplot as plt
from drawing import GRAY, INK, arrow, box, label, save_figures
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle

from course_lib import plot

WAY, PALE = plot.COLORS["vermillion"], "#C8C8C8"
GATE = {"rounding": 0.1, "zorder": 2}
N = 8

Node = tuple[float, int]  # height, position
Reads = dict[Node, list[Node]]  # a node, and what it reads


def recurrent() -> Reads:
    """Each state reads its token and the state before."""
    return {(1, t): [(0, t), *([(1, t - 1)] if t else [])] for t in range(N)}


def dilated() -> Reads:
    """Layer l reads its own position and the one 2^l before."""
    reads: Reads = {}
    for layer in range(3):
        for t in range(N):
            past = t - 2**layer
            reads[layer + 1, t] = [(layer, t), *([(layer, past)] if past >= 0 else [])]
    return reads


def bahdanau() -> Reads:
    """States as in a recurrence; the answer reads all of them."""
    reads = recurrent()
    reads[2, N - 1] = [(1, t) for t in range(N)]
    return reads


def self_attention() -> Reads:
    """The answer reads all tokens."""
    return {(1, t): [(0, s) for s in range(t + 1)] for t in range(N)}


def shortest(reads: Reads, goal: Node) -> list[Node]:
    """The shortest way from the first token to `goal`, both included."""
    queue, came = deque([goal]), {goal: goal}
    while queue:
        node = queue.popleft()
        for below in reads.get(node, []):
            if below not in came:
                came[below] = node
                queue.append(below)
    way = [(0.0, 0)]
    while way[-1] != goal:
        way.append(came[way[-1]])
    return way


def _panel(ax: Axes, reads: Reads, title: str, only_answer: bool = False):
    goal = max(reads)
    way = shortest(reads, goal)
    steps = set(zip(way[1:], way[:-1], strict=True))
    nodes = set(reads) | {below for row in reads.values() for below in row}
    top = goal[0]
    rise = 3.0 / top
    for node, row in reads.items():
        for below in row:
            marked = (node, below) in steps
            if only_answer and node[1] != N - 1:
                continue
            ax.plot(
                [below[1], node[1]],
                [below[0] * rise, node[0] * rise],
                color=WAY if marked else PALE,
                lw=2.6 if marked else 1.0,
                zorder=2 if marked else 1,
            )
    for height, t in nodes:
        on = (height, t) in way
        ax.add_patch(
            Circle(
                (t, height * rise),
                0.19,
                fc=WAY if on else "white",
                ec=WAY if on else GRAY,
                lw=1.2,
                zorder=3,
            )
        )
    hops = len(way) - 1
    ax.text(3.5, 3.75, title, ha="center", color=INK, fontsize=12)
    ax.text(3.5, -0.75, f"{hops} step{'s' * (hops > 1)}", ha="center", color=WAY)
    ax.set(xlim=(-0.4, 7.4), ylim=(-1.0, 4.3), aspect="equal")
    ax.set_axis_off()


def paths() -> Figure:
    """Four networks over eight tokens, the way from the first to the answer marked."""
    figure, grid = plt.subplots(2, 2, figsize=(7, 5.0))
    _panel(grid[0, 0], recurrent(), "recurrence")
    _panel(grid[0, 1], dilated(), "dilated convolution")
    _panel(grid[1, 0], bahdanau(), "recurrence, then attention")
    _panel(grid[1, 1], self_attention(), "self-attention", only_answer=True)
    return figure


SOURCE = ("European", "Economic", "Area")
TARGET = ("zone", "économique", "européenne")
WEIGHTS = (0.7, 0.15, 0.15)  # a sketch: what the last target word might look at
STATE = {"rounding": 0.3, "zorder": 3}


def _translator(ax: Axes, title: str, attends: bool):
    """Encoder below, decoder above; between them one vector, or one for each word."""
    blue, orange = plot.COLORS["blue"], plot.COLORS["orange"]
    low, middle, high = 0.0, 2.1, 4.2
    places = [2.0 * j for j in range(3)]
    for j, (x, word) in enumerate(zip(places, SOURCE, strict=True)):
        box(ax, x, low, 0.8, 0.8, f"$h_{j + 1}$", ec=blue, color=blue, **STATE)
        label(ax, x, low - 1.3, word, fontsize=11)
        arrow(ax, (x, low - 1.0), (x, low - 0.42), color=GRAY)
        if j:
            arrow(ax, (x - 1.58, low), (x - 0.42, low), color=blue)
    for t, (x, word) in enumerate(zip(places, TARGET, strict=True)):
        box(ax, x, high, 0.8, 0.8, f"$s_{t + 1}$", **STATE)
        label(ax, x, high + 1.3, word, fontsize=11)
        arrow(ax, (x, high + 0.42), (x, high + 1.0), color=GRAY)
        if t:
            arrow(ax, (x - 1.58, high), (x - 0.42, high))
            word_in = [(x - 1.55, high + 1.05), (x - 0.36, high + 0.36)]
            arrow(ax, *word_in, color=GRAY)
    if attends:
        x = places[2]
        for place, weight in zip(places, WEIGHTS, strict=True):
            ends = [place, x + 0.12 * (place - x)], [low + 0.42, middle - 0.4]
            ax.plot(*ends, color=orange, lw=1.2 + 6 * weight, zorder=1)
        arrow(ax, (2.3, high - 0.32), (x - 0.34, middle + 0.25), color=GRAY)
        label(ax, 2.1, middle + 0.75, "query", color=GRAY, fontsize=11)
        label(ax, 0.45, middle - 0.35, "weights", color=orange, fontsize=11)
    else:
        x = places[2]
        arrow(ax, (x, low + 0.42), (x, middle - 0.42), color=orange, lw=2.6)
    box(
        ax,
        x,
        middle,
        0.8,
        0.8,
        "$z_3$" if attends else "$z$",
        ec=orange,
        color=plot.COLORS["vermillion"],
        **STATE,
    )
    for place in places[2:] if attends else places:
        start = (x, middle + 0.42) if place == x else (x - 0.42, middle + 0.2)
        end = (place, high - 0.42) if place == x else (place + 0.28, high - 0.4)
        arrow(ax, start, end, color=orange, lw=2.6)
    label(ax, 2.0, 6.45, title, fontsize=12)
    ax.set(xlim=(-1.15, 5.15), ylim=(-1.75, 6.8), aspect="equal")
    ax.set_axis_off()


def context() -> Figure:
    """An encoder and a decoder joined by one vector, and by Bahdanau's attention."""
    figure, axes = plt.subplots(1, 2, figsize=(7, 4.7))
    _translator(axes[0], "one vector for the sentence", attends=False)
    _translator(axes[1], "a context for each word", attends=True)
    return figure


def _knot(ax: Axes, x: float, y: float, text: str):
    ax.add_patch(Circle((x, y), 0.25, fc="white", ec=INK, lw=1.4, zorder=3))
    label(ax, x, y - 0.02, text, fontsize=14, zorder=4)


def lstm() -> Figure:
    """One step of an LSTM: the cell's line above, what opens and shuts it below."""
    figure, ax = plt.subplots(figsize=(7, 2.9))
    keep, write, read = (plot.COLORS[c] for c in ("vermillion", "green", "blue"))
    cell, gates, low = 4.0, 1.9, 0.5
    for start, end in ((0.3, 1.35), (1.85, 3.35), (3.85, 9.6)):
        arrow(ax, (start, cell), (end, cell), color=keep, lw=2.6)
    _knot(ax, 1.6, cell, "×")
    _knot(ax, 3.6, cell, "+")
    for x, text, color in (
        (1.6, "forget $f$", keep),
        (3.0, "input $i$", write),
        (4.4, "new $g$", write),
        (5.95, "output $o$", read),
    ):
        box(ax, x, gates, 1.3, 0.64, text, ec=color, color=color, fontsize=11, **GATE)
        ax.plot([x, x], [low, gates - 0.32], color=GRAY, lw=1.2, zorder=1)
    ax.plot([0.3, 5.95], [low, low], color=GRAY, lw=1.2, zorder=1)
    arrow(ax, (1.6, gates + 0.32), (1.6, cell - 0.25), color=keep)
    _knot(ax, 3.6, 3.0, "×")
    arrow(ax, (3.0, gates + 0.32), (3.45, 2.79), color=write)
    arrow(ax, (4.4, gates + 0.32), (3.78, 2.82), color=write)
    arrow(ax, (3.6, 3.25), (3.6, cell - 0.25), color=write)
    box(ax, 7.4, 3.2, 0.84, 0.64, "tanh", **GATE)
    arrow(ax, (7.4, cell), (7.4, 3.52))
    _knot(ax, 7.4, gates, "×")
    arrow(ax, (7.4, 2.88), (7.4, gates + 0.25))
    arrow(ax, (6.57, gates), (7.15, gates), color=read)
    ax.plot([7.4, 7.4], [low, gates - 0.25], color=INK, lw=1.5, zorder=1)
    arrow(ax, (7.4, low), (9.6, low))
    for x, y, text, side in (
        (0.2, cell, "$c_{t-1}$", "right"),
        (9.7, cell, "$c_t$", "left"),
        (0.2, low, "$h_{t-1},\\; x_t$", "right"),
        (9.7, low, "$h_t$", "left"),
    ):
        label(ax, x, y, text, ha=side, fontsize=13)
    ax.set(xlim=(-1.35, 10.4), ylim=(0.15, 4.4), aspect="equal")
    ax.set_axis_off()
    return figure


if __name__ == "__main__":
    save_figures(context, lstm, paths)
