"""The pictures of the two pages on attention that are not drawn by their own cells.

    python book/figures/attention.py          # attention-ask and attention-shapes
    python book/figures/attention.py cost     # attention-cost, timed here

Times differ from machine to machine and from run to run, so they are drawn here, once,
and the page's cells count operations instead. Letters are outlines.
"""

import sys
import time
from collections.abc import Callable

import matplotlib.pyplot as plt
import numpy as np
from drawing import GRAY, box, label, matrix, save_figures
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from course_lib import oracle, plot

WIDTHS = (512, 1024, 2048, 4096)  # sequence lengths to time
D_HEAD = 64
ROUNDS = 9


def _grid(ax: Axes, left: float, values: np.ndarray, name: str, shape: str):
    """Draw a matrix as shaded cells: weights from 0, everything else around 0."""
    top = len(values) / 2
    share = values / np.abs(values).max()
    if name == "weights":
        shades = plt.get_cmap(plot.WEIGHTS)(0.05 + 0.8 * share)
    else:
        shades = plt.get_cmap(plot.SIGNED)(0.5 + 0.42 * share)
    matrix(ax, left, top, shades, name, shape, lw=1.2)


def _frame(ax: Axes, left: float, bottom: float, width: float, height: float):
    ax.add_patch(
        Rectangle(
            (left, bottom), width, height, fill=False, ec=plot.COLORS["green"], lw=2.6
        )
    )


def ask() -> Figure:
    """A question asks all words of a sentence, and most weight goes to one."""
    text = ["many", "new", "firms", "near", "a", "bank", "see", "the", "old", "farmers"]
    weights = np.array([0.01, 0.01, 0.09, 0.01, 0.02, 0.76, 0.01, 0.01, 0.01, 0.07])
    nouns = {"firms": "several", "bank": "one", "farmers": "several"}
    figure, ax = plt.subplots(figsize=(7, 3.5))
    letters = np.array([max(len(word), len(nouns.get(word, ""))) for word in text])
    widths = 1.2 + 0.29 * letters
    places = widths.cumsum() - widths / 2
    middle = widths.sum() / 2
    box(ax, middle, 4.4, 3.4, 0.95, "bank?", ec=plot.COLORS["vermillion"], lw=1.8)
    label(ax, middle - 2.1, 4.4, "query", ha="right", color=GRAY)
    rows = zip(places, widths - 0.06, text, weights, strict=True)
    for x, width, word, weight in rows:
        line = {"color": plot.COLORS["orange"], "lw": 0.8 + 12 * weight, "zorder": 0}
        line["alpha"] = min(1, 0.5 + 0.65 * weight)
        ax.plot([middle, x], [3.9, 2.6], solid_capstyle="butt", **line)
        ax.plot([x, middle], [1.1, -0.6], solid_capstyle="butt", **line)
        box(ax, x, 2.15, width, 0.9, word, fontsize=9.5)
        value = nouns.get(word, "")
        color = plot.COLORS["blue"] if value else GRAY
        box(ax, x, 1.3, width, 0.7, value, fontsize=9, ec=color, lw=1.0, color=color)
    label(ax, -0.15, 2.15, "keys", ha="right", color=GRAY)
    label(ax, -0.15, 1.3, "values", ha="right", color=GRAY)
    box(ax, middle, -1.1, 3.4, 0.95, "one", ec=plot.COLORS["blue"], lw=1.8)
    label(ax, middle - 2.1, -1.1, "output", ha="right", color=GRAY)
    ax.set(xlim=(-2.05, 2 * middle + 0.05), ylim=(-1.8, 5.1))
    ax.set_axis_off()
    return figure


def shapes() -> Figure:
    """What happens to the shapes, with the path of the second query framed."""
    rng = np.random.default_rng(2017)
    t, s, d, d_v = 4, 6, 3, 2
    q, k, v = (rng.standard_normal(size) for size in ((t, d), (s, d), (s, d_v)))
    output, weights = oracle.attention(q, k, v)
    figure, axes = plt.subplots(2, 1, figsize=(7, 5.0), height_ratios=(6.2, 8.2))

    top, below = axes
    _grid(top, 0, q, "$Q$", "$T \\times d$")
    _grid(top, 5.2, k.T, "$K^{\\top}$", "$d \\times S$")
    _grid(top, 15.2, q @ k.T, "scores", "$T \\times S$")
    top.text(4.1, 0, "×", ha="center", va="center", fontsize=18)
    top.text(13.2, 0, "/ $\\sqrt{d}$   =", ha="center", va="center", fontsize=14)
    _frame(top, 0, 0, d, 1)
    _frame(top, 15.2, 0, s, 1)
    _grid(below, 3.2, weights, "weights", "$T \\times S$")
    _grid(below, 11.4, v, "$V$", "$S \\times d_v$")
    _grid(below, 17.2, output, "output", "$T \\times d_v$")
    below.text(1.3, 0, "softmax\nof each\nrow", ha="center", va="center", fontsize=12)
    below.text(10.3, 0, "×", ha="center", va="center", fontsize=18)
    below.text(15.2, 0, "=", ha="center", va="center", fontsize=18)
    _frame(below, 3.2, 0, s, 1)
    _frame(below, 17.2, 0, d_v, 1)
    for ax in axes:
        ax.set(xlim=(-0.2, 21.4), aspect="equal")
        ax.set_axis_off()
    top.set_ylim(-3.1, 3.1)
    below.set_ylim(-4.1, 4.1)
    return figure


def _fastest(calls: dict[str, Callable[[], object]]) -> dict[str, float]:
    """Processor seconds of each call at its best; the calls take turns."""
    best = dict.fromkeys(calls, np.inf)
    for _ in range(ROUNDS):
        for name, call in calls.items():
            start = time.process_time()  # a busy machine does not count
            call()
            best[name] = min(best[name], time.process_time() - start)
    return best


def cost() -> Figure:
    """Milliseconds of one call of `attention` against the sequence's length."""
    import jax
    import jax.numpy as jnp
    import torch

    import course_lib.nnx as cn
    import course_lib.torch as ct

    torch.set_num_threads(1)
    compiled = jax.jit(lambda q, k, v: cn.attention(q, k, v)[0])
    calls: dict[str, Callable[[], object]] = {}
    for n in WIDTHS:
        x = np.random.default_rng(0).standard_normal((n, D_HEAD)).astype(np.float32)
        a, b = torch.from_numpy(x), jnp.asarray(x)
        compiled(b, b, b).block_until_ready()  # compiling is not what is timed
        calls[f"PyTorch {n}"] = lambda a=a: ct.attention(a, a, a)
        calls[f"NNX {n}"] = lambda b=b: compiled(b, b, b).block_until_ready()
    best = _fastest(calls)

    figure, ax = plt.subplots(figsize=(7, 4.2))
    for wing, color, above in (
        ("PyTorch", plot.TORCH, True),
        ("NNX", plot.NNX, False),
    ):
        ms = np.array([1e3 * best[f"{wing} {n}"] for n in WIDTHS])
        slope = np.polyfit(np.log(WIDTHS), np.log(ms), 1)[0]
        ax.plot(WIDTHS, ms, "o-", color=color)
        ax.annotate(
            f"{wing}: exponent {slope:.1f}",
            (WIDTHS[2], ms[2]),
            xytext=(-12, 14) if above else (12, -14),
            textcoords="offset points",
            ha="right" if above else "left",
            color=color,
        )
        print(wing, dict(zip(WIDTHS, ms.round(2).tolist(), strict=True)), slope)
    start = min(best[f"{wing} {WIDTHS[0]}"] for wing in ("PyTorch", "NNX")) * 1e3 / 4
    reference = start * (np.array(WIDTHS) / WIDTHS[0]) ** 2
    ax.plot(WIDTHS, reference, "--", color=plot.FLOOR, lw=1.5)
    ax.annotate(
        "exponent 2",
        (WIDTHS[1], reference[1]),
        xytext=(10, -6),
        textcoords="offset points",
        va="top",
        color=plot.FLOOR,
    )
    ax.set(
        xscale="log",
        yscale="log",
        xlabel="positions $n$",
        ylabel="processor milliseconds a call",
        xticks=WIDTHS,
        xticklabels=[f"{n:,}" for n in WIDTHS],
    )
    ax.minorticks_off()
    return figure


if __name__ == "__main__":
    save_figures(*([cost] if sys.argv[1:] == ["cost"] else [ask, shapes]))
