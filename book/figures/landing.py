"""The three pictures of the landing page, each computed by the course's own equations.

    python book/figures/landing.py

writes landing-similarity.svg, landing-attention.svg and landing-heads.svg beside this
file.
"""

import matplotlib.pyplot as plt
import numpy as np
from drawing import INK, arrow, label, save_figures
from matplotlib.figure import Figure

from course_lib import oracle, plot
from course_lib.data import engel

SIZE = (4.2, 3.3)


def similarity(income: float = 800.0, bandwidth: float = 100.0) -> Figure:
    """Households shaded by how much each counts for one that earns `income`."""
    x, y = engel()
    predicted, weights = oracle.kernel_regression(
        np.array([[income]]), x[:, None], y[:, None], bandwidth
    )
    guess, order = float(predicted[0, 0]), np.argsort(weights[0])
    figure, ax = plt.subplots(figsize=SIZE)
    ax.scatter(
        x[order],
        y[order],
        c=weights[0, order],
        cmap=plot.WEIGHTS,
        vmin=-0.15 * weights.max(),  # the lightest households stay visible
        s=34,
        edgecolors="#9E9AC8",
        linewidths=0.4,
    )
    ax.axvline(income, color=plot.FLOOR, linestyle="--", linewidth=1.2, zorder=0)
    ax.plot(income, guess, "D", color=plot.COLORS["orange"], ms=10, mec=INK)
    ax.annotate(
        f"the guess: {guess:.0f}",
        (income, guess),
        xytext=(1050, 330),
        arrowprops={"arrowstyle": "-", "color": INK},
    )
    ax.set(
        xlim=(300, 2080),
        ylim=(200, 1400),
        xlabel="income, francs a year",
        ylabel="food, francs a year",
    )
    return figure


def attention() -> Figure:
    """One query and six keys in the plane, each key's ring as dark as its weight."""
    angles = np.deg2rad([20, 62, 115, 170, 235, 310])
    lengths = np.array([2.0, 2.9, 2.3, 1.7, 2.2, 1.9])
    keys = lengths[:, None] * np.column_stack([np.cos(angles), np.sin(angles)])
    query = 2.2 * np.array([[np.cos(np.deg2rad(45)), np.sin(np.deg2rad(45))]])
    _, weights = oracle.attention(query, keys, keys)
    figure, ax = plt.subplots(figsize=SIZE)
    for key, weight in zip(keys, weights[0], strict=True):
        shade = plt.get_cmap(plot.WEIGHTS)(0.25 + 0.7 * weight / weights.max())
        arrow(ax, (0, 0), key, color=shade, lw=1 + 5 * weight)
        x, y = key * (1 + 0.42 / np.hypot(*key))
        label(ax, x, y, f"{weight:.2f}")
    arrow(ax, (0, 0), query[0], color=plot.COLORS["orange"], lw=3)
    x, y = query[0]
    ax.text(x + 0.15, y - 0.05, "query", color="#8A5A00", ha="left")
    x, y = keys[3]
    ax.text(x + 0.1, y + 0.25, "key", color=INK, ha="left")
    ax.set(xlim=(-2.9, 3.1), ylim=(-2.5, 3.4), aspect="equal")
    ax.set_axis_off()
    return figure


def heads() -> Figure:
    """Four heads over one sentence, each set by hand to look for another relation."""
    words = ["the", "cat", "saw", "the", "dog"]
    n, sharp = len(words), 6.0
    place = np.eye(n)
    back = np.roll(place, -1, axis=1)
    back[0] = place[0]
    word = np.array([[float(w == u) for u in dict.fromkeys(words)] for w in words])
    verb = np.array([[0.0], [0.0], [1.0], [0.0], [0.0]])
    noun = np.array([[0.0], [1.0], [0.0], [0.0], [1.0]])
    early = np.cos(np.deg2rad(45) * np.arange(n))[:, None]
    pairs = {  # the same four as in multi_head.py
        "the word before": (back, place),
        "the same word": (word, word),
        "who?": (verb, noun + early),
        "whom?": (verb, noun - early),
    }
    maps = np.stack(
        [
            oracle.attention(sharp * np.sqrt(q.shape[1]) * q, k, k)[1]
            for q, k in pairs.values()
        ]
    )
    figure, grid = plt.subplots(2, 2, figsize=(4.2, 4.6))
    for ax, weights, title in zip(grid.flat, maps, pairs, strict=True):
        left = ax in grid[:, 0]
        plot.attention_map(
            weights, words if left else None, ax=ax, vmax=1.0, numbers=False
        )
        ax.set(xlabel="", ylabel="", xticks=[])
        ax.set_title(title, fontsize=11)
    return figure


if __name__ == "__main__":
    save_figures(similarity, attention, heads)
