"""Exercises, their solutions, a list of them, and a site without solutions.

sphinx-exercise writes both as boxes, with titles that are paragraphs, and leaves
folding to a script of sphinx-togglebutton, whose button says only that it toggles
content. Here a solution is the browser's own `details`, which opens by itself when a
link or a search leads into it, and is called after its exercise: "Solution to exercise
13.2". What an exercise is called is a heading (light_pages.py says so in the page).

`show_solutions: false` in `_config.yml` leaves solutions out of the pages and of the
notebooks that the site offers for download. (`hide_solutions` of sphinx-exercise stops
the build where a solution has a start and an end.) The repository keeps them: a class
that can read it can read them there.

`{list-of} exercises`, `{list-of} live figures` or `{list-of} traps` gives, page by page
in the order of the contents, a link to each. An exercise brings its difficulty and its
minutes from its title. A trap is a section under "Where this goes wrong".
"""

import html
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import nbformat
from docutils import nodes
from nbformat import NotebookNode
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.transforms import SphinxTransform
from sphinx.util.docutils import SphinxDirective
from sphinx_exercise.nodes import (
    depart_solution_node,
    exercise_enumerable_node,
    exercise_node,
    exercise_subtitle,
    solution_node,
    visit_solution_node,
)
from sphinx_exercise.utils import get_node_number

SUMMARY = (
    '<summary class="admonition-title">Solution'
    '<span class="visually-hidden"> to exercise {number}</span></summary>\n'
)
SOLUTION = re.compile(
    r"^(?P<marks>`{3,}|:{3,})\{solution-(?P<edge>start|end)\}[ ]*(?P<label>\S*)"
    r".*?^(?P=marks)[ \t]*$\n?",
    re.MULTILINE | re.DOTALL,
)
EXERCISE = re.compile(
    r"^(?:`{3,}|:{3,})\{exercise-start\}(?P<title>.*)\n"
    r"(?:.*\n)*?:label:[ ]*(?P<label>\S+)",
    re.MULTILINE,
)
TRAPS = "Where this goes wrong"
KINDS = ("exercises", "live figures", "traps")
LABEL = re.compile(r'data-label="([^"]*)"')

Found = tuple[str, str]  # the id of a place and its title


def visit_solution(self: Any, node: nodes.Element) -> None:
    """Open the box; its title is written here, with the exercise's number."""
    node.pop(0)
    exercise = self.builder.env.sphinx_exercise_registry[node["target_label"]]["node"]
    number = get_node_number(self, exercise, "exercise")
    self.body.append(self.starttag(node, "details", CLASS="admonition"))
    self.body.append(SUMMARY.format(number=number))


def depart_solution(self: Any, _node: nodes.Element) -> None:
    """Close the box."""
    self.body.append("</details>\n")


class LeaveOutSolutions(SphinxTransform):
    """Remove each solution, once sphinx-exercise has put it together (10)."""

    default_priority = 11

    def apply(self, **_: Any) -> None:
        """Go through one page."""
        if not self.config.show_solutions:
            for solution in list(self.document.findall(solution_node)):
                solution.parent.remove(solution)


def without_solutions(notebook: NotebookNode) -> NotebookNode:
    """Remove a chapter's solutions, which begin and end inside of cells of text."""
    return _keep(notebook, solutions=False)


def only_solutions(notebook: NotebookNode) -> NotebookNode:
    """Keep a chapter's solutions alone, each under its exercise's title."""
    text = "\n".join(c.source for c in notebook.cells if c.cell_type == "markdown")
    titles = {
        found["label"]: found["title"].strip() for found in EXERCISE.finditer(text)
    }
    return _keep(notebook, solutions=True, titles=titles)


def _keep(
    notebook: NotebookNode, *, solutions: bool, titles: Mapping[str, str] | None = None
) -> NotebookNode:
    """Keep what stands in solutions, or what stands outside of them."""
    cells, inside = [], False
    for cell in notebook.cells:
        if cell.cell_type != "markdown":
            cells += [cell] if inside == solutions else []
            continue
        cell.source, inside = _cut(cell.source, inside, solutions, titles or {})
        cells += [cell] if cell.source else []
    notebook.cells = cells
    return notebook


def _cut(
    text: str, inside: bool, solutions: bool, titles: Mapping[str, str]
) -> tuple[str, bool]:
    """What of a text is kept, and whether it ends inside of a solution."""
    kept, end = [], 0
    for edge in SOLUTION.finditer(text):
        kept += [text[end : edge.start()]] if inside == solutions else []
        inside, end = edge["edge"] == "start", edge.end()
        if inside and edge["label"] in titles:
            kept.append(f"\n## {titles[edge['label']]}\n")
    kept += [text[end:]] if inside == solutions else []
    return "".join(kept).strip("\n"), inside


def strip_downloads(app: Sphinx, exception: Exception | None) -> None:
    """After the build: remove the solutions from what can be downloaded."""
    if exception or app.config.show_solutions:
        return
    for path in Path(app.outdir, "_sources").rglob("*.ipynb"):
        notebook = nbformat.read(path, as_version=nbformat.NO_CONVERT)
        nbformat.write(without_solutions(notebook), path)
    for path in Path(app.outdir, "_sources").rglob("*.md"):
        text, _ = _cut(path.read_text(encoding="utf-8"), False, False, {})
        path.write_text(f"{text}\n", encoding="utf-8")


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
        title = section[0].astext()
        if title.startswith(f"{TRAPS}: "):
            yield section["ids"][0], title.removeprefix(f"{TRAPS}: ").capitalize()
        below = [node for node in section.children if isinstance(node, nodes.section)]
        if title == TRAPS and not any(isinstance(n, ListOf) for n in section.children):
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
    """Take the writing of solutions over from sphinx-exercise, in HTML only; list."""
    app.setup_extension("sphinx_exercise")
    theirs = visit_solution_node, depart_solution_node
    ours = visit_solution, depart_solution
    app.add_node(solution_node, override=True, html=ours, latex=theirs, singlehtml=ours)
    app.add_config_value("show_solutions", True, "env", [bool])
    app.add_transform(LeaveOutSolutions)
    # The downloads are in place at 500.
    app.connect("build-finished", strip_downloads, priority=600)
    app.add_node(ListOf)
    app.add_directive("list-of", ListOfDirective)
    app.connect("doctree-read", collect)
    app.connect("env-updated", always_again)
    app.connect("doctree-resolved", fill_in, priority=400)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
