"""The pages of a built site, for what repairs them after the build."""

from collections.abc import Callable, Mapping
from pathlib import Path


def read_pages(out: Path) -> dict[Path, str]:
    """Read them all; not the theme's templates, which lie among the static files."""
    static = out / "_static"
    paths = (path for path in out.rglob("*.html") if static not in path.parents)
    return {path: path.read_text("utf-8") for path in paths}


def rewrite(pages: Mapping[Path, str], change: Callable[[Path, str], str]) -> None:
    """Write each page anew that `change`, given its path and text, makes another."""
    for path, before in pages.items():
        if (page := change(path, before)) != before:
            path.write_text(page, "utf-8")
