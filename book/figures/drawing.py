"""What the drawings share: boxes, arrows, cells, labels, and how they are saved.

Each script of this folder draws what no cell of a page does. Letters are those of the
pages, and become outlines, with the words beside them as comments; the same code writes
the same bytes. The ground is transparent, and a page turns a drawing's colors by night.
"""

import inspect
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from fontTools.ttLib import TTFont
from fontTools.varLib.instancer import instantiateVariableFont
from matplotlib import font_manager
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch, Rectangle
from matplotlib.text import Text

from course_lib import plot

INK, GRAY = plot.COLORS["black"], plot.COLORS["gray"]

FONTS = Path(__file__).resolve().parents[1] / "_static" / "fonts"
FAMILY = "Source Serif 4"
FORMS = (("", 400), ("", 700), ("-italic", 400))
# Letters of this face are smaller, at a size, than those that the sizes are meant for.
LARGER = 1.15
# A phone gives letters 12 pixels (light_pages.py); no drawing gets wider than 500.
LEAST = 12 * 72 / 500  # points an inch of the drawing's width

Point = tuple[float, float]


@cache
def add_letters() -> None:
    """Give matplotlib the face of the pages, in the format and the weights it reads."""
    folder = Path(mpl.get_cachedir())
    for form, weight in FORMS:
        font = TTFont(FONTS / f"source-serif-4{form}.woff2")
        font = instantiateVariableFont(font, {"wght": weight})
        font.flavor = None
        name = f"{FAMILY}{form}-{weight}".replace(" ", "")
        # By this name a drawing tells the letters of its fonts apart.
        font["name"].setName(name, 6, 3, 1, 0x409)
        font.save(folder / f"{name}.ttf")
        found = font_manager.get_font(str(folder / f"{name}.ttf"))
        style = "italic" if form else "normal"
        entry = replace(
            font_manager.ttfFontProperty(found), name=FAMILY, weight=weight, style=style
        )
        font_manager.fontManager.ttflist.append(entry)


def use_letters() -> None:
    """Write in the face of the pages, formulas too.

    What it lacks, such as Greek and arrows, comes from matplotlib's own fonts.
    """
    add_letters()
    plt.rc("font", family=[FAMILY, "DejaVu Sans"])
    plt.rc("mathtext", fontset="custom", fallback="stix")
    plt.rc("mathtext", it=f"{FAMILY}:italic", bf=f"{FAMILY}:bold")
    plt.rc("mathtext", **dict.fromkeys(("cal", "rm", "sf", "tt"), FAMILY))


def save_figures(*drawings: Callable[[], Figure]) -> None:
    """Write each drawing beside its script, as `<script>-<function>.svg`."""
    plot.use_style()
    use_letters()
    for draw in drawings:
        script = Path(inspect.getfile(draw))
        slug = script.stem.replace("_", "-")
        mpl.rcParams["svg.hashsalt"] = slug
        path = script.with_name(f"{slug}-{draw.__name__}.svg")
        figure = draw()
        figure.draw_without_rendering()  # which makes the labels of the axes
        least = LEAST * figure.get_size_inches()[0]
        for text in figure.findobj(Text):
            text.set_fontsize(max(LARGER * float(text.get_fontsize()), least))
        figure.savefig(path, metadata={"Date": None}, transparent=True)
        plt.close(figure)


def label(ax: Axes, x: float, y: float, text: str, **style: Any) -> None:
    """Text centered at (x, y), unless `style` says otherwise."""
    style = {"ha": "center", "va": "center", "color": INK} | style
    ax.text(x, y, text, **style)


def box(
    ax: Axes,
    x: float,
    y: float,
    width: float,
    height: float,
    text: str = "",
    *,
    fc: Any = "white",
    ec: Any = INK,
    lw: float = 1.6,
    rounding: float = 0.12,
    zorder: float = 1,
    **style: Any,
) -> None:
    """A rounded box around (x, y), with its text in the middle in `style`."""
    corner, shape = (x - width / 2, y - height / 2), "round,pad=0,rounding_size="
    patch = FancyBboxPatch(corner, width, height, boxstyle=f"{shape}{rounding}")
    patch.set(fc=fc, ec=ec, lw=lw, zorder=zorder)
    ax.add_patch(patch)
    if text:
        label(ax, x, y, text, **style)


def arrow(
    ax: Axes,
    *points: Point,
    color: Any = INK,
    lw: float = 1.5,
    zorder: float = 1,
) -> None:
    """A line through the points with a head at its end."""
    if len(points) > 2:
        ax.plot(*zip(*points[:-1], strict=True), color=color, lw=lw, zorder=zorder)
    patch = FancyArrowPatch(*points[-2:], arrowstyle="-|>", shrinkA=0, shrinkB=0)
    patch.set(mutation_scale=12, color=color, lw=lw, zorder=zorder)
    ax.add_patch(patch)


def cells(
    ax: Axes,
    left: float,
    top: float,
    colors: Iterable[Iterable[Any]],
    *,
    width: float = 1,
    height: float = 1,
    ec: Any = "white",
    lw: float = 1,
) -> None:
    """A matrix, one color a cell, its upper left corner at (left, top)."""
    for i, row in enumerate(colors):
        for j, color in enumerate(row):
            corner = left + j * width, top - (i + 1) * height
            ax.add_patch(Rectangle(corner, width, height, fc=color, ec=ec, lw=lw))


def shade(color: Any, share: float) -> tuple[float, ...]:
    """A color between white (share 0) and itself (share 1)."""
    return tuple(1 - share * (1 - np.array(to_rgb(color))))


def matrix(
    ax: Axes,
    left: float,
    top: float,
    colors: Any,
    name: str,
    shape: str = "",
    *,
    lw: float = 1,
    **style: Any,
) -> None:
    """A matrix of colored cells, its name above in `style`, its shape below."""
    cells(ax, left, top, colors, lw=lw)
    middle, bottom = left + len(colors[0]) / 2, top - len(colors)
    label(ax, middle, top + 0.3, name, va="bottom", **style)
    if shape:
        label(ax, middle, bottom - 0.3, shape, va="top", color=GRAY, fontsize=11)


def sign(ax: Axes, x: float, y: float, text: str) -> None:
    """An operator between two matrices, such as × or =."""
    label(ax, x, y, text, fontsize=13)
