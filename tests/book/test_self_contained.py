"""The site needs no other host."""

import pytest
from self_contained import pages_address
from small_books import cell


@pytest.mark.parametrize(
    ("repository", "address"),
    [
        ("https://github.com/owner/course", "https://owner.github.io/course/"),
        ("https://github.com/Owner/Course/", "https://owner.github.io/Course/"),
        ("https://gitlab.com/owner/course", "https://owner.gitlab.io/course/"),
        ("https://github.com/owner/owner.github.io", "https://owner.github.io/"),
    ],
)
def test_the_site_s_address_follows_from_the_repository_s(repository, address):
    assert pages_address(repository) == address


def test_mathjax_is_taken_from_the_site_and_live_code_is_left_out(book):
    book.write("\nA formula, $a^2$.\n")
    status, page, said = book.build(
        "sphinx.ext.mathjax",
        "sphinx_thebe",
        "self_contained",
        thebe_config={},
        myst_enable_extensions=["dollarmath"],
    )
    assert status == 0, said
    assert 'src="_static/mathjax/tex-svg.js"' in page
    assert "thebe.js" not in page
    assert "unpkg" not in page
    assert "jsdelivr" not in page


def test_without_the_extension_both_would_be_fetched(book):
    book.write("\nA formula, $a^2$.\n", cell("1"))
    extensions = ["sphinx.ext.mathjax", "sphinx_thebe"]
    config = {"thebe_config": {}, "myst_enable_extensions": ["dollarmath"]}
    _, page, _ = book.build(*extensions, **config)
    assert "jsdelivr" in page
    assert "unpkg" in page
