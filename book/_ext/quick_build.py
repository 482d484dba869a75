"""What Sphinx and its extensions find out again and again, found out once.

Nothing that is published changes. On the book of 60 pages, 130 of reference and 180 of
source code:

- **The table of contents beside a page of source code** took a third of a build. Such a
  page is not in the table, nor is one of the reference, so that all pages of a folder
  have the same.
- **The file of a module** is looked up in each build, to see whether its page of source
  code is still good. Sphinx imports the module for that, and so both frameworks, to
  show a word that changed elsewhere.
- **A style of citations** is looked up among all installed packages, at each citation.
"""

from functools import cache
from pathlib import Path
from typing import Any

from pybtex import plugin
from pydata_sphinx_theme import toctree
from reference import FOLDER
from sphinx.application import Sphinx
from sphinx.builders.html import StandaloneHTMLBuilder
from sphinx.ext import viewcode

CONTENTS = StandaloneHTMLBuilder._get_local_toctree
NAVIGATE = toctree.add_toctree_functions
MODULE_FILE = viewcode.get_module_filename
FIND_STYLE = cache(plugin._load_entry_point)


def shelf(docname: str) -> tuple[bool, int] | None:
    """Say with which pages one shares its table of contents: those of its folder."""
    if not docname.startswith((f"{viewcode.OUTPUT_DIRNAME}/", f"{FOLDER}/")):
        return None
    return docname.startswith(f"{FOLDER}/"), docname.count("/")


def share_contents(app: Sphinx) -> None:
    """Make the table of contents once for all pages of a folder that aren't in it."""
    builder = app.builder
    if not isinstance(builder, StandaloneHTMLBuilder):
        return
    made: dict[Any, str] = {}

    def contents(docname: str, collapse: bool = True, **kwargs: Any) -> str:
        place = shelf(docname)
        if place is None:
            return CONTENTS(builder, docname, collapse, **kwargs)
        key = place, collapse, *sorted(kwargs.items())
        if key not in made:
            made[key] = CONTENTS(builder, docname, collapse, **kwargs)
        return made[key]

    builder._get_local_toctree = contents


NAVIGATION: dict[Any, Any] = {}  # as the theme makes it of that table


def share_navigation(
    app: Sphinx, page: str, template: str, context: dict[str, Any], tree: Any
) -> None:
    """Have the theme read the table once for all those pages."""
    NAVIGATE(app, page, template, context, tree)
    place, make = shelf(page), context["generate_toctree_html"]

    def shared(kind: str, **kwargs: Any) -> Any:
        key = id(app), place, kind, *sorted(kwargs.items())
        if key not in NAVIGATION:
            NAVIGATION[key] = make(kind, **kwargs)
        return NAVIGATION[key]

    if place is not None:
        context["generate_toctree_html"] = shared


def module_file(app: Sphinx, name: str) -> str | None:
    """Find the file of a module of the package by its name alone."""
    path = Path(app.srcdir, *name.split("."))
    found = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return str(found) if found.is_file() else MODULE_FILE(app, name)


def setup(app: Sphinx) -> dict[str, Any]:
    """Put each in its place."""
    viewcode.get_module_filename = module_file
    toctree.add_toctree_functions = share_navigation
    plugin._load_entry_point = FIND_STYLE
    app.connect("builder-inited", share_contents)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
