"""The first use of a term on a page leads to its entry in the glossary."""

import re

import pytest

GLOSSARY = """\
# Glossary

beam search
: Keeps the best beginnings. [](#sec-beam)

skip connection, residual connection
: A sum. [](../block.md)
"""
PAGE = """
(sec-part)=
## Beam search in a title

The [beam search](appendices/words.md) of a link, `beam search` in code, and a
beam search, a beam search again. Two residual connections, one skip connection.
"""


@pytest.fixture
def build(book):
    """Build a book of a glossary, two pages that teach its terms, and one more."""
    (book.folder / "appendices").mkdir()
    (book.folder / "appendices" / "words.md").write_text(GLOSSARY)
    (book.folder / "block.md").write_text(
        "# Block\n\nA residual connection is a sum.\n"
    )
    (book.folder / "writing.md").write_text(
        "# Writing\n\n(sec-beam)=\n## Beams\n\nWe use beam search.\n"
    )
    extensions = ["colon_fence", "deflist"]

    def run(*parts):
        book.write(*parts, "\n```{toctree}\nblock\nwriting\nappendices/words\n```\n")
        status, page, said = book.build("terms", myst_enable_extensions=extensions)
        assert status == 0, said
        return re.findall(r'<a class="term[^>]*href="([^"]*)">([^<]*)</a>', page)

    return run


def test_the_first_use_of_each_term_is_linked_and_no_other(build):
    assert build(PAGE) == [
        ("appendices/words.html#term-beam-search", "beam search"),
        (
            "appendices/words.html#term-skip-connection-residual-connection",
            "residual connections",
        ),
    ]


def test_a_page_that_explains_a_term_does_not_link_it(build, book):
    assert build("\nThe **beam search** is ours. A beam search.\n") == []
    site = book.root / "_build" / "html"
    for page in ("block", "writing", "appendices/words"):
        assert "term" not in re.findall(
            r'class="([^" ]*)', (site / f"{page}.html").read_text()
        )


def test_the_links_arrive(build, book):
    links = build(PAGE)
    glossary = (book.root / "_build" / "html" / "appendices" / "words.html").read_text()
    assert all(f'id="{address.partition("#")[2]}"' in glossary for address, _ in links)
