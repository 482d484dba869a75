"""Read a master, and write for one framework the notebook that otter-grader reads.

A master has cells for both frameworks. Raw cells mark where a question begins and ends,
in otter's own syntax, with keys of ours: `exercise` or `rubric`, and `minutes`.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_raw_cell

from course_lib.homework import CHALLENGES

WINGS = {"torch": "PyTorch", "nnx": "Flax NNX"}
SETUP = """\
import os
import sys

os.environ["JAX_PLATFORMS"] = "cpu"  # these models are small: a GPU would only wait
if "google.colab" in sys.modules:
    %pip install -q "course_lib[{wing},data] @ git+{repository}"

WING = "{wing}"  # the framework of this notebook"""
HAND_IN = """\
## Hand in

Choose *Restart kernel and run all cells*, save, and hand in this notebook under your
name, as in `ada.ipynb`. What your cells print is not marked. Your functions and classes
are called again, on other data than here, in a process of their own with limits on time
and memory. A cell that fails doesn't keep the others from being marked."""
PUBLIC = """\
def test_here({name}, WING):
    from course_lib.homework import check
    report = check({name}, "{exercise}", wing=WING)
    assert {passed}, report"""
HIDDEN = """\
def test_in_the_sandbox():
    raise AssertionError("The points come from the sandbox, by a plugin of otter's.")"""


@dataclass
class Question:
    """A question: its options, its cells, and for an open one the model answer."""

    options: dict[str, Any]
    cells: list[NotebookNode] = field(default_factory=list)
    answer: list[NotebookNode] = field(default_factory=list)

    @property
    def by_hand(self) -> bool:
        """Whether it is marked by hand, by a rubric."""
        return "rubric" in self.options


def edge(cell: NotebookNode) -> tuple[str, dict[str, Any]]:
    """Which block a raw cell begins or ends, "" for other cells, and its options."""
    first, _, rest = cell.source.partition("\n")
    if cell.cell_type != "raw" or not first.startswith("# "):
        return "", {}
    return first.removeprefix("# ").strip(), yaml.safe_load(rest) or {}


def parse(
    cells: Iterable[NotebookNode], wing: str
) -> Iterator[Question | NotebookNode]:
    """The questions of a master, and what stands between them, for one framework."""
    question, answering = None, False
    for cell in cells:
        tags = set(cell.metadata.pop("tags", ()))
        if tags & set(WINGS) and wing not in tags:
            continue
        kind, options = edge(cell)
        if kind == "BEGIN QUESTION":
            question = Question(options)
        elif kind == "END QUESTION" and question is not None:
            yield question
            question = None
        elif kind in ("BEGIN SOLUTION", "END SOLUTION"):
            answering = kind == "BEGIN SOLUTION"
        elif question is None:
            yield cell
        else:
            (question.answer if answering else question.cells).append(cell)


def block(kind: str, **options: Any) -> NotebookNode:
    """A raw cell in which otter reads where a block begins or ends."""
    return new_raw_cell(f"# {kind}\n{yaml.safe_dump(options) if options else ''}")


def tests(question: dict[str, Any]) -> Iterator[NotebookNode]:
    """A public test, for no points, and one that stands for what the sandbox gives."""
    passed = "report.score" if question["exercise"] in CHALLENGES else "report"
    yield as_test(0, PUBLIC.format(**question, passed=passed))
    yield as_test(question["points"], HIDDEN, hidden=True)


def as_test(points: float, text: str, *, hidden: bool = False) -> NotebookNode:
    """A cell in which otter reads a test."""
    config = yaml.safe_dump({"points": points, "hidden": hidden})
    return new_code_cell(
        f'"""# BEGIN TEST CONFIG\n{config}"""# END TEST CONFIG\n{text}'
    )


def render(question: Question, number: int) -> list[NotebookNode]:
    """The cells of a question as otter reads them, and a cell that checks it."""
    options = question.options
    name, points = options["name"], options["points"]
    about = f" · {points} points · {options['minutes']} minutes"
    question.cells[0].source = re.sub(
        "^## (.*)", rf"## Question {number}: \1{about}", question.cells[0].source
    )
    if question.by_hand:
        begin = block("BEGIN QUESTION", name=name, points=points, manual=True)
        text, solution, marks, checks = question.cells, question.answer, [], []
    else:
        begin = block("BEGIN QUESTION", name=name, check_cell=False)
        text = [c for c in question.cells if c.cell_type != "code"]
        solution = [c for c in question.cells if c.cell_type == "code"]
        marks = list(tests(options))
        marks = [block("BEGIN TESTS"), *marks, block("END TESTS")]
        checks = [new_code_cell(f'check({name}, "{options["exercise"]}", wing=WING)')]
    solution = [block("BEGIN SOLUTION"), *solution, block("END SOLUTION")]
    return [begin, *text, *solution, *marks, block("END QUESTION"), *checks]


def compose(
    parts: list[Question | NotebookNode],
    name: str,
    wing: str,
    repository: str,
    site: str,
) -> list[NotebookNode]:
    """The cells of a notebook that otter reads.

    Args:
        parts: As from `parse`.
        name: Of the notebook; otter refuses others.
        wing: "torch" or "nnx".
        repository: Where Colab finds the package.
        site: Where links to the book's pages lead.

    Returns:
        The cells of the master, and what all assignments share.
    """
    questions = [part for part in parts if isinstance(part, Question)]
    config = block(
        "ASSIGNMENT CONFIG",
        name=name,
        init_cell=False,  # nothing of otter in the notebook: Colab has none
        export_cell=False,
        requirements=[f"course_lib[{wing},data] @ git+{repository}"],
        tests={"ok_format": False},
        python_version="3.11",
    )
    setup = new_code_cell(SETUP.format(wing=wing, repository=repository))
    cells = []
    for part in parts:
        if isinstance(part, Question):
            cells += render(part, questions.index(part) + 1)
            continue
        cells += [setup] if part.cell_type == "code" and setup not in cells else []
        cells.append(part)
    points, minutes = (
        sum(q.options[key] for q in questions) for key in ("points", "minutes")
    )
    about = f"*{WINGS[wing]} · {points} points · about {minutes / 60:.1f} hours*"
    cells[0].source = re.sub(r"^(# .*)", rf"\1\n\n{about}", cells[0].source, count=1)
    for cell in cells:
        if cell.cell_type == "markdown":
            page = rf"]({site.rstrip('/')}/\1.html"
            cell.source = re.sub(r"\]\(\.\./(book/[^)#]*)\.md", page, cell.source)
    return [config, *cells, new_markdown_cell(HAND_IN)]


def rubric(parts: list[Question | NotebookNode], title: str) -> str:
    """What whoever marks the open questions needs, in Markdown."""
    lines = [f"# {title}: the open questions", ""]
    for part in parts:
        if isinstance(part, Question) and part.by_hand:
            heading = part.cells[0].source.partition("\n")[0]
            name, points = part.options["name"], part.options["points"]
            lines += [f"{heading} (`{name}`, {points} points)", ""]
            lines += [f"- {line}" for line in part.options["rubric"]]
            lines += ["", *(cell.source for cell in part.answer), ""]
    return "\n".join(lines)
