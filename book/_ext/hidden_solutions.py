"""A site without solutions, for a class that is to find them.

`show_solutions: false` in `_config.yml` leaves them out of the pages and of the
notebooks that the site offers for download. (`hide_solutions` of sphinx-exercise stops
the build where a solution has a start and an end.) The repository keeps them: a class
that can read it can read them there.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx_exercise.nodes import solution_node

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


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx; the downloads are in place at 500."""
    app.add_config_value("show_solutions", True, "env", [bool])
    app.add_transform(LeaveOutSolutions)
    app.connect("build-finished", strip_downloads, priority=600)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
