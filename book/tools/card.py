"""The picture that a link to the book shows, where the page has none of its own.

    python book/tools/card.py

writes `_static/card.png`: the title, and attention over vectors that were drawn.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from course_lib import oracle, plot

CARD = Path(__file__).resolve().parents[1] / "_static" / "card.png"
WORDS = ["the", "cat", "saw", "the", "dog"]
DRAWN = 1.5 * np.random.default_rng(0).standard_normal((5, 4))


def card() -> Figure:
    """Draw it at 1,200 by 630 pixels, as previews want it."""
    figure = plt.figure(figsize=(12, 6.3), dpi=100, layout="none")
    figure.text(
        0.06,
        0.6,
        "Transformers\nand Attention",
        size=50,
        color=plot.COLORS["black"],
        va="center",
    )
    words = "a course, from kernel regression to GPT\nin PyTorch and Flax NNX"
    figure.text(
        0.06,
        0.3,
        words,
        size=20,
        color=plot.COLORS["gray"],
        va="center",
        linespacing=1.5,
    )
    ax = figure.add_axes((0.6, 0.18, 0.34, 0.64))
    vectors = dict(zip(WORDS, DRAWN, strict=True))
    x = np.array([vectors[word] for word in WORDS])
    ax.imshow(oracle.attention(x, x, x)[1], cmap="Purples", vmin=0)
    ax.set_xticks(range(5), WORDS, size=18)
    ax.set_yticks(range(5), WORDS, size=18)
    ax.xaxis.tick_top()
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    return figure


if __name__ == "__main__":
    plot.use_style()
    card().savefig(CARD, metadata={"Software": None})
