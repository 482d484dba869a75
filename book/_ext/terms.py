"""The first use of a term on a page leads to the glossary.

The terms are those of the list in `book/appendices/words.md`: a line with a term and
its other forms, then a definition that ends with links to where it is taught. There it
isn't linked, nor where it is bold. Titles, captions, code and links stay as they are.
"""

import re
from pathlib import Path
from typing import Any, NamedTuple

from docutils import nodes
from left_out import find_labels
from sphinx.application import Sphinx

GLOSSARY = "appendices/words"
LISTS = re.compile(r"\b(?:api|references)\b")  # pages of names and titles
ENTRY = re.compile(r"^(\w.*)\n: (.*(?:\n  .*)*)", re.MULTILINE)
HOME = re.compile(r"\]\((?:#([\w-]+)|\.\./([\w/-]+)\.md)\)")


class Term(NamedTuple):
    """An entry: how it is written, its id, and the pages that teach it."""

    written: re.Pattern[str]
    place: str
    homes: set[str]


def read_terms(folder: str | Path) -> list[Term]:
    """Read the entries of the glossary; no glossary, no terms."""
    path = Path(folder, "book", f"{GLOSSARY}.md")
    if not path.exists():
        return []
    pages = tuple(sorted(Path(folder, "book").rglob("*.md")))
    labels = {name: page.stem for name, page in find_labels(pages).items()}
    terms = []
    for written, definition in ENTRY.findall(path.read_text("utf-8")):
        forms = "|".join(map(re.escape, written.split(", "))).replace(r"\ ", r"\s")
        pattern = re.compile(rf"(?<![\w-])(?:{forms})s?(?![\w-])", re.IGNORECASE)
        taught = HOME.findall(definition)
        homes = {labels.get(label) or Path(page).stem for label, page in taught}
        terms.append(Term(pattern, nodes.make_id(f"term-{written}"), homes))
    return terms


def link_terms(app: Sphinx, document: nodes.document, docname: str) -> None:
    """Link the first use of each term on a page; in the glossary, give each its id."""
    if docname.endswith(GLOSSARY):
        for entry in document.findall(nodes.term):
            entry["ids"].append(nodes.make_id(f"term-{entry.astext()}"))
        return
    glossary = next((n for n in app.env.found_docs if n.endswith(GLOSSARY)), None)
    if glossary is None or LISTS.search(docname) or app.builder.format != "html":
        return
    bold = [node.astext() for node in document.findall(nodes.strong)]
    left = [
        term
        for term in app.config.terms
        if Path(docname).name not in term.homes
        and not any(term.written.search(words) for words in bold)
    ]
    uri = app.builder.get_relative_uri(docname, glossary)
    paragraphs = list(document.findall(nodes.paragraph))
    texts = [t for p in paragraphs for t in p.children if isinstance(t, nodes.Text)]
    while texts:
        text = texts.pop(0)
        found = [(m.start(), m, t) for t in left if (m := t.written.search(text))]
        if not found:
            continue
        _, match, term = min(found, key=lambda place: place[0])
        left.remove(term)
        link = nodes.reference(
            "", match[0], refuri=f"{uri}#{term.place}", internal=True
        )
        link["classes"].append("term")
        after = nodes.Text(text[match.end() :])
        text.parent.replace(text, [nodes.Text(text[: match.start()]), link, after])
        texts.insert(0, after)


def setup(app: Sphinx) -> dict[str, Any]:
    """Read the glossary; connect to the pages that are about to be written."""
    app.add_config_value("terms", read_terms(app.confdir), "html")
    app.connect("doctree-resolved", link_terms)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
