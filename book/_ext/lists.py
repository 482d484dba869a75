"""Lists over the whole book: its exercises, its live figures, its traps.

`{list-of} exercises`, `{list-of} live figures` or `{list-of} traps` on any page gives,
page by page in the order of the contents, a link to each. An exercise brings its
difficulty and its minutes from its title, for those who set homework. A trap is a
section under "Where this goes wrong".
"""

import html
import re
from collections.abc import Iterator
from typing import Any, ClassVar

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.docutils import SphinxDirective
from sphinx_exercise.nodes import (
    exercise_enumerable_node,
    exercise_node,
    exercise_subtitle,
)

TRAPS = "Where this goes wrong"
KINDS = ("exercises", "live figures", "traps")
LABEL = re.compile(r'data-label="([^"]*)"')

Found = tuple[str, str]  # the id of a place and its title


class ListOf(nodes.General, nodes.Element):
    """Where a list is to stand, until all pages have been read."""


class ListOfDirective(SphinxDirective):
    """`{list-of} exercises`, or another of the kinds."""

    required_arguments: ClassVar = 1
    final_argument_whitespace: ClassVar = True

    def run(self) -> list[nodes.Node]:
        """Leave a mark; the list comes when all pages have been read."""
        kind = self.arguments[0]
        if kind not in KINDS:
            raise self.error(f"a list is of {', '.join(KINDS)}: got {kind!r}.")
        self.env.metadata[self.env.docname]["has_lists"] = True
        return [ListOf(kind=kind)]


def find_exercises(document: nodes.document) -> Iterator[Found]:
    """List a page's exercises with what their titles say after the number."""
    for node in document.findall(nodes.Element):
        if isinstance(node, exercise_node | exercise_enumerable_node):
            words = [part.astext() for part in node.findall(exercise_subtitle)]
            yield node["ids"][0], " ".join(words) or "Exercise"


def find_live(document: nodes.document) -> Iterator[Found]:
    """List a page's live figures with their labels."""
    for figure in document.findall(nodes.figure):
        for raw in figure.findall(nodes.raw):
            if "explore" in raw and (label := LABEL.search(raw.astext())):
                yield figure["ids"][0], html.unescape(label[1]).removesuffix(", to try")


def find_traps(document: nodes.document) -> Iterator[Found]:
    """List what goes wrong: the sections under the one of that name, or itself."""
    for section in document.findall(nodes.section):
        if section[0].astext() != TRAPS:
            continue
        below = [node for node in section.children if isinstance(node, nodes.section)]
        for node in below or [section]:
            yield node["ids"][0], node[0].astext()


def collect(app: Sphinx, document: nodes.document) -> None:
    """After a page has been read: remember what it has of each kind."""
    finders = (find_exercises, find_live, find_traps)
    app.env.metadata[app.env.docname]["lists"] = {
        kind: list(find(document)) for kind, find in zip(KINDS, finders, strict=True)
    }


def link(app: Sphinx, start: str, page: str, place: str, words: str) -> nodes.paragraph:
    """Make a link from one page to a place on another."""
    address = app.builder.get_relative_uri(start, page) + (f"#{place}" if place else "")
    text = nodes.reference("", "", nodes.Text(words), internal=True, refuri=address)
    return nodes.paragraph("", "", text)


def fill_in(app: Sphinx, document: nodes.document, page: str) -> None:
    """Before a page is written: put the lists where they are asked for."""
    for mark in list(document.findall(ListOf)):
        rows = nodes.bullet_list()
        for other in app.env.collect_relations():  # in the order of the contents
            found = app.env.metadata[other].get("lists", {}).get(mark["kind"], [])
            if not found:
                continue
            places = nodes.bullet_list()
            for place, words in found:
                places += nodes.list_item("", link(app, page, other, place, words))
            title = app.env.titles[other].astext()
            rows += nodes.list_item("", link(app, page, other, "", title), places)
        mark.replace_self(rows)


def always_again(_app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Write pages with lists again whenever any page was read."""
    return [page for page, data in env.metadata.items() if data.get("has_lists")]


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive and its steps."""
    app.add_node(ListOf)
    app.add_directive("list-of", ListOfDirective)
    app.connect("doctree-read", collect)
    app.connect("env-updated", always_again)
    app.connect("doctree-resolved", fill_in, priority=400)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
