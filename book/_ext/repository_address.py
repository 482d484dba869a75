"""The repository's address in the text, from the one place where it stands.

A page writes `{{ repository }}`, in a sentence or in a command to copy, and gets the
address that `_config.yml` names: a fork changes one line.
"""

from typing import Any

from sphinx.application import Sphinx

PLACEHOLDER = "{{ repository }}"


def fill_in(app: Sphinx, docname: str, source: list[str]) -> None:
    """Put the address in the place of each placeholder of a page.

    Args:
        app: The build, whose theme options hold the address.
        docname: The page; a chapter's own cells get theirs when they are stored.
        source: The page's text, its only entry, changed in place.
    """
    del docname
    address = app.config.html_theme_options.get("repository_url", "")
    source[0] = source[0].replace(PLACEHOLDER, address.rstrip("/"))


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("source-read", fill_in)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
