"""The built site in a folder, opened in a real browser as a click on a file would."""

import re

import pytest
from small_books import ROOT

SITE = ROOT / "_build" / "html"

pytestmark = pytest.mark.skipif(
    not (SITE / "searchindex.js").exists(), reason="run `make book` first"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The site as `course`, and again as the version that was tagged 1.2."""
    made = tmp_path_factory.mktemp("offline")
    for name in ("course", "v1.2"):
        (made / name).symlink_to(SITE)
    return made


@pytest.fixture(scope="module")
def page(browser):
    return browser.new_page()


def test_its_search_finds_positional_encoding(page, folder):
    page.goto(f"{(folder / 'course/search.html').as_uri()}?q=positional+encoding")
    page.wait_for_selector("#search-results li")
    found = page.eval_on_selector_all(
        "#search-results a", "found => found.map((a) => a.getAttribute('href'))"
    )
    assert any(a.startswith("book/similarity/positions.html") for a in found)
    # Browsers forbid excerpts there, and it is said.
    assert "titles without excerpts" in page.inner_text("body")


def test_its_first_page_leads_to_the_book(page, folder):
    page.goto((folder / "course/index.html").as_uri())
    page.wait_for_selector("h2:has-text('The road')")


def test_a_version_under_its_tag_leads_to_the_current_one(page, folder):
    name = "book/similarity/tokens.html"
    page.goto((folder / "v1.2" / name).as_uri())
    said = page.locator("p.old-version")
    assert "version 1.2" in said.inner_text()
    link = said.locator("a").get_attribute("href")
    assert link.endswith((folder / name).as_uri().removeprefix("file://"))
    page.goto((folder / "course" / name).as_uri())
    assert page.locator("p.old-version").count() == 0


def test_its_live_gpt_writes(page, folder):
    """The weights are a script of their own, which a page in a folder may load."""
    page.goto((folder / "course/book/architectures/gpt.html").as_uri())
    figure = page.locator("explore-gpt")
    figure.scroll_into_view_if_needed()
    figure.locator("button").first.click()
    figure.locator(".explore-live").wait_for()
    page.wait_for_timeout(500)
    said = figure.inner_text()
    assert re.search(r"After “[\w ]+”, “\w+” is likeliest, with \d+%", said)
