"""The book on paper: pages in order, with bookmarks, or a word on what is missing."""

import paper
import pytest
from pypdf import PdfReader, PdfWriter
from stills import find_browser

TOC = """
root: book/intro
parts:
  - caption: First
    chapters:
      - file: book/a/one
        sections: [{file: book/a/two}]
  - caption: Second
    chapters:
      - file: book/b/three
"""
PAGE = "<html><body><article><h1>{}<a class='headerlink'>#</a></h1></article></html>"


def site(root):
    (root / "_toc.yml").write_text(TOC, "utf-8")
    for name in ("intro", "a/one", "a/two", "b/three"):
        page = root / "_build" / "html" / "book" / f"{name}.html"
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(PAGE.format(f"Page {name}"), "utf-8")


def blank(path, n_pages):
    path.parent.mkdir(parents=True, exist_ok=True)
    writer = PdfWriter()
    for _ in range(n_pages):
        writer.add_blank_page(100, 100)
    writer.write(path)


def bookmarks(reader, outline=None, depth=0):
    found = []
    for item in reader.outline if outline is None else outline:
        if isinstance(item, list):
            found += bookmarks(reader, item, depth + 1)
        else:
            found.append((depth, item.title, reader.get_destination_page_number(item)))
    return found


def test_the_book_has_its_pages_in_order_and_bookmarks_under_their_parts(
    tmp_path, monkeypatch
):
    site(tmp_path)
    sizes = {"intro": 1, "one": 2, "two": 3, "three": 1}
    monkeypatch.setattr(paper, "find_browser", lambda: "chromium")
    monkeypatch.setattr(
        paper, "print_page", lambda _browser, page, out: blank(out, sizes[page.stem])
    )
    assert paper.main(["--root", str(tmp_path)]) == 0
    reader = PdfReader(tmp_path / "_build" / "pdf" / "book.pdf")
    assert len(reader.pages) == 7
    assert bookmarks(reader) == [
        (0, "Page intro", 0),
        (0, "First", 1),
        (1, "Page a/one", 1),
        (2, "Page a/two", 3),
        (0, "Second", 6),
        (1, "Page b/three", 6),
    ]


@pytest.mark.parametrize(
    ("browser", "arguments", "words"),
    [
        (None, [], "needs Chromium"),
        ("chromium", ["four"], "No page is called four"),
    ],
)
def test_what_is_missing_is_said(
    tmp_path, monkeypatch, capsys, browser, arguments, words
):
    site(tmp_path)
    monkeypatch.setattr(paper, "find_browser", lambda: browser)
    assert paper.main([*arguments, "--root", str(tmp_path)]) == 1
    assert words in capsys.readouterr().out


def test_without_a_site_the_way_to_one_is_said(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(paper, "find_browser", lambda: "chromium")
    assert paper.main(["--root", str(tmp_path)]) == 1
    assert "make book" in capsys.readouterr().out


@pytest.mark.skipif(find_browser() is None, reason="no Chromium (apt install chromium)")
def test_chromium_prints_a_page(tmp_path):
    site(tmp_path)
    assert paper.main(["--root", str(tmp_path), "two"]) == 0
    printed = PdfReader(tmp_path / "_build" / "pdf" / "two.pdf")
    assert "Page a/two" in printed.pages[0].extract_text()
