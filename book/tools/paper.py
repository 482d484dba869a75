"""Print the built site: each page as a PDF, and the book as one, with bookmarks.

    python book/tools/paper.py                  # into _build/pdf, after `make book`
    python book/tools/paper.py gpt positions    # some pages only

Chromium prints the pages as the site's print style says: by day, code wrapped, both
frameworks under their names. The book in one file is `_build/pdf/book.pdf`.
"""

import argparse
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from bs4 import BeautifulSoup
from pypdf import PdfReader, PdfWriter
from stills import find_browser

ROOT = Path(__file__).resolve().parents[2]
# Made to be clicked.
ON_SCREEN = {"book/appendices/api"}


class Entry(NamedTuple):
    """A line of the table of contents: a page or, without a file, a part's name."""

    depth: int
    file: str | None
    caption: str = ""


def contents(toc: dict[str, Any]) -> Iterator[Entry]:
    """List parts, chapters and the pages under them, in order."""
    yield Entry(0, toc["root"])
    for part in toc["parts"]:
        yield Entry(0, None, part["caption"])
        for chapter in part["chapters"]:
            yield Entry(1, chapter["file"])
            for section in chapter.get("sections", []):
                yield Entry(2, section["file"])


def title(page: Path) -> str:
    """Read a page's title, with its number."""
    soup = BeautifulSoup(page.read_text("utf-8"), "html.parser")
    heading = soup.select_one("article h1") or soup.select_one("h1")
    if heading is None:
        return page.stem
    for link in heading.select("a.headerlink"):
        link.decompose()
    return " ".join(heading.get_text().split())


def print_page(browser: str, page: Path, out: Path) -> None:
    """Print one page of the site."""
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as profile:
        options = [
            "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
            "--no-pdf-header-footer", "--virtual-time-budget=10000",
            f"--user-data-dir={profile}", f"--print-to-pdf={out}", page.as_uri(),
        ]  # fmt: skip
        command = [browser, *options]
        subprocess.run(command, check=True, capture_output=True, timeout=180)


def bind(pages: Sequence[tuple[Entry, str, Path | None]], out: Path) -> None:
    """Put the pages one after the other, with a bookmark for each under its part."""
    writer = PdfWriter()
    above: dict[int, Any] = {}
    part: tuple[Entry, str] | None = None
    for entry, words, path in pages:
        if path is None:  # a part's name leads to its first chapter, which comes next
            part = entry, words
            continue
        first = len(writer.pages)
        for page in PdfReader(path).pages:
            writer.add_page(page)
        for place, name in [part, (entry, words)] if part else [(entry, words)]:
            above = {depth: b for depth, b in above.items() if depth < place.depth}
            above[place.depth] = writer.add_outline_item(
                title=name,
                page_number=first,
                parent=above[max(above)] if above else None,
            )
        part = None
    with out.open("wb") as file:
        writer.write(file)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print what was asked for; return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("pages", nargs="*", help="slugs; without any, the whole book")
    parser.add_argument("--root", type=Path, default=ROOT)
    options = parser.parse_args(arguments)
    browser = find_browser()
    if browser is None:
        print("Printing needs Chromium or Chrome. On Debian: apt install chromium")
        return 1
    site, out = options.root / "_build" / "html", options.root / "_build" / "pdf"
    if not site.is_dir():
        print(f"There is no site in {site}: run `make book` first.")
        return 1
    toc = yaml.safe_load((options.root / "_toc.yml").read_text("utf-8"))
    entries = [e for e in contents(toc) if e.file not in ON_SCREEN]
    known = {Path(e.file).name for e in entries if e.file}
    if wrong := sorted(set(options.pages) - known):
        there = ", ".join(sorted(known))
        print(f"No page is called {', '.join(wrong)}. There are: {there}")
        return 1
    printed = []
    for entry in entries:
        if entry.file is None:
            printed.append((entry, entry.caption, None))
        elif not options.pages or Path(entry.file).name in options.pages:
            page = site / f"{entry.file}.html"
            pdf = out / f"{Path(entry.file).name}.pdf"
            print_page(browser, page, pdf)
            printed.append((entry, title(page), pdf))
            print(f"{pdf.name}: {len(PdfReader(pdf).pages)} pages", flush=True)
    if not options.pages:
        book = out / "book.pdf"
        bind(printed, book)
        print(f"The book: {book}, {len(PdfReader(book).pages)} pages")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
