"""Other words for the same thing, so that a search finds what it means.

A reader looks for "skip connection" or "1/sqrt(d)", and the page says *residual
connection* and writes a formula. `book/words.yml` lists, for a page or the label of a
section, what else it is called. Each of these becomes an entry of the index, which
Sphinx's search puts before everything that merely contains the word. What is asked in
more words than one, such as "vit colab", finds the pages that have them all: so the
parts of these words are keywords of their page, and what one can do with a notebook is
one of each notebook's. The directive `{words}` writes the words as a list with links.
"""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, ClassVar

import yaml
from docutils import nodes
from left_out import find_labels, pages_left_out
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx.util.docutils import SphinxDirective
from sphinx.util.logging import getLogger

LOGGER = getLogger(__name__)

Words = dict[str, list[str]]
OF_NOTEBOOKS = ("colab", "notebook")


def read_words(folder: str | Path) -> Words:
    """Read `book/words.yml`: other words for each page or section; none, no words."""
    path = Path(folder, "book", "words.yml")
    return yaml.safe_load(path.read_text("utf-8")) if path.exists() else {}


def words_in(env: Any) -> Words:
    """The other words, without those for pages that the contents leave out."""
    pages = pages_left_out(env)
    names = {p.relative_to(env.srcdir).with_suffix("").as_posix() for p in pages}
    gone = {name.removeprefix("book/") for name in names} | find_labels(pages).keys()
    return {n: words for n, words in env.config.other_words.items() if n not in gone}


def keywords(words: Iterable[str]) -> nodes.meta:
    """Make of some words the keywords of a page: their parts, each once."""
    parts = dict.fromkeys(re.findall(r"\w+", " ".join(words)))
    return nodes.meta(name="keywords", content=", ".join(parts))


class IndexWords(SphinxTransform):
    """Put a page's other words into the index, before the index is collected."""

    default_priority: ClassVar[int] = 700  # pyright: ignore[reportIncompatibleVariableOverride]

    def apply(self, **kwargs: Any) -> None:  # pyright: ignore[reportUnusedParameter]
        words: Words = self.config.other_words
        page = self.env.docname.removeprefix("book/")
        text = Path(self.env.doc2path(self.env.docname))
        mine = [*OF_NOTEBOOKS] if text.with_suffix(".ipynb").exists() else []
        for section in list(self.document.findall(nodes.section)):
            names = list(section["ids"])
            if isinstance(section.parent, nodes.document):
                names.append(page)
            for name in names:
                if name not in words:
                    continue
                # The search knows the titles of sections by the first of their ids.
                target = section["ids"][0]
                entries = [
                    ("single", word, target, "main", None) for word in words[name]
                ]
                section.insert(1, addnodes.index(entries=entries))
                mine += words[name]
                self.env.metadata[self.env.docname].setdefault("words", []).append(name)
        if mine:
            self.document.insert(0, keywords(mine))


class ListWords(SphinxDirective):
    """`{words}`: the other words from A to Z, with links to where they are taught."""

    def run(self) -> list[nodes.Node]:
        words = words_in(self.env)
        self.env.note_dependency(str(Path(self.env.app.confdir, "book", "words.yml")))
        rows = sorted(
            ((word, name) for name, found in words.items() for word in found),
            key=lambda row: (not row[0][0].isalpha(), row[0].lower()),
        )
        text = ["| You may know it as | Here |", "|---|---|"]
        for word, name in rows:
            cell = word if word[0].isalpha() and "(" not in word else f"`{word}`"
            link = f"[](../{name}.md)" if "/" in name else f"[](#{name})"
            text.append(f"| {cell} | {link} |")
        return self.parse_text_to_nodes("\n".join(text))


def say_unknown(_app: Sphinx, env: Any) -> None:
    """After reading: warn of words for a page or label that there isn't."""
    known = {name for data in env.metadata.values() for name in data.get("words", [])}
    for name in words_in(env):
        if name not in known:
            LOGGER.warning("book/words.yml: no page and no label is called %s", name)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the words, the transform that indexes them and the directive."""
    app.add_config_value("other_words", read_words(app.confdir), "env")
    app.add_transform(IndexWords)
    app.add_directive("words", ListWords)
    app.connect("env-check-consistency", say_unknown)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
