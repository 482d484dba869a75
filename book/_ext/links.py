"""Links that a page does not write itself, and words for those that lead nowhere.

- **Terms.** The first use of a term on a page leads to the glossary, the list in
  `book/appendices/words.md`: a line with a term and its other forms, then a definition
  that ends with links to where it is taught. There it isn't linked, nor where it is
  bold. Titles, captions, code and links stay as they are. The link has the definition
  as its title, which the page shows (course.js).
- **Code.** Names of the package, in cells and in sentences, lead to their reference:
  `ct.GPT`, `data.grammar`. What a name stands for is read from the imports of its page.
- **Other words.** A reader looks for "skip connection", and the page says *residual
  connection*. `book/words.yml` lists, for a page or the label of a section, what else
  it is called. Each of these becomes an entry of the index, which the search puts
  before everything that merely contains the word, and its parts are keywords of the
  page. The directive `{words}` writes them as a list with links.
- **Pages left out.** An instructor drops a page by taking its line from `_toc.yml`, and
  its file stays. A link to it, or to a formula, figure, section or exercise on it,
  becomes words: the title of the page. A link to what does not exist at all remains an
  error.
"""

import html
import posixpath
import re
from collections.abc import Iterable
from functools import cache, cached_property
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import yaml
from docutils import nodes
from reference import CELL, Names
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.transforms import SphinxTransform
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.docutils import SphinxDirective
from sphinx.util.index_entries import split_index_msg
from sphinx.util.logging import getLogger

LOGGER = getLogger(__name__)

GLOSSARY = "appendices/words"
LISTS = re.compile(r"\b(?:api|references)\b")  # pages of names and titles
ENTRY = re.compile(r"^(\w.*)\n: (.*(?:\n  .*)*)", re.MULTILINE)
NO_WORDS = re.compile(r",?\s*\[\]\([^)]*\)")  # a link that will get a title as its text
MARKUP = re.compile(r"\[([^]]*)\]\([^)]*\)|[`*]")
HOME = re.compile(r"\]\((?:#([\w-]+)|\.\./([\w/-]+)\.md)\)")
BLOCK = re.compile(
    r'(<div class="highlight-(?:ipython3|python3?) .*?<pre>)(.*?)</pre>', re.S
)
# A name and its attributes, as Pygments writes them: each in a span of its own.
DOTTED = re.compile(
    r'<span class="nn?">[\w.]+</span>'
    r'(?:<span class="o">\.</span><span class="\w+">\w+</span>)*'
)
LITERAL = re.compile(r"[a-z_]+(?:\.\w+)+")
OF_NOTEBOOKS = ("colab", "notebook")
TITLE = re.compile(r"^# (.*)$", re.MULTILINE)
COUNTED = re.compile(r"(?:Fig\.|Table) \d+|\(\d+\)")
# How a page gives something its label: over a section, in a directive, in the header
# of a cell, after a formula.
LABEL = re.compile(
    r"^\((?P<section>[\w-]+)\)=$"
    r"|^\s*:(?:label|name): (?P<directive>[\w-]+)$"
    r"|^\s+(?:figure: \{)?name: (?P<cell>[\w-]+)\}?$"
    r"|^\$\$ \((?P<formula>[\w-]+)\)$",
    re.MULTILINE,
)
KINDS = {
    "eq": "a formula in ",
    "fig": "a figure in ",
    "tab": "a table in ",
    "ex": "an exercise in ",
    "sol": "a solution in ",
}

Words = dict[str, list[str]]


class Term(NamedTuple):
    """An entry: how it is written, its id, its definition, the pages that teach it."""

    written: re.Pattern[str]
    place: str
    says: str
    homes: set[str]


@cache
def find_labels(pages: tuple[Path, ...]) -> dict[str, Path]:
    """Find what pages have labels for, and on which of them."""
    return {
        str(match[match.lastgroup or 0]): page
        for page in pages
        for match in LABEL.finditer(page.read_text("utf-8"))
    }


def pages_left_out(env: BuildEnvironment) -> tuple[Path, ...]:
    """List the pages that the contents leave out, beside theirs or in other parts."""
    built = {Path(env.doc2path(name)) for name in env.found_docs}
    folders = {page.parent for page in built}
    book = {f.parent for f in folders if Path(env.srcdir) in f.parent.parents}
    folders |= {folder for parent in book for folder in parent.iterdir()}
    there = {page for folder in folders for page in folder.glob("*.md")}
    return tuple(sorted(there - built))


class WordsForLinks(SphinxPostTransform):
    """Replace links to what is left out by words, before anything warns of them."""

    default_priority = 5

    def run(self, **_: Any) -> None:
        """Go through the links of one page."""
        for link in list(self.document.findall(addnodes.pending_xref)):
            kind, target = link.get("reftype"), link.get("reftarget")
            if kind == "myst" and link.get("refdomain") == "doc":
                self.replace(link, Path(self.env.srcdir, f"{target}.md"))
            elif kind == "doc":
                name = self.env.relfn2path(target, link["refdoc"])[0]
                self.replace(link, Path(self.env.srcdir, f"{name}.md"))
            elif kind in {"ref", "numref", "eq"}:
                page = find_labels(self.left_out).get(target)
                self.replace(link, page, KINDS.get(target.partition("-")[0], ""))

    def replace(self, link: nodes.Element, page: Path | None, kind: str = "") -> None:
        """Write the title of a page, if it is one that is left out."""
        if page not in self.left_out:
            return
        if link["refexplicit"] and link["reftype"] != "numref":
            link.replace_self(link[0].children)
            return
        title = TITLE.search(page.read_text("utf-8"))
        words = nodes.emphasis("", title[1].strip() if title else page.stem)
        link.replace_self([nodes.Text(kind), words] if kind else [words])

    @cached_property
    def left_out(self) -> tuple[Path, ...]:
        """The pages that the contents leave out."""
        return pages_left_out(self.env)


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
        says = MARKUP.sub(r"\1", NO_WORDS.sub("", definition))
        says = " ".join(says.split()).rstrip(" .:") + "."
        terms.append(Term(pattern, nodes.make_id(f"term-{written}"), says, homes))
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
            "",
            match[0],
            refuri=f"{uri}#{term.place}",
            internal=True,
            reftitle=term.says,
        )
        link["classes"].append("term")
        after = nodes.Text(text[match.end() :])
        text.parent.replace(text, [nodes.Text(text[: match.start()]), link, after])
        texts.insert(0, after)


def target(app: Sphinx, docname: str, full: str | None) -> str | None:
    """Give the address of a name's reference, from a page."""
    found = app.env.get_domain("py").data["objects"].get(full) if full else None
    if not found or found.docname == docname:
        return None
    return f"{app.builder.get_relative_uri(docname, found.docname)}#{found.node_id}"


@cache
def names_of(root: Path, page: Path) -> Names:
    """Read what the names on a page mean."""
    return Names(root, "\n".join(CELL.findall(page.read_text("utf-8"))))


def link_words(app: Sphinx, document: nodes.document, docname: str) -> None:
    """Link names that stand as code in a sentence, but not in a link or a title."""
    names = names_of(Path(app.srcdir), Path(app.env.doc2path(docname)))
    for literal in list(document.findall(nodes.literal)):
        above = literal.parent
        written = LITERAL.match(literal.astext())
        if written is None or isinstance(
            above, nodes.reference | nodes.title | addnodes.pending_xref
        ):
            continue
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
    names = names_of(Path(app.srcdir), Path(app.env.doc2path(docname)))

    def link(match: re.Match[str]) -> str:
        written = re.sub(r"<[^>]*>", "", match[0])
        uri = target(app, docname, names.find(written))
        return (
            f'<a class="api" href="{html.escape(uri)}">{match[0]}</a>'
            if uri
            else match[0]
        )

    context["body"] = BLOCK.sub(
        lambda block: f"{block[1]}{DOTTED.sub(link, block[2])}</pre>", context["body"]
    )


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
    """Put a page's other words into the index, before the index is collected.

    What one can do with a notebook is a keyword of each notebook's page.
    """

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
            for name in filter(words.__contains__, names):
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


def keep_words(app: Sphinx) -> list[Any]:
    """Before the search's index is written: add words of pages that were not.

    Sphinx reads back what an earlier build knew of those, but not these entries.
    """
    if (index := getattr(app.builder, "indexer", None)) is not None:
        for page, entries in app.env.get_domain("index").data["entries"].items():
            if page in index._titles:
                found = {
                    (word, target or "", main)
                    for kind, words, target, main, _ in entries
                    for word in split_index_msg(kind, words)
                }
                index._index_entries.setdefault(page, sorted(found))
    return []  # no pages of our own


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
    for name in sorted(words_in(env).keys() - known):
        LOGGER.warning("book/words.yml: no page and no label is called %s", name)


def name_pages(app: Sphinx, document: nodes.document, page: str) -> None:
    """Say of which page a figure, a table or an equation is that is on another."""
    for found in document.findall(nodes.reference):
        target, _, place = found.get("refuri", "").partition("#")
        if target and place and COUNTED.fullmatch(found.astext()):
            other = posixpath.normpath(posixpath.join(posixpath.dirname(page), target))
            if title := app.env.titles.get(other.removesuffix(".html")):
                found += nodes.Text(f" of {title.astext()}")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register what reads words and what writes links."""
    app.add_config_value("terms", read_terms(app.confdir), "html")
    app.add_config_value("other_words", read_words(app.confdir), "env")
    app.add_transform(IndexWords)
    app.add_directive("words", ListWords)
    app.add_post_transform(WordsForLinks)
    app.connect("env-check-consistency", say_unknown)
    app.connect("html-collect-pages", keep_words)
    app.connect("doctree-resolved", name_pages)
    app.connect("doctree-resolved", link_words)
    app.connect("doctree-resolved", link_terms)
    app.connect("html-page-context", link_code)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
