"""A page describes itself by its first plain sentences."""

import re

import pytest
from publishing import shorten


def described(page):
    (found,) = re.findall(r'<meta name="description" content="([^"]*)"', page)
    return found


def write_only(book, words):
    book.write()
    text = book.text.read_text().replace("Some words.", words)
    book.text.write_text(text)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("One sentence. And *another* one.", "One sentence. And another one."),
        ("Plain at first. Then $x^2$ follows.", "Plain at first."),
        ("$x^2$ comes first.\n\nThe next is plain.", "The next is plain."),
        ("*5 minutes · for: all that follows*\n\nAnd words.", "And words."),
        ("> A quotation.\n\nAnd words.", "And words."),
        ("Says \"yes\" & 'no'.", "Says “yes” &amp; ‘no’."),
    ],
)
def test_the_first_plain_sentences_are_taken(book, words, expected):
    write_only(book, words)
    extensions = ["sphinxext.opengraph", "publishing"]
    status, page, said = book.build(
        *extensions,
        myst_enable_extensions=["dollarmath"],
        html_baseurl="https://example.org/",
    )
    assert status == 0, said
    assert described(page) == expected
    (preview,) = re.findall(r'property="og:description" content="([^"]*)"', page)
    assert preview == expected


def test_long_paragraphs_are_cut_after_a_sentence():
    whole = "A sentence that says what its page is about."
    assert shorten(f"{whole} " + "word " * 50, limit=60) == whole
    # One that says nearly nothing isn't left alone.
    assert shorten("Short one. " + "word " * 50, limit=60).endswith("word word …")
    cut = shorten("word " * 50, limit=60)
    assert len(cut) <= 60
    assert cut.endswith("word …")
