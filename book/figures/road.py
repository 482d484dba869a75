"""The road through the book: what follows on what, and how long each page takes.

    python book/figures/road.py

writes road-ways.svg beside this file, from the table of contents and the minutes
under each title.
"""

import re
from pathlib import Path
from typing import NamedTuple

import drawing
import matplotlib.pyplot as plt
import yaml
from drawing import GRAY, INK, label, save_figures
from matplotlib.figure import Figure

from course_lib import plot

ROOT = Path(drawing.__file__).resolve().parents[2]

ECONOMIST = {
    "peers",
    "identification",
    "forecasting",
    "forecasting-macro",
    "text-as-data",
}
ENGINEER = {
    "modern-block",
    "kv-cache",
    "serving",
    "long-sequences",
    "efficient-attention",
    "experts",
    "budget",
    "quantization",
    "pretrained",
    "sentence-vectors",
    "scale",
}
COLORS = {
    "the weekend": INK,
    "an economist's way": plot.COLORS["blue"],
    "an engineer's way": plot.COLORS["vermillion"],
    "at leisure": plot.COLORS["gray"],
}


class Stop(NamedTuple):
    """A page: its slug, title and minutes, and the optional pages beside it."""

    slug: str
    title: str
    minutes: str
    optional: bool
    beside: list["Stop"]


def read_stop(entry: dict) -> Stop:
    """Read a page, and those under it, from an entry of the table of contents."""
    path = ROOT / f"{entry['file']}.md"
    text = path.read_text("utf-8")
    title = re.search(r"^# (.+)$", text, re.MULTILINE)
    minutes = re.search(r"^\*(?:Optional · )?(\d+) minutes", text, re.MULTILINE)
    return Stop(
        slug=path.stem,
        title=title[1] if title else path.stem,
        minutes=minutes[1] if minutes else "",
        optional=bool(minutes) and "Optional" in minutes[0],
        beside=[read_stop(section) for section in entry.get("sections", [])],
    )


def way_of(slug: str) -> str:
    """Which way through the book a page beside the weekend belongs to."""
    if slug in ECONOMIST:
        return "an economist's way"
    return "an engineer's way" if slug in ENGINEER else "at leisure"


def ways() -> Figure:
    """One line for the weekend, the first part, with the other pages beside it."""
    parts = yaml.safe_load((ROOT / "_toc.yml").read_text("utf-8"))["parts"]
    parts = [part for part in parts if part["caption"] != "Appendices"]
    figure, ax = plt.subplots(figsize=(5.2, 0))
    y, last, side = 0.0, None, 0.62
    for part in parts:
        y -= 0.95
        label(ax, 1.25, y, part["caption"], ha="left", color=GRAY, style="italic")
        for stop in (read_stop(entry) for entry in part["chapters"]):
            y -= 0.95
            main = part is parts[0] and not stop.optional
            color = INK if main else COLORS[way_of(stop.slug)]
            x = 0.0 if main else side
            if main and last is not None:
                ax.plot([0, 0], [last, y], color=INK, lw=4, zorder=1)
            elif last is not None:
                bend = [last, last - 0.45, y]
                ax.plot([0, side, side], bend, color="#BBBBBB", lw=3, zorder=0)
            if main:
                last = y
            ax.plot(x, y, "o", ms=12, mfc="white", mec=color, mew=3, zorder=2)
            weight = "bold" if main else "normal"
            label(ax, 1.25, y, stop.title, ha="left", weight=weight)
            label(ax, 9.4, y, stop.minutes, ha="right")
            for optional in stop.beside:
                y -= 0.62
                style = {"size": 9.5, "color": COLORS[way_of(optional.slug)]}
                label(ax, 1.65, y, optional.title, ha="left", **style)
                label(ax, 9.4, y, optional.minutes, ha="right", **style)
    label(ax, 9.4, 0, "minutes", ha="right", color=GRAY)
    for i, (name, color) in enumerate(COLORS.items()):
        x, row = (0.3, 5.3)[i % 2], y - 1.1 - 0.7 * (i // 2)
        ax.plot(x - 0.3, row, "o", ms=10, mfc="white", mec=color, mew=3)
        label(ax, x + 0.15, row, name, ha="left", size=10)
    bottom = y - 2.4
    figure.set_size_inches(5.2, 0.36 * (0.6 - bottom))
    ax.set(xlim=(-0.4, 9.6), ylim=(bottom, 0.6))
    ax.axis("off")
    return figure


if __name__ == "__main__":
    save_figures(ways)
