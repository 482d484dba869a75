"""The picture of the page on learned similarity that no cell draws.

    python book/figures/learned_similarity.py   # learned-similarity-neighbors.svg

Families, query and bandwidths are those of the page's cells. Letters are outlines.
"""

import matplotlib.pyplot as plt
import numpy as np
from drawing import INK, save_figures
from matplotlib.figure import Figure

from course_lib import oracle, plot
from course_lib.data.households import draw_spending

FAMILY = 0  # the one that the page asks about
NARROW, WIDE = 0.1, 100.0


def neighbors() -> Figure:
    """Who counts for one family: by all 22 features, and by the two that matter."""
    families = draw_spending(200, seed=[0, 0])
    x, others = families.features, np.arange(200) != FAMILY
    query = x[FAMILY][None]
    told = np.full(22, WIDE)
    told[:2] = NARROW
    figure, axes = plt.subplots(1, 2, figsize=(7, 3.7), sharey=True)
    titles = "all 22 features count alike", "only these two count"
    for ax, title, h in zip(axes, titles, (1.0, told), strict=True):
        weights = oracle.kernel_regression(query / h, x / h, families.values, 1.0)[1][0]
        weights = weights * others / weights[others].sum()
        order = np.argsort(weights)
        ax.scatter(
            *x[order, :2].T,
            c=weights[order],
            cmap=plot.WEIGHTS,
            vmin=-0.12 * weights.max(),  # the lightest families stay visible
            s=36,
            edgecolors="#9E9AC8",
            linewidths=0.5,
        )
        ax.plot(*query[0, :2], "D", color=plot.COLORS["orange"], ms=10, mec=INK)
        ax.set(title=title, xlabel="first feature, $a$", aspect="equal")
    axes[0].set_ylabel("second feature, $b$")
    return figure


if __name__ == "__main__":
    save_figures(neighbors)
