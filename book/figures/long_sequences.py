"""The pictures of the page on long sequences that are not drawn by its own cells.

    python book/figures/long_sequences.py         # the drawing: tiles
    python book/figures/long_sequences.py cost    # long-sequences-cost, measured here

Times differ from machine to machine and from run to run, so they are drawn here, once.
The page's cells count memory at the shorter lengths. Letters are outlines.
"""

import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from drawing import GRAY, arrow, cells, label, save_figures, shade
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from course_lib import plot

BLUE, ORANGE, GREEN = (plot.COLORS[c] for c in ("blue", "orange", "green"))
NOT_YET, GONE = "#FFFFFF", "#E4E4E4"
WIDTH, MOST = 64, 2**16  # of queries, keys and values; the longest sequence
ROUNDS = 3


def tiles() -> Figure:
    """One tile of scores exists at a time, and three columns carry the sums."""
    n, tile, current = 8, 3, 2  # queries, keys in a tile, the tile at work
    keys = 4 * tile
    figure, ax = plt.subplots(figsize=(5.4, 3.9))
    now = np.arange(keys) // tile == current
    done = np.arange(keys) // tile < current

    q = [[shade(BLUE, 0.45)] * 2] * n
    cells(ax, -3.2, 0, q, lw=1)
    label(ax, -2.2, 0.45, "$Q$", fontsize=14)

    strip = [shade(BLUE, 0.45) if c else shade(BLUE, 0.12) for c in now]
    cells(ax, 0, 3.4, [strip] * 2, lw=1)
    label(ax, -0.5, 2.4, "$K^\\top$", fontsize=14, ha="right")

    row = [
        shade(ORANGE, 0.75) if c else GONE if d else NOT_YET
        for c, d in zip(now, done, strict=True)
    ]
    cells(ax, 0, 0, [row] * n, lw=1)
    outline = Rectangle((0, -n), keys, n, fill=False, ec=GRAY, lw=1, ls=":")
    ax.add_patch(outline)
    cells(ax, 0, -n - 1.4, [strip] * 2, lw=1)
    label(ax, -0.5, -n - 2.4, "$V^\\top$", fontsize=14, ha="right")
    middle = tile * (current + 0.5)
    arrow(ax, (middle, 1.25), (middle, 0.15))
    arrow(ax, (middle, -n - 1.25), (middle, -n - 0.15))
    label(ax, tile * current / 2, -n / 2, "forgotten", color=GRAY, fontsize=12)
    label(ax, middle, -n / 2, "scores\nnow", fontsize=12)
    label(ax, middle + tile, -n / 2, "not yet", color=GRAY, fontsize=12)

    left = keys + 1.7
    arrow(ax, (keys + 0.2, -n / 2), (left - 0.2, -n / 2))
    for name, width in (("$m$", 1), ("$l$", 1), ("$o$", 2)):
        cells(ax, left, 0, [[shade(GREEN, 0.5)] * width] * n, lw=1)
        label(ax, left + width / 2, 0.45, name, fontsize=14)
        left += width + 0.5
    label(ax, left - 2.75, -n - 0.55, "so far", color=GRAY, fontsize=12)
    ax.set(xlim=(-3.4, left), ylim=(-n - 3.6, 3.6), aspect="equal")
    ax.set_axis_off()
    return figure


def most_bytes(call: Callable[[], object]) -> int:
    """Most bytes that PyTorch held at one time while `call` ran."""
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as record:
        call()
    events: Any = record.profiler
    now = most = 0
    for event in events.kineto_results.events():
        if event.name() == "[memory]":
            now += event.nbytes()
            most = max(most, now)
    return most


def fastest(call: Callable[[], object]) -> float:
    """Processor seconds of the best of a few calls."""
    times = []
    for _ in range(ROUNDS):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return min(times)


def tiled_attention(q: Any, k: Any, v: Any, tile: int = 512) -> Any:
    """The page's, with the queries in tiles too."""
    import torch

    found = []
    for part in (q / WIDTH**0.5).split(tile, dim=-2):
        top = torch.full_like(part[..., :1], -torch.inf)
        total, mixed = torch.zeros_like(top), torch.zeros_like(part)
        for keys, values in zip(k.split(tile, -2), v.split(tile, -2), strict=True):
            scores = part @ keys.mT
            new_top = torch.maximum(top, scores.amax(dim=-1, keepdim=True))
            fade, exps = (top - new_top).exp(), (scores - new_top).exp()
            total = fade * total + exps.sum(dim=-1, keepdim=True)
            mixed, top = fade * mixed + exps @ values, new_top
        found.append(mixed / total)
    return torch.cat(found, dim=-2)


def linear_attention(q: Any, k: Any, v: Any) -> Any:
    """A sum of products first, which every query then reads."""
    from torch.nn.functional import elu

    q, k = elu(q) + 1, elu(k) + 1
    return q @ (k.mT @ v) / (q @ k.sum(dim=-2).unsqueeze(-1))


def measure() -> dict[str, tuple[list[int], list[float], list[float]]]:
    """Lengths, processor seconds and MiB of four ways to attend."""
    import torch
    import torch.nn.functional as F

    import course_lib.torch as ct

    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    ways: dict[str, tuple[int, Callable[..., Any]]] = {
        "naive": (2**14, lambda *x: ct.attention(*x)[0]),
        "tiles": (MOST, tiled_attention),
        "library": (MOST, F.scaled_dot_product_attention),
        "linear": (MOST, linear_attention),
    }
    found = {}
    for name, (longest, f) in ways.items():
        lengths = [2**k for k in range(10, 17) if 2**k <= longest]
        seconds, held = [], []
        for n in lengths:
            q, k, v = torch.randn(3, 1, 1, n, WIDTH)
            call = partial(f, q, k, v)
            seconds.append(fastest(call))
            held.append((most_bytes(call) - 4 * v.numel()) / 2**20)
        found[name] = lengths, seconds, held
        print(name, seconds, held)
    return found


def cost() -> Figure:
    """Time and memory of four ways to attend, against the sequence's length."""
    figure, (above, below) = plt.subplots(2, 1, figsize=(6.6, 7.6), sharex=True)
    left, up, down = {"ha": "right"}, (-8, 8), (8, -16)
    styles: dict[str, tuple] = {  # color; at which length the name stands, and how
        "naive": ("vermillion", (3, up, left), (3, up, left)),
        "tiles": ("green", (6, (-8, 4), left), (0, (2, 8), {})),
        "library": ("blue", (2, down, {}), (3, (0, 7), {})),
        "linear": ("purple", (4, down, {}), (6, up, left)),
    }
    found = measure()
    for name, (lengths, seconds, held) in found.items():
        color, *places = styles[name]
        power = np.polyfit(np.log(lengths[-4:]), np.log(seconds[-4:]), 1)[0]
        lines = (above, seconds, f"{name}, exponent {power:.1f}"), (below, held, name)
        for (ax, y, text), (at, offset, style) in zip(lines, places, strict=True):
            color_of = {"color": plot.COLORS[color]}
            ax.plot(lengths, y, "o-", ms=4, **color_of)
            where = {"xytext": offset, "textcoords": "offset points"}
            ax.annotate(text, (lengths[at], y[at]), **where, **style, **color_of)
    for name, offset, style in (("naive", (8, -4), {}), ("tiles", (8, -18), {})):
        lengths, seconds, _ = found[name]
        at = lengths.index(2**14)  # the last length of both
        where = {"xytext": offset, "textcoords": "offset points"}
        color_of = {"color": plot.COLORS[styles[name][0]]}
        text = f"{seconds[at]:.1f} s"
        above.annotate(text, (lengths[at], seconds[at]), **where, **style, **color_of)
    ticks = [2**k for k in range(10, 17, 2)]
    titles = "processor seconds", "MiB beyond inputs and output"
    for ax, title in zip((above, below), titles, strict=True):
        ax.set(xscale="log", yscale="log", title=title)
        ax.set_xticks(ticks, [f"{n:,}" for n in ticks])
        ax.minorticks_off()
    below.set_xlabel("tokens")
    return figure


if __name__ == "__main__":
    save_figures(cost if sys.argv[1:] == ["cost"] else tiles)
