"""A page that `_toc.yml` does not list is left out, and leaves nothing behind.

An instructor drops a page by taking its line from the contents, or
builds a part with contents of its own (`--toc part.yml`). The page's file stays, so
that changes from elsewhere still merge. But the other pages refer to it, and a site
that was built before has it already. So:

- a link to such a page, or to a formula, figure, section or exercise on it, becomes
  words: the title of the page. A link to a page that does not exist at all remains an
  error;
- its HTML from earlier builds is removed.
"""

import re
import shutil
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.transforms.post_transforms import SphinxPostTransform

TITLE = re.compile(r"^# (.*)$", re.MULTILINE)
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


@cache
def read_title(path: Path) -> str:
    """Read the title of a page."""
    title = TITLE.search(path.read_text("utf-8"))
    return title[1].strip() if title else path.stem


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
            if link.get("reftype") == "myst" and link.get("refdomain") == "doc":
                self.replace_link_to_page(link)
            elif link.get("reftype") in {"doc", "ref", "numref", "eq"}:
                self.replace_reference(link)

    def replace_link_to_page(self, link: addnodes.pending_xref) -> None:
        """Replace `[](page.md)` and `[words](page.md)`."""
        page = Path(self.env.srcdir, f"{link['reftarget']}.md")
        if link["reftarget"] in self.env.all_docs or not page.exists():
            return
        if link["refexplicit"]:
            link.replace_self(link[0].children)
        else:
            link.replace_self(nodes.emphasis("", read_title(page)))

    def replace_reference(self, link: addnodes.pending_xref) -> None:
        """Replace `{ref}`, `{numref}`, `{eq}` and `{doc}`."""
        if link["reftype"] == "doc":
            docname, _ = self.env.relfn2path(link["reftarget"], link["refdoc"])
            page, kind = Path(self.env.srcdir, f"{docname}.md"), ""
            known = docname in self.env.all_docs
        else:
            label = link["reftarget"]
            page = find_labels(self.left_out).get(label)
            kind, known = KINDS.get(label.partition("-")[0], ""), False
        if known or page is None or not page.exists():
            return
        if link["refexplicit"] and link["reftype"] != "numref":
            link.replace_self(link[0].children)
        else:
            title = nodes.emphasis("", read_title(page))
            link.replace_self([nodes.Text(kind), title] if kind else [title])

    @cached_property
    def left_out(self) -> tuple[Path, ...]:
        """The pages that the contents leave out."""
        return pages_left_out(self.env)


def remove_old_pages(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Before pages are written: remove what earlier builds wrote of those left out.

    Beside each page the site has its source, which tells pages from the index, the
    search and the package's code. Sphinx writes the pages of the code again only when
    the code changes, and each has the list of all pages at its side: when that list
    changes, they go as well.
    """
    site = Path(app.outdir)
    if app.builder.name != "html" or not (site / "_sources").exists():
        return []
    suffix = app.config.html_sourcelink_suffix
    sources = {
        Path(path.relative_to(site / "_sources").as_posix().removesuffix(suffix))
        .with_suffix("")
        .as_posix(): path
        for path in (site / "_sources").rglob("*.*")
    }
    if sources.keys() != env.found_docs:
        shutil.rmtree(site / "_modules", ignore_errors=True)
    for docname in sources.keys() - env.found_docs:
        for path in (site / "_sources").glob(f"{docname}.*"):
            path.unlink()
        (site / f"{docname}.html").unlink(missing_ok=True)
    return []


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.add_post_transform(WordsForLinks)
    app.connect("env-updated", remove_old_pages)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
