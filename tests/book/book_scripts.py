"""What stands beside the book's text: scripts, stored runs, cells; for tests."""

import dataclasses
import importlib.util
import json
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from safetensors import safe_open

BOOK = Path(__file__).parents[2] / "book"
FIGURES = BOOK / "figures"
sys.path.insert(0, str(FIGURES))  # for what the drawings share
sys.path.insert(0, str(BOOK / "checkpoints"))  # and the commands that store weights


def load(name: str, folder: str = "figures") -> ModuleType:
    """Import `book/<folder>/<name>.py` without drawing or training anything."""
    path = BOOK / folder / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"{name}_{folder}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def stored_run(path: Path) -> dict[str, Any]:
    """How the training went that made a file of weights."""
    with safe_open(path, framework="numpy") as file:
        return json.loads(file.metadata()["history"])


def as_stored(config: Any) -> dict[str, Any]:
    """A config as JSON gives it back."""
    return json.loads(json.dumps(dataclasses.asdict(config)))


def page(slug: str) -> str:
    """The text of a page, in whichever part of the book it stands."""
    (path,) = BOOK.rglob(f"{slug}.md")
    return path.read_text("utf-8")


def cell(chapter: str, words: str) -> str:
    """The code of the chapter's one cell that holds these words."""
    text = page(chapter)
    cells = re.findall(r"```\{code-cell\} ipython3\n(.*?)\n```", text, re.DOTALL)
    (found,) = (cell for cell in cells if words in cell)
    return found
