"""The picture of the page on learned similarity that no cell draws.

    python book/figures/learned_similarity.py   # learned-similarity-neighbors.svg

Families, columns and bandwidths are those of the page's cells. Letters are outlines.
"""

import matplotlib.pyplot as plt
import numpy as np
from drawing import INK, save_figures
from matplotlib.figure import Figure

from course_lib import oracle, plot
from course_lib.data.households import engel

INCOME, BANDWIDTH = 800.0, 100.0  # in francs
KNOWN = 160  # families on the list; the others are new


def neighbors() -> Figure:
    """Who counts for a new family: by all 21 columns, and by income alone."""
    rng, (income, food) = np.random.default_rng(0), engel()
    order = rng.permutation(len(income))
    dice = rng.standard_normal((20, len(income))).T
    columns = np.column_stack([(income - income.mean()) / income.std(), dice])[order]
    income, food = income[order], food[order]
    family = KNOWN + np.abs(income[KNOWN:] - INCOME).argmin()
    figure, axes = plt.subplots(1, 2, figsize=(7, 3.7), sharey=True)
    titles = "all 21 columns count alike", "only income counts"
    for ax, title, x, h in zip(
        axes, titles, (columns, income[:, None]), (1.0, BANDWIDTH), strict=True
    ):
        (guess,), (weights,) = oracle.kernel_regression(
            x[family : family + 1], x[:KNOWN], food[:KNOWN, None], h
        )
        rank = np.argsort(weights)
        ax.axvline(income[family], color=plot.FLOOR, ls="--", lw=1.2, zorder=0)
        ax.scatter(
            income[:KNOWN][rank],
            food[:KNOWN][rank],
            c=weights[rank],
            cmap=plot.WEIGHTS,
            vmin=-0.12 * weights.max(),  # the lightest families stay visible
            s=36,
            edgecolors="#9E9AC8",
            linewidths=0.5,
        )
        ax.plot(
            income[family], guess[0], "D", color=plot.COLORS["orange"], ms=10, mec=INK
        )
        ax.text(870, 120, f"prediction: {guess[0]:.0f} francs", color=INK)
        ax.set(title=title, xlabel="income", xlim=(300, 2050), ylim=(0, 1400))
    axes[0].set_ylabel("food bill")
    return figure


if __name__ == "__main__":
    save_figures(neighbors)
