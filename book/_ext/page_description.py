"""What a page says of itself to search engines and in previews.

sphinxext-opengraph takes the first words of a page, whatever they are: names of tabs,
TeX. This extension hands it the first sentences of the first paragraph instead, up to
the first formula. The line of minutes under the title is none of them.
"""

import html
import re
from typing import Any

from docutils import nodes
from page_measures import MINUTES
from sphinx.application import Sphinx

LIMIT = 200
SENTENCE = re.compile(r"[.?!…](?=\s|$)")


def shorten(text: str, limit: int = LIMIT) -> str:
    """Cut a text after its last whole sentence, or else its last whole word.

    Args:
        text: One paragraph.
        limit: The most characters to keep.
    """
    if len(text) <= limit:
        return text
    ends = [match.end() for match in SENTENCE.finditer(text[: limit + 1])]
    if ends and ends[-1] <= limit:
        return text[: ends[-1]]
    return text[: limit - 2].rpartition(" ")[0] + " …"


def describe(document: nodes.document) -> str | None:
    """Find the first sentences of a page, without formulas.

    Returns:
        The description, or None if the page starts with none.
    """
    for paragraph in document.findall(nodes.paragraph):
        if not isinstance(paragraph.parent, nodes.section):
            continue
        if MINUTES.match(paragraph.astext()):
            continue
        text = ""
        for child in paragraph.children:
            if isinstance(child, nodes.math) or list(child.findall(nodes.math)):
                ends = [match.end() for match in SENTENCE.finditer(text)]
                text = text[: ends[-1]] if ends else ""
                break
            text += child.astext()
        text = " ".join(text.split())
        if text:
            return shorten(text)
    return None


def add_description(
    _app: Sphinx,
    _page: str,
    _template: str,
    context: dict[str, Any],
    document: nodes.document | None,
) -> None:
    """Put the description into a page's head, unless its author gave one."""
    text = describe(document) if document is not None else None
    if not text or 'name="description"' in context["metatags"]:
        return
    words = html.escape(text)
    context["meta"] = {**(context.get("meta") or {}), "og:description": words}
    context["metatags"] += f'\n<meta name="description" content="{words}" />'


def setup(app: Sphinx) -> dict[str, Any]:
    """Come before opengraph, which looks for a description in the head."""
    app.connect("html-page-context", add_description, priority=400)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
