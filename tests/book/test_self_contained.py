"""The site needs no other host, and little of its own."""

import pytest
from conftest import cell
from self_contained import keep_icons, pages_address, used_icons

SCRIPT = (
    'var c={"arrow-up":[384,512,[8593],"f062","M1 2z"],'
    'gear:[512,512,[9881,"cog"],"f013","M3 4z"],'
    '"chart-pie":[576,512,["pie-chart"],"f200",["M5 6z","M7 8z"]]};'
)


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


def test_icons_that_no_page_uses_are_left_out():
    kept = keep_icons(SCRIPT, {"arrow-up"})
    assert kept == 'var c={"arrow-up":[384,512,[8593],"f062","M1 2z"],};'


@pytest.mark.parametrize("name", ["gear", "cog"])
def test_icons_are_kept_by_name_and_by_alias(name):
    assert "M3 4z" in keep_icons(SCRIPT, {name})
    assert "M1 2z" not in keep_icons(SCRIPT, {name})


def test_icons_of_two_layers_are_recognized():
    assert "M5 6z" in keep_icons(SCRIPT, {"pie-chart"})
    assert "M5 6z" not in keep_icons(SCRIPT, {"gear"})


def test_icons_are_found_in_pages(tmp_path):
    page = tmp_path / "page.html"
    page.write_text('<i class="fa-solid fa-arrow-up fa-lg"></i>')
    assert {"solid", "arrow-up", "lg"} <= used_icons([page])


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
