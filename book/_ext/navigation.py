"""The road: where one goes from a page, how far one is, and numbers that start anew.

Sphinx walks through all pages in the order of the table of contents. A reader walks
along the road, whose pages are the chapters there; a page in depth, under a chapter, is
a detour. So:

- *next* and *previous* follow the road. On a detour *previous* goes back to the page
  that it hangs from, and *next* to the one that follows on the road. Both say how long
  that page takes;
- figures, tables and equations are numbered page by page, since the sidebar shows a
  road and no chapters that a number could stand in;
- the directive `{road}` is the map: a list of all pages with their minutes, a part
  under its name, and detours under the page that they hang from.
"""

import html
import sys
from collections.abc import Iterable
from copy import deepcopy
from pathlib import Path
from typing import Any

import yaml
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.docutils import SphinxDirective

sys.path.append(str(Path(__file__).resolve().parents[1] / "tools"))

from limits import TITLE, find_road_sign

TWIN = "-nnx"  # at the end of the name of a figure that PyTorch's tab has, too
LISTS = {"Appendices"}  # parts to look things up in: not on the map


class Road(SphinxDirective):
    """The map of the road, from the table of contents and what its pages say."""

    def run(self) -> list[nodes.Node]:
        """Make one list a part."""
        root = Path(self.env.srcdir)
        contents = yaml.safe_load((root / "_toc.yml").read_text("utf-8"))
        self.env.note_dependency(str(root / "_toc.yml"))
        parts = [part for part in contents["parts"] if part["caption"] not in LISTS]
        road = nodes.container(classes=["road"])
        for part in parts:
            stops, minutes = self.stops(part["chapters"], root)
            name = nodes.paragraph("", part["caption"], classes=["part"])
            if part is parts[0]:
                name += nodes.inline("", f"{minutes} minutes", classes=["minutes"])
            road += nodes.container("", name, stops, classes=["way"])
        return [road]

    def stops(self, entries: list[Any], root: Path) -> tuple[nodes.bullet_list, int]:
        """List pages, each with those under it, and add the minutes of the first."""
        stops, all_minutes = nodes.bullet_list(classes=["stops"]), 0
        for entry in entries:
            path = root / f"{entry['file']}.md"
            self.env.note_dependency(str(path))
            text = path.read_text("utf-8")
            title, sign = TITLE.search(text), find_road_sign(text)
            minutes = sign["minutes"].partition(" ")[0] if sign else ""
            all_minutes += int(minutes or 0)
            link = self.env.app.builder.get_relative_uri(
                self.env.docname, entry["file"]
            )
            words = title[0].strip("# \n") if title else path.stem
            stop = nodes.paragraph(
                "", "", nodes.reference("", words, refuri=link, internal=True)
            )
            stop += nodes.inline("", minutes, classes=["minutes"])
            below = entry.get("sections", [])
            stops += nodes.list_item(
                "", stop, *self.stops(below, root)[:1] * bool(below)
            )
        return stops, all_minutes


def neighbors(site_map: Any) -> dict[str, tuple[str | None, str | None, bool]]:
    """Give each page's previous and next one, and whether it is a detour."""
    road = [site_map.root.docname]
    below: dict[str, str] = {}

    def descend(page: str, top: str) -> None:
        for child in site_map[page].child_files():
            below[child] = top
            descend(child, top)

    for top in site_map.root.child_files():
        road.append(top)
        descend(top, top)
    after = dict(zip(road, [*road[1:], None], strict=True))
    before = dict(zip(road[1:], road, strict=False))
    found = {page: (before.get(page), after[page], False) for page in road}
    return found | {page: (top, after[top], True) for page, top in below.items()}


def number_by_page(app: Sphinx, env: BuildEnvironment) -> Iterable[str]:
    """After all pages are read: count each page's figures and equations from 1.

    `fig-x-nnx`, in its tab, is the same figure as `fig-x`.
    """
    vars(env)["numbers_of_the_book"] = deepcopy(env.toc_fignumbers)
    for kinds in env.toc_fignumbers.values():
        for numbers in kinds.values():
            twins = {n: n.removesuffix(TWIN) for n in numbers if n.endswith(TWIN)}
            in_order = sorted(numbers.keys() - twins.keys(), key=numbers.__getitem__)
            numbers.update({name: (n,) for n, name in enumerate(in_order, 1)})
            numbers.update({name: numbers[twin] for name, twin in twins.items()})
    return []


def number_through(app: Sphinx, env: BuildEnvironment, changed: list[str]) -> None:
    """Before pages are read: Sphinx gets its own numbers, or it writes all anew."""
    env.toc_fignumbers = getattr(env, "numbers_of_the_book", env.toc_fignumbers)


def lead(
    app: Sphinx, pagename: str, template: str, context: dict[str, Any], tree: Any
) -> None:
    """Before a page is written: set what *previous* and *next* lead to."""
    roads = neighbors(vars(app.env)["external_site_map"])
    if pagename not in roads:
        return
    *ends, detour = roads[pagename]
    for name, page in zip(("prev", "next"), ends, strict=True):
        context[name] = None
        if page in app.env.titles:
            title = html.escape(app.env.titles[page].astext())
            back = "Back to " if detour and name == "prev" else ""
            sign = find_road_sign(Path(app.env.doc2path(page)).read_text("utf-8"))
            time = f" · {sign['minutes'].partition(',')[0]}" if sign else ""
            link = context["pathto"](page)
            context[name] = {"link": link, "title": f"{back}{title}{time}"}


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect each measure to its moment in the build."""
    app.add_directive("road", Road)
    app.connect("env-before-read-docs", number_through)
    app.connect("env-get-updated", number_by_page, priority=900)
    app.connect("html-page-context", lead)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
