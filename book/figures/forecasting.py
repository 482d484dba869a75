"""The pictures of the chapter on forecasting that are not drawn by its own cells.

    python book/figures/forecasting.py   # forecasting-model.svg, -origins.svg

From a window to a horizon, and how forecasts are marked.
"""

import matplotlib.pyplot as plt
import numpy as np
from drawing import GRAY, INK, arrow, box, save_figures
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from course_lib import plot

PAST, AHEAD, TOKEN = plot.COLORS["blue"], plot.COLORS["vermillion"], "#DCEAF4"
FRAME = {"lw": 1, "rounding": 0.25}
WINDOW, HORIZON, PATCH = 32, 16, 8
FIT, STEPS, ORIGINS = 20, 8, 5  # quarters known at the first origin, ahead, rows
TRAIN = (8, 8)  # a training window: steps seen, steps ahead


def training_window(row: int) -> tuple[int, int, int]:
    """Start, origin and end of the last training window that a row may use."""
    end = FIT + row
    return end - sum(TRAIN), end - TRAIN[1], end


def model() -> Figure:
    """Below the series, above the tokens, the encoder, and the horizon at once."""
    rng, t = np.random.default_rng(4), np.arange(WINDOW + HORIZON)
    rng.random()  # so the page begins, to choose the wave
    wave = np.stack([f(2 * np.pi * t / 11) for f in (np.sin, np.cos)], axis=1)
    series = wave @ rng.standard_normal(2) + 0.35 * rng.standard_normal(len(t))
    seen, wanted = wave[:WINDOW], wave[WINDOW:]
    amounts = np.linalg.solve(
        seen.T @ seen + 0.35**2 * np.eye(2), seen.T @ series[:WINDOW]
    )
    figure, ax = plt.subplots(figsize=(7, 5.2))
    ax.plot(t[:WINDOW] + 0.5, series[:WINDOW], "o-", ms=3.5, lw=0.8, color=PAST)
    ahead = t[WINDOW:] + 0.5
    ax.plot(ahead, wanted @ amounts, color=AHEAD, lw=2.5)
    ax.plot(ahead, series[WINDOW:], "o", ms=3.5, mfc="white", color=GRAY)
    ax.plot([WINDOW, WINDOW], [-2.9, 2.6], color=INK, lw=1)
    ax.text(WINDOW, -3.6, "origin", ha="center", color=INK)
    ax.text(WINDOW / 2, -3.6, f"window: {WINDOW} steps", ha="center", color=PAST)
    ax.text(WINDOW + 8.5, -3.6, "horizon: 16", ha="center", color=AHEAD)
    for i in range(WINDOW // PATCH):
        left, middle = i * PATCH, i * PATCH + PATCH / 2
        ax.add_patch(
            Rectangle(
                (left + 0.15, -2.6), PATCH - 0.3, 5.1, fc=TOKEN, ec="none", zorder=0
            )
        )
        arrow(ax, (middle, 2.6), (middle, 3.7), color=GRAY)
        box(ax, middle, 4.35, PATCH - 2, 1.1, f"token {i + 1}", fc=TOKEN, **FRAME)
        arrow(ax, (middle, 5.0), (middle, 5.9), color=GRAY)
        arrow(ax, (middle, 7.4), (middle, 8.3), color=GRAY)
    ax.text(WINDOW + 1, 3.05, "one map for all", va="center", color=GRAY)
    ax.text(WINDOW + 1, 4.35, "+ its position", va="center", color=GRAY)
    text = "encoder: every patch looks at every patch"
    box(ax, WINDOW / 2, 6.7, WINDOW - 1, 1.4, text, **FRAME)
    text = "all tokens side by side"
    box(ax, WINDOW / 2, 8.95, WINDOW - 1, 1.1, text, fc=TOKEN, **FRAME)
    ax.plot([WINDOW - 0.3, WINDOW + 14.6], [8.95, 8.95], color=AHEAD, lw=1.5)
    arrow(ax, (WINDOW + 14.6, 9.0), (WINDOW + 14.6, 2.2), color=AHEAD)
    ax.text(WINDOW + 1, 9.35, "one linear map", color=AHEAD)
    ax.text(
        WINDOW + 13.9, 6.6, "all steps\nat once", color=AHEAD, ha="right", va="center"
    )
    ax.set(xlim=(-0.5, WINDOW + HORIZON + 0.5), ylim=(-4.1, 10.2))
    ax.set_axis_off()
    return figure


def origins() -> Figure:
    """One row an origin: what is known, what is to be forecast, what stays hidden."""
    figure, ax = plt.subplots(figsize=(7, 3.6))
    last = FIT + ORIGINS - 1 + STEPS
    for row in range(ORIGINS):
        y, end = -row, FIT + row
        ax.add_patch(Rectangle((0, y), end, 0.55, fc=PAST, ec="white"))
        ax.add_patch(Rectangle((end, y), STEPS, 0.55, fc=AHEAD, ec="white"))
        hidden = last - end - STEPS
        ax.add_patch(
            Rectangle((end + STEPS, y), hidden, 0.55, fc="#EEEEEE", ec="white")
        )
        start, middle, stop = training_window(row)
        ax.plot([start, middle], [y + 0.27] * 2, color="white", lw=3)
        ax.plot([middle, stop], [y + 0.27] * 2, color="white", lw=3, ls=(0, (1, 0.6)))
        ax.text(-0.4, y + 0.27, f"origin {row + 1}", ha="right", va="center", color=INK)
    ax.text(FIT / 2, 0.85, "known: fit on this", ha="center", color=PAST)
    ax.text(FIT + STEPS / 2, 0.85, "forecast", ha="center", color=AHEAD)
    ax.text(last, 0.85, "hidden", ha="right", color=GRAY)
    low = -ORIGINS + 0.6
    arrow(ax, (0, low), (last, low), color=GRAY)
    ax.text(last / 2, low - 0.75, "time", ha="center", color=GRAY)
    ax.set(xlim=(-4.6, last + 0.4), ylim=(low - 1, 1.5))
    ax.set_axis_off()
    return figure


if __name__ == "__main__":
    save_figures(model, origins)
