"""What pages show at first: something for each kind of reader, in its place.

Like test_site.py these tests read `_build/html`.
"""

import re

import pytest
from small_books import ROOT

SITE = ROOT / "_build" / "html"
PAGE = (ROOT / "book" / "intro.md").read_text("utf-8")


built = pytest.mark.skipif(
    not (SITE / "searchindex.js").exists(), reason="run `make book` first"
)


def test_six_lines_follow_two_imports():
    (code,) = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    imports, lines = code.strip().split("\n\n")
    assert len(imports.splitlines()) == 2
    assert len(lines.splitlines()) == 6


@built
def test_one_screen_has_the_button_the_links_the_plans_and_the_code(browser):
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.goto((SITE / "book" / "intro.html").as_uri())
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
    page.close()


@built
def test_a_finger_finds_each_stop_of_the_map(browser):
    page = browser.new_page(viewport={"width": 390, "height": 844})
    page.goto((SITE / "book" / "intro.html").as_uri())
    heights = page.eval_on_selector_all(
        ".road a", "stops => stops.map((a) => a.getBoundingClientRect().height)"
    )
    assert len(heights) > 40
    assert min(heights) >= 24
    page.close()


@built
@pytest.mark.parametrize("width", [390, 1440])
def test_a_figure_that_opens_its_page_moves_nothing_when_it_comes_alive(browser, width):
    page = browser.new_page(viewport={"width": width, "height": 844})
    page.goto((SITE / "book" / "play.html").as_uri())
    page.wait_for_selector("explore-forecast .explore-live th")
    page.wait_for_timeout(500)
    kept, live = page.evaluate(
        """() => { const figure = document.querySelector("explore-forecast");
        return [parseFloat(getComputedStyle(figure).minHeight),
          figure.querySelector(".explore-live").offsetHeight]; }"""
    )
    assert kept == pytest.approx(live, abs=30)
    page.close()


@built
def test_a_root_leaves_no_hole_behind_it(browser):
    page = browser.new_page()
    page.goto((SITE / "book" / "similarity" / "attention.html").as_uri())
    holes = page.eval_on_selector_all(
        "msqrt:not(:has(mfrac))",
        """roots => roots.filter((root) => root.getClientRects().length).map((root) =>
          root.getBoundingClientRect().right
          + parseFloat(getComputedStyle(root).marginInlineEnd)
          - root.lastElementChild.getBoundingClientRect().right)""",
    )
    assert len(holes) > 3
    assert max(map(abs, holes)) < 2
    page.close()
