"""What pages show at first: something for each kind of reader, in its place.

Like test_site.py these tests read `_build/html`.
"""

import contextlib
import re

import pytest
from small_books import ROOT

SITE = ROOT / "_build" / "html"
PAGE = (ROOT / "book" / "intro.md").read_text("utf-8")


built = pytest.mark.skipif(
    not (SITE / "searchindex.js").exists(), reason="run `make book` first"
)


@pytest.fixture
def visit(browser):
    """Open a page of the site in a window of this size."""
    with contextlib.ExitStack() as stack:

        def visit(name, width, height):
            page = browser.new_page(viewport={"width": width, "height": height})
            stack.callback(page.close)
            page.goto((SITE / "book" / f"{name}.html").as_uri())
            return page

        yield visit


def test_six_lines_follow_two_imports():
    (code,) = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    imports, lines = code.strip().split("\n\n")
    assert len(imports.splitlines()) == 2
    assert len(lines.splitlines()) == 6


@built
def test_one_screen_has_the_button_the_links_the_plans_and_the_code(visit):
    page = visit("intro", 1440, 900)
    links = page.eval_on_selector_all(
        ".ways-in a", "found => found.map((a) => a.textContent)"
    )
    assert links[0] == "Start with the first page"
    assert {"Colab", "Install", "Homework", "Teach"} <= set(links)
    assert page.locator(".bd-article a:has-text('plans')").is_visible()
    code = page.locator(".bd-article .highlight-python").bounding_box()
    assert code["y"] + code["height"] <= 900
    # And at once a figure to try.
    figure = page.locator(".bd-article figure").first.bounding_box()
    assert figure["y"] <= 960


@built
def test_a_finger_finds_each_stop_of_the_map(visit):
    page = visit("intro", 390, 844)
    heights = page.eval_on_selector_all(
        ".road a", "stops => stops.map((a) => a.getBoundingClientRect().height)"
    )
    assert len(heights) > 40
    assert min(heights) >= 24


@built
@pytest.mark.parametrize("width", [390, 1440])
def test_a_figure_that_opens_its_page_moves_nothing_when_it_comes_alive(visit, width):
    page = visit("play", width, 844)
    page.wait_for_selector("explore-forecast .explore-live th")
    page.wait_for_timeout(500)
    kept, live = page.evaluate(
        """() => { const figure = document.querySelector("explore-forecast");
        return [parseFloat(getComputedStyle(figure).minHeight),
          figure.querySelector(".explore-live").offsetHeight]; }"""
    )
    assert kept == pytest.approx(live, abs=30)


@built
def test_a_root_leaves_no_hole_behind_it(visit):
    page = visit("similarity/attention", 1280, 720)
    holes = page.eval_on_selector_all(
        "msqrt:not(:has(mfrac))",
        """roots => roots.filter((root) => root.getClientRects().length).map((root) =>
          root.getBoundingClientRect().right
          + parseFloat(getComputedStyle(root).marginInlineEnd)
          - root.lastElementChild.getBoundingClientRect().right)""",
    )
    assert len(holes) > 3
    assert max(map(abs, holes)) < 2
