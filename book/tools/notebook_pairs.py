"""A chapter's two files: the text `<slug>.md` and the notebook `<slug>.ipynb`.

The text is the source. This module says what the notebook beside it must be, byte for
byte: the same cells, the stored outputs, ids that come from content, no metadata that
changes from run to run. That makes "do they still match?" a comparison of strings.
(Jupytext can pair files too, but it goes by modification times, and has thrown edits
away; here it only reads the text.)

It also writes what authors do not: the first cell, which installs the package in Colab
(its address comes from `_config.yml`, so that a fork edits one line), and the number of
minutes under the title.
"""

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jupytext
import nbformat
import yaml
from nbformat import NotebookNode
from page_measures import SETUP_TAG, end_of_head, measure, write_minutes
from provenance import KEY

METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
SETUP_CELL = """\
```{{code-cell}} ipython3
:tags: [remove-cell, {tag}]

import sys

if "google.colab" in sys.modules:
    %pip install -q "course_lib[chapters] @ git+{url}"
```
"""
CODE_CELL = re.compile(
    r"\n?^```\{code-cell\}.*?^```[ \t]*$\n?", re.MULTILINE | re.DOTALL
)
HEADER = re.compile(r"\A---\n(.*?)^---\n", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What the tool reads from `_config.yml`."""

    url: str
    timeout: int


def read_settings(root: Path) -> Settings:
    """Read the repository's address and the time a cell may take.

    Args:
        root: The project's folder, where `_config.yml` stands.

    Raises:
        ValueError: If the repository's address is missing.
    """
    config = yaml.safe_load((root / "_config.yml").read_text("utf-8"))
    url = (config.get("repository") or {}).get("url")
    if not url:
        raise ValueError(
            "_config.yml must name the repository (repository: url): got nothing. "
            "Colab installs the package from there."
        )
    timeout = int((config.get("execute") or {}).get("timeout", 300))
    return Settings(url=url.rstrip("/"), timeout=timeout)


def is_chapter(path: Path) -> bool:
    """Say whether a Markdown file is a notebook: its header names a kernel."""
    header = HEADER.match(path.read_text("utf-8"))
    return header is not None and "kernelspec:" in header[1]


def with_setup_cell(text: str, url: str) -> str:
    """Return a chapter's text with the cell for Colab as it must be.

    Args:
        text: The text of a chapter.
        url: The repository's address.

    Returns:
        The same text, where that cell stands after the title and the line under it.
    """
    cell = SETUP_CELL.format(tag=SETUP_TAG, url=url)
    for match in CODE_CELL.finditer(text):
        if SETUP_TAG in match[0].strip().partition("\n\n")[0]:
            text = text[: match.start()] + text[match.end() :]
            break
    header = HEADER.match(text)
    end = end_of_head(text, header.end() if header else 0)
    return f"{text[:end]}\n{cell}{text[end:]}"


def with_minutes(text: str) -> str:
    """Return a chapter's text with the time that it takes under its title."""
    return write_minutes(text, measure(read_cells(text).cells))


def read_cells(text: str) -> NotebookNode:
    """Read a chapter's text as a notebook without outputs, in its fixed form."""
    notebook = jupytext.reads(text, fmt="md:myst")
    seen: dict[str, int] = {}
    cells: list[NotebookNode] = []
    for cell in notebook.cells:
        content = f"{cell.cell_type}\n{cell.source}"
        digest = hashlib.sha256(content.encode()).hexdigest()[:12]
        seen[digest] = seen.get(digest, 0) + 1
        cell["id"] = digest if seen[digest] == 1 else f"{digest}-{seen[digest]}"
        cells.append(cell)
    metadata = nbformat.from_dict(METADATA)
    return NotebookNode(nbformat=4, nbformat_minor=5, metadata=metadata, cells=cells)


def serialize(notebook: NotebookNode) -> str:
    """Write a notebook as text: sorted keys, one line per line of output."""
    return nbformat.writes(notebook, version=nbformat.NO_CONVERT).rstrip("\n") + "\n"


def code_of(notebook: dict[str, Any]) -> list[tuple[str, bool]]:
    """Give what decides outputs: each code cell's source, and whether it may fail."""
    return [
        (
            "".join(cell["source"]),
            "raises-exception" in cell["metadata"].get("tags", []),
        )
        for cell in notebook["cells"]
        if cell["cell_type"] == "code"
    ]


def is_executed(notebook: dict[str, Any]) -> bool:
    """Say whether every code cell was run, in order, in a fresh kernel."""
    counts = [
        cell.get("execution_count")
        for cell in notebook["cells"]
        if cell["cell_type"] == "code"
    ]
    return counts == list(range(1, len(counts) + 1))


def keep_outputs(fresh: NotebookNode, stored: dict[str, Any]) -> NotebookNode:
    """Carry stored outputs, and whence they are, over into cells with the same code."""
    if KEY in stored["metadata"]:
        fresh.metadata[KEY] = nbformat.from_dict(stored["metadata"][KEY])
    old = (cell for cell in stored["cells"] if cell["cell_type"] == "code")
    for cell in fresh.cells:
        if cell.cell_type == "code":
            before = next(old)
            cell.outputs = nbformat.from_dict(before["outputs"])
            cell.execution_count = before["execution_count"]
    return fresh


@dataclass(frozen=True, kw_only=True)
class Pair:
    """A chapter's two files and how they stand to each other.

    Attributes:
        text_path: The `.md`.
        text: What the `.md` must hold (as it does, but for the cell for Colab and the
            minutes under the title).
        refreshed: The notebook's bytes with the stored outputs, or None if the code
            must be executed first.
        problem: What is wrong, in words, or None.
    """

    text_path: Path
    text: str
    refreshed: str | None
    problem: str | None

    @property
    def notebook_path(self) -> Path:
        """The `.ipynb`."""
        return self.text_path.with_suffix(".ipynb")


def read_pair(text_path: Path, url: str) -> Pair:
    """Read and compare a chapter's two files.

    Args:
        text_path: The chapter's `.md`.
        url: The repository's address.

    Returns:
        The pair, with the first problem found.
    """
    on_disk = text_path.read_text("utf-8")
    with_cell = with_setup_cell(on_disk, url)
    text = with_minutes(with_cell)
    wanted = read_cells(text)
    problem = None
    if with_cell != on_disk:
        problem = "the cell for Colab is missing or outdated"
    elif text != on_disk:
        problem = "the minutes under the title are outdated"
    refreshed = None
    path = text_path.with_suffix(".ipynb")
    if not path.exists():
        problem = "the notebook is missing"
    else:
        raw = path.read_text("utf-8")
        stored = nbformat.reads(raw, as_version=nbformat.NO_CONVERT)
        # The cell for Colab prints nothing: a new address needs no new execution.
        new, old = (
            [c for c in code_of(nb) if "google.colab" not in c[0]]
            for nb in (wanted, stored)
        )
        if new != old or len(code_of(wanted)) != len(code_of(stored)):
            problem = "code cells were edited"
        elif not is_executed(stored):
            problem = "the notebook was not executed from start to end"
        else:
            refreshed = serialize(keep_outputs(read_cells(text), stored))
            if refreshed != raw and problem is None:
                problem = "text, tags or metadata differ"
    return Pair(
        text_path=text_path,
        text=text,
        refreshed=refreshed,
        problem=problem,
    )
