"""Two pictures of the page on generating text that are not drawn by its own cells.

    python book/figures/generation.py   # generation-vote.svg, generation-presidents.svg

The words that can follow "the small firm", with their probabilities. And how the GPT
that the book stores learned to write like a president: its bits a byte of held-out
addresses, and what it wrote on the way.
"""

import textwrap

import matplotlib.pyplot as plt
import numpy as np
from drawing import GRAY, INK, save_figures
from matplotlib.figure import Figure

from course_lib import data, plot

WIDTH, LINES = 64, 2  # of what it wrote
COUNTS = (2, 5)  # pieces in the n-grams that are shown


def vote() -> Figure:
    """Bars for each word that can come next, verbs last and apart."""
    language = data.grammar()
    ids = np.array([language.encode("the small firm")])
    after, verb = language.source.next_symbol(ids)[0, -1], language.is_verb
    words = sorted(np.flatnonzero(after), key=lambda i: (verb[i], -after[i]))
    figure, ax = plt.subplots(figsize=(6.4, 3.7))
    for row, i in enumerate(words):
        color = "blue" if verb[i] else "vermillion" if row == 0 else "gray"
        ax.barh(row, after[i], color=plot.COLORS[color], height=0.7)
        ax.text(after[i] + 0.004, row, f"{after[i]:.2f}", va="center")
    blue = plot.COLORS["blue"]
    ax.plot([0.17, 0.18, 0.18, 0.17], [2.7, 2.7, 10.3, 10.3], color=blue)
    together = f"a verb: {after[verb].sum():.2f} together"
    ax.text(0.19, 6.5, together, color=blue, va="center")
    ax.set_yticks(range(len(words)), [language.words[i] for i in words])
    ax.invert_yaxis()
    ax.set(xlabel="probability of the next word", xlim=(0, 0.36))
    return figure


def presidents() -> Figure:
    """The loss beside counts, and below it the texts."""
    told = data.presidents().history
    figure, (ax, below) = plt.subplots(
        2, 1, figsize=(7, 6), height_ratios=(3, 2), layout="constrained"
    )
    steps = [max(step, 10) for step in told["eval_steps"]]  # a logarithm has no 0
    ax.plot(steps, told["evals"], color=plot.COLORS["blue"])
    below.set_axis_off()
    samples = sorted((int(step), text) for step, text in told["samples"].items())
    loss = dict(zip(told["eval_steps"], told["evals"], strict=True))
    for row, (step, text) in enumerate(samples):
        ax.plot(max(step, 10), loss[step], "o", color=plot.COLORS["vermillion"])
        text = text.replace("\ufffd", "?")  # half a character
        lines = textwrap.wrap(" ".join(text.split()), WIDTH)[:LINES]
        y = 0.97 - row / len(samples)
        style = {"va": "top", "transform": below.transAxes}
        below.text(0, y, f"{step:,}", color=plot.COLORS["vermillion"], **style)
        below.text(0.12, y, "\n".join(lines) + " …", color=INK, fontsize=9, **style)
    for n in COUNTS:
        bits = told["counts"][str(n)]
        ax.axhline(bits, color=GRAY, ls="--", lw=1)
        ax.text(10, bits + 0.07, f"counts of {n} pieces {bits:.2f}", color=GRAY)
    ax.set(xscale="log", xlabel="step", ylabel="bits a byte", ylim=(1, 3.2))
    ax.set_xticks([10, 100, 1000, 10_000], ["0", "100", "1,000", "10,000"])
    return figure


if __name__ == "__main__":
    save_figures(vote, presidents)
