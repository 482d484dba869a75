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
