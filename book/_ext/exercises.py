"""Exercises that a screen reader can jump to, and solutions that fold without a script.

sphinx-exercise writes both as boxes, with titles that are paragraphs, and leaves
folding to a script of sphinx-togglebutton, whose button says only that it toggles
content. Here a solution is the browser's own `details`, which opens by itself when a
link or a search leads into it, and is called after its exercise: "Solution to exercise
13.2". What an exercise is called is a heading (`publishing.py` says so in the page).
"""

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx_exercise.nodes import (
    depart_solution_node,
    solution_node,
    visit_solution_node,
)
from sphinx_exercise.utils import get_node_number

SUMMARY = (
    '<summary class="admonition-title">Solution'
    '<span class="visually-hidden"> to exercise {number}</span></summary>\n'
)


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


def setup(app: Sphinx) -> dict[str, Any]:
    """Take the writing of solutions over from sphinx-exercise, in HTML only."""
    app.setup_extension("sphinx_exercise")
    theirs = visit_solution_node, depart_solution_node
    ours = visit_solution, depart_solution
    app.add_node(solution_node, override=True, html=ours, latex=theirs, singlehtml=ours)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
