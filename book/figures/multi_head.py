"""The drawings of the pages on multi-head attention that no cell makes.

    python book/figures/multi_head.py

writes multi-head-sentence.svg (four heads on one sentence), multi-head-published.svg
(two heads of a published model), multi-head-shapes.svg (the shapes in a layer with two
heads) and multi-head-sharing.svg (who shares keys and values in MHA, GQA and MQA). The
published weights are those that book/checkpoints/voices.py stored; all others are
computed by the course's own equation. Letters are outlines.
"""

import json
from collections.abc import Sequence
from pathlib import Path

import drawing
import matplotlib.pyplot as plt
import numpy as np
from drawing import GRAY, INK, box, matrix, save_figures, shade, sign
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from course_lib import oracle, plot

GREEN, ORANGE = plot.COLORS["green"], plot.COLORS["orange"]
BLUE, RED = plot.COLORS["blue"], plot.COLORS["vermillion"]
STORED = Path(drawing.__file__).with_name("voices.json")

WORDS = ("the", "cat", "saw", "the", "dog")
FEATURES = ("the", "cat", "saw", "dog", "noun", "verb", "cos", "sin")
QUESTIONS = {  # columns of W_Q and W_K, by feature: as on the page
    "the word before": (
        ({"cos": 20, "sin": 20}, {"cos": -20, "sin": 20}),
        ({"cos": 1}, {"sin": 1}),
    ),
    "the same word": (
        ({"the": 8, "saw": -8}, {"cat": 8, "dog": -8}),
        ({"the": 1, "saw": -1}, {"cat": 1, "dog": -1}),
    ),
    "who?": (({"verb": 8}, {}), ({"noun": 3, "cos": 1}, {})),
    "whom?": (({"verb": 8}, {}), ({"noun": 3, "cos": -1}, {})),
}


def word_vectors() -> np.ndarray:
    """One row a word: which word, noun or verb, and its position as an angle."""
    angle = np.deg2rad(45) * np.arange(len(WORDS))
    x = np.zeros((len(WORDS), len(FEATURES)))
    for row, word, a in zip(x, WORDS, angle, strict=True):
        row[FEATURES.index(word)] = 1
        row[FEATURES.index("noun")] = word in ("cat", "dog")
        row[FEATURES.index("verb")] = word == "saw"
        row[-2:] = np.cos(a), np.sin(a)
    return x


def sentence_maps() -> dict[str, np.ndarray]:
    """The map of each of the four heads, `T T`, by its question."""
    x, maps = word_vectors(), {}
    for question, sides in QUESTIONS.items():
        q, k = (
            x @ [[column.get(f, 0) for column in columns] for f in FEATURES]
            for columns in sides
        )
        maps[question] = oracle.attention(q, k, k)[1]
    return maps


def _lines(
    ax: Axes, words: Sequence[str], weights: np.ndarray, told: str, color: str
) -> None:
    """Lines from each word (top) to those it looks at (bottom), colored for one."""
    for i, row in enumerate(weights):
        mine = words[i] == told
        for j, weight in enumerate(row):
            if weight > 0.05:
                ax.plot(
                    (i, j),
                    (0.8, 0.2),
                    color=color if mine else GRAY,
                    lw=(5 if mine else 2.5) * weight,
                    alpha=1 if mine else 0.55,
                    zorder=3 if mine else 2,
                    solid_capstyle="round",
                )
        for y, where in ((0.86, "bottom"), (0.14, "top")):
            ax.text(
                i,
                y,
                words[i],
                ha="center",
                va=where,
                fontsize=13,
                color=INK,
                fontweight="bold" if mine and y > 0.5 else "normal",
            )
    ax.set(xlim=(-0.6, len(words) - 0.4), ylim=(-0.08, 1.08))
    ax.set_axis_off()


def sentence() -> Figure:
    """Four heads on one sentence: lines from each word to the words it looks at."""
    figure, grid = plt.subplots(2, 2, figsize=(5.6, 4.3))
    for ax, (question, weights), color in zip(
        grid.flat, sentence_maps().items(), (GREEN, ORANGE, BLUE, RED), strict=True
    ):
        _lines(ax, WORDS, weights, "saw", color)
        ax.set_title(question, fontsize=14, fontweight="bold")
    return figure


def published() -> Figure:
    """Two heads of MiniLM, one of them in both voices: from maps that are stored."""
    held = json.loads(STORED.read_text("utf-8"))["sentences"]
    figure, axes = plt.subplots(3, 1, figsize=(5.8, 5.4))
    for ax, (voice, head, told, title, color) in zip(
        axes,
        (
            ("active", "word before", "saw", "head 0-2: the word before", GREEN),
            ("active", "whom", "saw", "head 3-1: whom?", RED),
            ("passive", "whom", "seen", "head 3-1 in the passive voice", RED),
        ),
        strict=True,
    ):
        weights = np.array(held[voice][head])
        _lines(ax, held[voice]["tokens"], weights, told, color)
        ax.set_title(title, fontsize=14, fontweight="bold")
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
    save_figures(sentence, published, shapes, sharing)
