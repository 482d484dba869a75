"""The page to share: what one does is in the address, and a link shows it again."""

import html
import re
from urllib.parse import parse_qsl

import numpy as np
import pytest
from book_scripts import load
from small_books import ROOT
from test_explore import FOLDER, forecast

from course_lib.data import grammar

NAMES = ("forecast", "president")
# What copies, in place of a clipboard that tests may not have.
CLIPBOARD = """
window.copied = [];
Object.defineProperty(navigator, "clipboard", { value: { writeText: async (text) => {
  if (window.refuses) throw new Error("not allowed");
  window.copied.push(text);
} } });
"""
SHOWN = """() => {
  const figure = document.querySelector("explore-forecast");
  const all = (selector, say) => [...figure.querySelectorAll(selector)].map(say);
  return { text: figure.querySelector("[type=text]").value,
    on: all("[role=switch]", (node) => node.ariaChecked === "true"),
    words: all("th button", (node) => node.textContent),
    own: all(".own", (node) => Number(node.dataset.value)) };
}"""


@pytest.fixture(scope="module")
def visit(browser, tmp_path_factory):
    """Open both figures on a phone, with what a link says behind #."""
    figures = "".join(
        f'<section><explore-{name} class="explore" data-label="{name}"><img alt="">'
        f'</explore-{name}><p style="height: 900px">Words.</p></section>'
        for name in NAMES
    )
    scripts = "".join(
        f'<script defer src="{(FOLDER / name).as_uri()}.js"></script>'
        for name in ("explore", *NAMES)
    )
    style = f'<link rel="stylesheet" href="{(FOLDER / "explore.css").as_uri()}">'
    path = tmp_path_factory.mktemp("play") / "play.html"
    path.write_text(
        f'<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width">{style}{scripts}'
        f"</head><body>{figures}</body></html>",
        "utf-8",
    )
    context = browser.new_context(
        viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True
    )
    context.add_init_script(CLIPBOARD)
    context.set_default_timeout(60_000)

    def opened(link=""):
        page = context.new_page()
        page.goto(f"{path.as_uri()}{link}")
        page.wait_for_selector("explore-forecast .explore-live")
        return page

    yield opened
    context.close()


def said(page, words):
    """Wait until a figure says this."""
    page.locator(".explore-say").filter(has_text=words).wait_for()


def tab_to(page, name):
    """Press Tab until what has this name has the focus."""
    for _ in range(40):
        page.keyboard.press("Tab")
        focused = page.evaluate(
            "document.activeElement.ariaLabel ?? document.activeElement.textContent"
        )
        if focused == name:
            return
    raise AssertionError(f"no Tab leads to {name}")


def written(page):
    """Wait until the president has begun, and give the beginning."""
    page.wait_for_function(
        "document.querySelector('.written')?.textContent.length > 60"
    )
    return page.text_content(".written")[:60]


def test_by_keyboard_a_head_goes_off_and_a_link_shows_the_same(visit):
    page = visit()
    text = "do the firms near a bank"
    tab_to(page, "the text, to type")
    page.keyboard.press("Control+A")
    page.keyboard.type(text)
    tab_to(page, "block 1, head 1")
    page.keyboard.press("Space")
    tab_to(page, "block 2, head 4")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("off="))
    link = "#text=do+the+firms+near+a+bank&off=1.1+2.4"
    assert page.url.endswith(link)
    shown = page.evaluate(SHOWN)
    weights = load("gpt", "checkpoints").from_script(
        (FOLDER / "weights" / "gpt.js").read_text("utf-8")
    )
    p = forecast(text, weights, ((0, 0), (1, 3)))
    order = np.argsort(-p)
    words = grammar().words
    assert shown["words"] == [words[i] for i in order[:10]]
    assert shown["own"][:10] == pytest.approx(p[order[:10]], abs=1e-6)
    assert shown["on"] == [False, *[True] * 6, False]
    assert visit(link).evaluate(SHOWN) == shown
    tab_to(page, "all heads on")
    page.keyboard.press("Enter")
    assert page.evaluate(SHOWN)["on"] == [True] * 8


def test_a_link_lets_the_president_write_the_same_on_its_own(visit):
    link = "#prompt=We+have&decade=1860s&top-p=0.90&temperature=0.7&seed=12"
    page, other = visit(link), visit(link)
    assert written(page) == written(other)
    values = "nodes => nodes.map((node) => node.value)"
    settings = "explore-president input:not([readonly])"
    assert page.eval_on_selector_all(settings, values) == [
        *("We have", "1860", "0.7", "0.9", "12")
    ]
    # It is what one came for.
    assert abs(page.locator("explore-president").bounding_box()["y"]) < 100
    # Another decade is written with the same seed.
    page.focus("explore-president [type=range]")
    page.keyboard.press("ArrowRight")
    page.wait_for_url(re.compile("decade=1870s.*seed=12"))
    said(page, "It writes in the 1870s")


def test_the_address_has_both_figures_and_the_last_touched_first(visit):
    page = visit("#prompt=We+have&decade=1790s&top-p=0.95&temperature=0.8&seed=3")
    written(page)
    page.locator("[role=switch]").nth(3).tap()
    text = "#text=the+firm+near+the+new+banks&off=1.4&"
    page.wait_for_url(re.compile(re.escape(text)))
    page.locator("explore-forecast button:has-text('Copy')").tap()
    said(page, "The link is copied. 1 of 8 heads is off.")
    rest = "prompt=We+have&decade=1790s&top-p=0.95&temperature=0.8&seed=3"
    assert page.evaluate("copied") == [page.url]
    assert page.url.endswith(text + rest)
    page.evaluate("window.refuses = true")
    page.locator("explore-forecast button:has-text('Copy')").tap()
    said(page, "take the link from the field")
    assert page.evaluate("getSelection().toString()") == page.url
    # Another link in the same window.
    page.evaluate("location.hash = '#text=a+city&off=none'")
    shown = page.evaluate(SHOWN)
    assert (shown["text"], shown["on"]) == ("a city", [True] * 8)


def test_the_page_s_own_links_show_what_they_say(visit):
    text = (ROOT / "book" / "play.md").read_text("utf-8")
    links = re.findall(r'<a href="(#text=[^"]*)">', text)
    assert len(links) == 4
    page = visit()
    for link in map(html.unescape, links):
        page.evaluate("(link) => { location.hash = link; }", link)
        asked = dict(parse_qsl(link[1:]))
        page.wait_for_function(
            f"(text) => ({SHOWN})().text === text", arg=asked["text"]
        )
        on = enumerate(page.evaluate(SHOWN)["on"])
        off = [f"{i // 4 + 1}.{i % 4 + 1}" for i, shown in on if not shown]
        assert " ".join(off) == asked["off"].replace("none", "")


def test_an_untouched_page_has_a_plain_address(visit):
    page = visit()
    page.wait_for_timeout(600)
    assert "#" not in page.url
    assert page.locator("explore-president .explore-start").is_visible()


def test_a_link_that_is_wrong_says_so_or_keeps_to_the_bounds(visit):
    page = visit("#text=the+inflation&off=9.9+2.4+x")
    said(page, "“inflation” is none of the model's 48 words: does, do, the")
    shown = page.evaluate(SHOWN)
    assert shown["on"] == [True] * 7 + [False]
    assert len(shown["words"]) == 10
    page = visit("#decade=1500&temperature=warm&top-p=7&seed=-3")
    written(page)
    labels = "nodes => nodes.map((node) => node.ariaValueText)"
    sliders = "explore-president [type=range]"
    assert page.eval_on_selector_all(sliders, labels) == ["1790s", "0.8", "1.00"]
    assert page.input_value("[aria-label=seed]") == "1"
