"""Names of the package in code lead to their reference: `ct.GPT`, `data.grammar`.

What a name stands for is read from the imports of its page, without running anything. A
name that the page itself defines, and what has no reference, stay as they are.
"""

import html
import re
from pathlib import Path
from typing import Any

from api_names import Names, page_code
from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

BLOCK = re.compile(
    r'(<div class="highlight-(?:ipython3|python3?) .*?<pre>)(.*?)</pre>', re.S
)
# A name and its attributes, as Pygments writes them: each in a span of its own.
DOTTED = re.compile(
    r'<span class="nn?">[\w.]+</span>'
    r'(?:<span class="o">\.</span><span class="\w+">\w+</span>)*'
)
LITERAL = re.compile(r"[a-z_]+(?:\.\w+)+")


def target(app: Sphinx, docname: str, full: str | None) -> str | None:
    """Give the address of a name's reference, from a page."""
    found = app.env.get_domain("py").data["objects"].get(full) if full else None
    if not found or found.docname == docname:
        return None
    return f"{app.builder.get_relative_uri(docname, found.docname)}#{found.node_id}"


def names_of(app: Sphinx, docname: str) -> Names:
    """Read what the names on a page mean."""
    text = Path(app.env.doc2path(docname)).read_text("utf-8")
    return Names(Path(app.srcdir), page_code(text))


def link_words(app: Sphinx, document: nodes.document, docname: str) -> None:
    """Link names that stand as code in a sentence, but not in a link or a title."""
    names = None
    for literal in list(document.findall(nodes.literal)):
        above = literal.parent
        written = LITERAL.match(literal.astext())
        if written is None or isinstance(
            above, nodes.reference | nodes.title | addnodes.pending_xref
        ):
            continue
        names = names or names_of(app, docname)
        if uri := target(app, docname, names.find(written[0])):
            link = nodes.reference("", "", refuri=uri, internal=True, classes=["api"])
            literal.replace_self(link)
            link += literal


def link_code(
    app: Sphinx, docname: str, _template: str, context: dict[str, Any], tree: Any
) -> None:
    """Link names in the highlighted code of a page that is about to be written."""
    if tree is None or "highlight-" not in context.get("body", ""):
        return
    names = names_of(app, docname)

    def link(match: re.Match[str]) -> str:
        written = re.sub(r"<[^>]*>", "", match[0])
        uri = target(app, docname, names.find(written))
        return (
            f'<a class="api" href="{html.escape(uri)}">{match[0]}</a>'
            if uri
            else match[0]
        )

    def block(match: re.Match[str]) -> str:
        return f"{match[1]}{DOTTED.sub(link, match[2])}</pre>"

    context["body"] = BLOCK.sub(block, context["body"])


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect to the pages that are about to be written."""
    app.connect("doctree-resolved", link_words)
    app.connect("html-page-context", link_code)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
