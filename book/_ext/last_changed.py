"""When a page was last changed, under it: the date of its last commit.

The theme writes the line. Git is asked once for all pages. Without git, or of a copy
that has only a part of the history (whose oldest commit seems to have changed all that
there is), no page gets one.
"""

import subprocess
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx


def git(root: Path, *arguments: str) -> str | None:
    """Ask git; if it can't answer, or isn't there, nothing."""
    command = ["git", "-C", str(root), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout


@cache
def read_dates(root: Path) -> dict[str, date]:
    """Find when each page's source was last changed, by its path."""
    if (git(root, "rev-parse", "--is-shallow-repository") or "").strip() != "false":
        return {}
    told = git(
        root, "log", "--format=%x00%cs", "--name-only", "--relative", "--", "*.md"
    )
    dates: dict[str, date] = {}
    for commit in (told or "").split("\0")[1:]:  # the last one comes first
        day, *paths = commit.split("\n")
        for path in filter(None, paths):
            dates.setdefault(path, date.fromisoformat(day))
    return dates


def add_date(
    app: Sphinx, page: str, _template: str, context: dict[str, Any], _tree: Any
) -> None:
    """Tell the theme a page's date."""
    day = read_dates(Path(app.srcdir)).get(f"{page}.md")
    if day:
        context["last_updated"] = f"{day:%B} {day.day}, {day.year}"


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect to the pages that are about to be written."""
    app.connect("html-page-context", add_date)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
