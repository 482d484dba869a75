"""Run a page's own cells, for commands that go on from where it stands."""

from collections.abc import Collection
from pathlib import Path
from typing import Any

import jupytext

BOOK = Path(__file__).resolve().parents[1]


def run_cells(
    page: str, last: str, *, without: Collection[str] = ("nnx",)
) -> dict[str, Any]:
    """Run a page's cells as they stand there, up to one; return their names.

    Args:
        page: Its file in the book, `architectures/gpt.md`.
        last: Words of the last cell that is needed.
        without: Cells with one of these tags are left out.

    Raises:
        ValueError: If no cell has these words.
    """
    names: dict[str, Any] = {}
    for cell in jupytext.read(BOOK / page, fmt="md:myst").cells:
        tags = set(cell.metadata.get("tags", []))
        if cell.cell_type != "code" or {"colab-setup", *without} & tags:
            continue
        exec(cell.source, names)
        if last in cell.source:
            return names
    raise ValueError(f"a cell of {page} must say {last!r}: none does.")


def run_cell(page: str, words: str, names: dict[str, Any]) -> None:
    """Run, among these names, the one cell of a page that holds these words.

    Raises:
        ValueError: If no cell has these words, or several have.
    """
    cells = jupytext.read(BOOK / page, fmt="md:myst").cells
    found = [cell.source for cell in cells if words in cell.source]
    if len(found) != 1:
        raise ValueError(f"one cell of {page} must say {words!r}: {len(found)} do.")
    exec(found[0], names)
