"""The scripts of the drawings, loaded as modules: they stand beside the book's text."""

import importlib.util
from pathlib import Path
from types import ModuleType

FIGURES = Path(__file__).parents[2] / "book" / "figures"


def load(name: str) -> ModuleType:
    """Import `book/figures/<name>.py` without drawing anything."""
    spec = importlib.util.spec_from_file_location(
        f"{name}_figures", FIGURES / f"{name}.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
