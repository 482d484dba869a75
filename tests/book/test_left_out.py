"""A page that the contents leave out: links to it become words, its HTML goes."""

import re
from types import SimpleNamespace

import left_out
import pytest
from small_books import HEADER, ROOT, cell

OTHER = """\
# The other page

(sec-other-part)=
## A part of it

$$
a = b
$$ (eq-other-one)

```{exercise} An exercise
:label: ex-other-why

Why?
```
"""
TABLE = """
```{list-table} A table
:name: tab-other-rows

* - a
```
"""
LINKS = """
Links: [](other.md), [*in* words](other.md), {doc}`other`, {ref}`sec-other-part`,
{ref}`a part <sec-other-part>`, {eq}`eq-other-one`, {numref}`tab-other-rows`,
{ref}`ex-other-why` and [](other.md#a-part-of-it).
"""
WORDS = (
    "Links: The other page, in words, The other page, The other page, a part, "
    "a formula in The other page, a table in The other page, "
    "an exercise in The other page and The other page."
)


@pytest.fixture
def two_pages(book):
    """A chapter that refers to the page beside it in every way."""
    (book.folder / "other.md").write_text(
        HEADER.replace("# A title\n\nSome words.\n", OTHER) + TABLE
    )
    book.write(LINKS, "\n```{toctree}\nother\n```\n")
    return book


def build(book, *left_out, builder="text"):
    return book.build(
        "sphinx_exercise",
        "left_out",
        builder=builder,
        exclude_patterns=["*.ipynb", *left_out],
        myst_enable_extensions=["colon_fence", "dollarmath"],
        myst_heading_anchors=2,
        numfig=True,
        nitpicky=True,
        source_suffix={".rst": "restructuredtext", ".md": "myst-nb"},
    )


def words(page):
    text = " ".join(page.replace("*", "").split())
    return text[text.index("Links:") :]


def test_links_to_a_page_that_is_left_out_become_words(two_pages):
    two_pages.write(LINKS)
    status, page, said = build(two_pages, "other.md")
    assert status == 0, said
    assert words(page).replace('"', "") == WORDS


def test_links_to_a_page_that_is_there_stay_links(two_pages):
    status, page, said = build(two_pages, builder="html")
    assert status == 0, said
    assert page.count('href="other.html') >= 9
    assert "a formula in" not in page


@pytest.mark.parametrize(
    "link",
    ["[](missing.md)", "{ref}`sec-missing`", "{doc}`missing`", "{eq}`eq-missing`"],
)
def test_a_link_to_what_is_nowhere_remains_an_error(two_pages, link):
    two_pages.write(f"\nA link: {link}.\n")
    status, _, said = build(two_pages, "other.md")
    assert status != 0
    assert "missing" in said


def test_nothing_is_left_of_a_page_that_was_built_before(two_pages):
    site = two_pages.root / "_build" / "html"
    assert build(two_pages, builder="html")[0] == 0
    assert (site / "other.html").exists()
    code = site / "_modules" / "module.html"  # its sidebar names all pages
    code.parent.mkdir()
    code.write_text("the other page")
    assert build(two_pages, builder="html")[0] == 0
    assert code.exists()
    two_pages.write(LINKS)
    status, page, said = build(two_pages, "other.md", builder="html")
    assert status == 0, said
    assert "other.html" not in page
    assert not (site / "other.html").exists()
    assert not code.exists()
    assert not list((site / "_sources").rglob("other*"))
    for page in ("chapter", "search", "genindex"):
        assert (site / f"{page}.html").exists()
    index = (site / "searchindex.js").read_text()
    assert re.search(r'docnames"?:\s*\["chapter"\]', index)


def test_a_page_comes_back_with_its_line(two_pages):
    two_pages.write(LINKS)
    assert build(two_pages, "other.md", builder="html")[0] == 0
    two_pages.write(LINKS, cell("1"), "\n```{toctree}\nother\n```\n")
    status, page, said = build(two_pages, builder="html")
    assert status == 0, said
    assert (two_pages.root / "_build" / "html" / "other.html").exists()
    assert page.count('href="other.html') >= 9


def test_a_part_of_the_book_may_be_left_out_as_a_whole(tmp_path):
    names = ["book/intro", "book/first/one", "book/first/two", "book/second/three"]
    for name in [*names, "homework/a-master"]:
        path = tmp_path / f"{name}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("# A title\n")
    env = SimpleNamespace(
        srcdir=tmp_path, found_docs=names[:2], doc2path=lambda n: tmp_path / f"{n}.md"
    )
    expected = tuple(tmp_path / f"{name}.md" for name in names[2:])
    assert left_out.pages_left_out(env) == expected


def test_labels_of_every_kind_are_found():
    page = ROOT / "book" / "similarity" / "attention.md"
    labels = left_out.find_labels((page,))
    for label in (
        "eq-attention-variance",
        "fig-attention-shapes",
        "fig-attention-phrase",
        "sec-attention-scale",
        "ex-attention-code",
        "sol-attention-code",
    ):
        assert labels[label] == page
