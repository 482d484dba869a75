"""The picture of the page on vision transformers that is not drawn by its own cells.

    python book/figures/vit.py   # vit-tokens.svg

From a handwritten seven to tokens to a class.
"""

import matplotlib.pyplot as plt
import numpy as np
from drawing import GRAY, INK, arrow, box, label, save_figures
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from course_lib import plot

CLS, POSITION = plot.COLORS["vermillion"], plot.COLORS["blue"]
SIZE, PATCH = 12, 4
GRID = SIZE // PATCH
N_PATCHES = GRID**2
STROKES = (  # from and to, in pixels from the left and from the top
    ((2.6, 2.2), (8.6, 1.8)),
    ((8.6, 1.8), (5.0, 10.2)),
    ((4.6, 6.2), (8.6, 5.8)),
)


def image() -> np.ndarray:
    """A seven with its crossbar, gray values from 0 to 1, `SIZE SIZE`."""
    middles = np.stack(np.meshgrid(*[np.arange(SIZE) + 0.5] * 2), axis=-1)
    ink = np.zeros((SIZE, SIZE))
    for start, end in STROKES:
        a, along = np.array(start), np.subtract(end, start)
        share = np.clip((middles - a) @ along / (along @ along), 0, 1)
        distance = np.linalg.norm(middles - a - share[..., None] * along, axis=-1)
        ink = np.maximum(ink, np.clip(1.35 - distance, 0, 1))
    return ink


def cut(picture: np.ndarray) -> np.ndarray:
    """Its patches, row by row, `N_PATCHES PATCH PATCH`."""
    apart = picture.reshape(GRID, PATCH, GRID, PATCH).swapaxes(1, 2)
    return apart.reshape(N_PATCHES, PATCH, PATCH)


def _pixels(ax: Axes, values: np.ndarray, left: float, top: float, side: float):
    """Gray pixels, and a frame around them."""
    rows, columns = values.shape
    for (i, j), value in np.ndenumerate(values):
        shade = plt.get_cmap(plot.WEIGHTS)(0.9 * value)
        corner = left + j * side, top - (i + 1) * side
        ax.add_patch(Rectangle(corner, side, side, fc=shade, ec=shade, lw=0.3))
    ax.add_patch(
        Rectangle(
            (left, top - rows * side), columns * side, rows * side, fill=False, ec=INK
        )
    )


def tokens() -> Figure:
    """The image, its patches, the row of tokens, the encoder, the class."""
    figure, ax = plt.subplots(figsize=(7, 5.9))
    step = 1.0
    picture = image()
    _pixels(ax, picture, 0.2, 9.2, 0.23)
    for i in range(1, GRID):
        at = i * PATCH * 0.23
        ax.plot([0.2 + at] * 2, [9.2, 9.2 - SIZE * 0.23], color=INK, lw=1)
        ax.plot([0.2, 0.2 + SIZE * 0.23], [9.2 - at] * 2, color=INK, lw=1)
    ax.text(1.6, 9.4, f"image {SIZE} × {SIZE}", ha="center")
    arrow(ax, (3.2, 7.8), (4.2, 7.8))
    for k, patch in enumerate(cut(picture)):
        row, column = divmod(k, GRID)
        left, top = 4.5 + 1.25 * column, 9.2 - 1.0 * row
        _pixels(ax, patch, left, top, 0.2)
        ax.text(left + 0.92, top - 0.5, f"{k + 1}", fontsize=10, color=GRAY)
    ax.text(6.2, 9.4, f"{N_PATCHES} patches {PATCH} × {PATCH}", ha="center")
    ax.text(8.5, 7.8, f"{PATCH**2} pixels\nin a row, times $W$", va="center")
    arrow(ax, (6.2, 6.05), (6.2, 5.25))
    for k in range(N_PATCHES + 1):
        left = 0.6 + k * step
        color = CLS if k == 0 else INK
        cell = Rectangle((left, 4.2), 0.8, 0.8, fc="#F4F4F4", ec=color, lw=1.5)
        ax.add_patch(cell)
        name = "CLS" if k == 0 else f"{k}"
        label(ax, left + 0.4, 4.6, name, color=color)
        label(ax, left + 0.4, 3.75, f"$+e_{k}$", color=POSITION)
        arrow(ax, (left + 0.4, 3.45), (left + 0.4, 2.9))
    ax.text(10.6, 4.6, "tokens", va="center", ha="left")  # the row's name, right of it
    ax.text(10.6, 3.75, "positions", va="center", ha="left", color=POSITION)
    box(ax, 5.5, 2.35, 9.8, 0.9, fc="#EFEDF5", lw=1, rounding=0.1)
    label(ax, 5.5, 2.35, "$L$ blocks: every token attends to every token")
    arrow(ax, (1.0, 1.85), (1.0, 1.1), color=CLS)
    ax.text(1.4, 0.75, "norm, one linear map, softmax:", va="center", ha="left")
    ax.text(6.6, 0.75, "seven", va="center", ha="left", color=CLS, weight="bold")
    label(ax, 1.0, 0.75, "CLS", color=CLS)
    ax.set(xlim=(0, 12.4), ylim=(0.4, 9.9))
    ax.set_axis_off()
    return figure


if __name__ == "__main__":
    save_figures(tokens)
