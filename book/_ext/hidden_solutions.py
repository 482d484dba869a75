"""A site without solutions, for a class that is to find them.

`show_solutions: false` in `_config.yml` leaves them out of the pages and of the
notebooks that the site offers for download. (`hide_solutions` of sphinx-exercise stops
the build where a solution has a start and an end.) The repository keeps them: a class
that can read it can read them there.
"""

import re
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx_exercise.nodes import solution_node

SOLUTION = re.compile(
    r"^(?P<marks>`{3,}|:{3,})\{solution-(?P<edge>start|end)\}.*?^(?P=marks)[ \t]*$\n?",
    re.MULTILINE | re.DOTALL,
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
    """Remove the solutions of a notebook.

    Args:
        notebook: A chapter, where a solution begins and ends inside of cells of text.

    Returns:
        The same object, with what stands outside of solutions.
    """
    cells, inside = [], False
    for cell in notebook.cells:
        if cell.cell_type != "markdown":
            cells += [] if inside else [cell]
            continue
        kept, end = [], 0
        for edge in SOLUTION.finditer(cell.source):
            kept += [] if inside else [cell.source[end : edge.start()]]
            inside, end = edge["edge"] == "start", edge.end()
        kept += [] if inside else [cell.source[end:]]
        cell.source = "".join(kept).strip("\n")
        cells += [cell] if cell.source else []
    notebook.cells = cells
    return notebook


def strip_downloads(app: Sphinx, exception: Exception | None) -> None:
    """After the build: remove the solutions from what can be downloaded."""
    if exception or app.config.show_solutions:
        return
    for path in Path(app.outdir, "_sources").rglob("*.ipynb"):
        notebook = nbformat.read(path, as_version=nbformat.NO_CONVERT)
        nbformat.write(without_solutions(notebook), path)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx; the downloads are in place at 500."""
    app.add_config_value("show_solutions", True, "env", [bool])
    app.add_transform(LeaveOutSolutions)
    app.connect("build-finished", strip_downloads, priority=600)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
