"""The pictures that links to the book show, where a page has none of its own.

    python book/tools/card.py

writes `_static/card.png`: the title, and attention over vectors that were drawn; and
`_static/card-<page>.png` of a page that is passed on, *play*: a forecast, also without
a head.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import torch
from matplotlib.figure import Figure

from course_lib import config, data, oracle, plot
from course_lib import torch as ct

STATIC = Path(__file__).resolve().parents[1] / "_static"
WORDS = ["the", "cat", "saw", "the", "dog"]
DRAWN = 1.5 * np.random.default_rng(0).standard_normal((5, 4))
TEXT = "the firm near the new banks"
SHOWN = ["sees", "grows", "near", "see", "grow"]


def card(title: str, words: str) -> Figure:
    """Begin one, of 1,200 by 630 pixels, as previews want it."""
    figure = plt.figure(figsize=(12, 6.3), dpi=100, layout="none")
    black, gray = plot.COLORS["black"], plot.COLORS["gray"]
    figure.text(0.06, 0.6, title, size=50, color=black, va="center")
    figure.text(0.06, 0.3, words, size=20, color=gray, va="center", linespacing=1.5)
    return figure


def book() -> Figure:
    """The book's own."""
    figure = card(
        "Transformers\nand Attention",
        "a course, from kernel regression to GPT\nin PyTorch and Flax NNX",
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


def play() -> Figure:
    """A text, and what the live GPT expects next: all of it, and without a head."""
    figure = card(
        "Models\nto play with",
        "switch one head off, and the verb\nforgets its firm",
    )
    ax = figure.add_axes((0.62, 0.14, 0.32, 0.62))
    language = data.grammar()
    model = ct.GPT(
        config.GPTConfig(
            vocab_size=52,
            max_len=32,
            position="rotary",
            d_model=48,
            n_heads=4,
            n_layers=2,
        )
    )
    ct.load_weights(model, data.trained("gpt"))
    shown = language.encode(" ".join(SHOWN))
    heads = model.get_parameter("blocks.1.attention.o_proj.weight").data
    for place, color, name in (
        (-0.18, "#6a51a3", "all heads on"),
        (0.18, plot.COLORS["orange"], "without one"),
    ):
        logits = model(torch.tensor([language.encode(TEXT)]))[0, -1]
        own = logits.softmax(-1).detach().numpy()
        ax.barh(np.arange(5) + place, own[shown], 0.34, color=color, label=name)
        heads[:, 36:] = 0  # the last head gives nothing any more
    figure.text(0.62, 0.82, f"{TEXT} …", size=18, color=plot.COLORS["black"])
    ax.set_yticks(range(5), SHOWN, size=18)
    ax.invert_yaxis()
    ax.set_xticks([])
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    ax.legend(fontsize=15, loc="lower right", frameon=False)
    return figure


if __name__ == "__main__":
    plot.use_style()
    for name, draw in {"card": book, "card-play": play}.items():
        draw().savefig(STATIC / f"{name}.png", metadata={"Software": None})
