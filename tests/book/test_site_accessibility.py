"""Every page of the built site, in a real browser: axe-core finds nothing to repair.

By night on a phone and by day on a desk, with everything open that can be: what is
folded, both tabs, and figures that ask first. `pytest -m slow` has the other two. No
page is wider than a phone, writes an error to the console or asks for a file that isn't
there. Like test_site.py these tests read `_build/html`.
"""

import contextlib
from pathlib import Path

import axe_playwright_python
import playwright.sync_api
import pytest
from small_books import ROOT, contents

SITE = ROOT / "_build" / "html"
PAGES = [f"{name}.html" for name, _ in contents()]
PAGES += ["search.html", "genindex.html"]
PAGES += [f"api/{name}.html" for name in ("gpt", "config.gpt", "oracle.block", "plot")]
AXE = Path(axe_playwright_python.__file__).with_name("axe.min.js").read_text("utf-8")

pytestmark = pytest.mark.skipif(
    not (SITE / "searchindex.js").exists(), reason="run `make book` first"
)

# Colors are asked of one text of each kind, the first that has its elements' names and
# classes. Of code only these stay apart: it has thousands of tokens, of thirty kinds.
OPEN = """() => {
  for (const e of document.querySelectorAll("details")) e.open = true;
  for (const e of document.querySelectorAll(".framework-tabs > .sd-tab-content"))
    e.style.setProperty("display", "block", "important");
  const paths = new Map([[document, ""]]), kinds = new Set();
  window.kinds = [...document.body.querySelectorAll("*")].filter((e) => {
    const path = paths.get(e.parentNode) + `/${e.nodeName}.${e.classList}`;
    paths.set(e, path);
    const speaks = [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
    return speaks && !kinds.has(path) && kinds.add(path);
  });
  const kept = new Set(window.kinds);
  for (const e of document.querySelectorAll(".highlight pre span, code span"))
    if (!kept.has(e)) e.replaceWith(...e.childNodes);
  for (const e of document.querySelectorAll("math"))
    if (!window.kinds.some((kind) => e.contains(kind))) e.replaceChildren("x");
}"""
# Only these texts, and what they stand on.
REDUCE = """() => {
  const kept = new Set();
  for (const kind of kinds)
    for (let box = kind; box; box = box.parentElement) kept.add(box);
  for (const e of [...document.body.querySelectorAll("*")])
    if (!kept.has(e)) e.remove();
}"""
# Of kinds that look the same as things stand, one: letters, and what they stand on.
LOOKS = """() => {
  const looks = new Set();
  window.examples = kinds.filter((e) => {
    const own = getComputedStyle(e), around = getComputedStyle(e.parentElement).color;
    let ground = "", opacity = 1;
    for (let box = e; box; box = box.parentElement) {
      const style = getComputedStyle(box);
      opacity *= style.opacity;
      const bare = style.backgroundColor === "rgba(0, 0, 0, 0)";
      if (!ground && !(bare && style.backgroundImage === "none"))
        ground = style.backgroundColor + style.backgroundImage;
    }
    const look = [e.nodeName === "A", own.color, own.fontSize, own.fontWeight,
      own.textDecorationLine, around, ground, opacity].join();
    return !looks.has(look) && looks.add(look);
  });
}"""
# What sticks out to the right and lies in no box that scrolls or hides it.
WIDER = """() => {
  const root = document.scrollingElement;
  if (root.scrollWidth <= root.clientWidth) return [];
  const holds = (e) => getComputedStyle(e).overflowX !== "visible";
  const out = (e) => e.getBoundingClientRect().right > root.clientWidth + 1;
  return [...document.querySelectorAll("main *")].filter((e) => {
    let box = e.parentElement;
    while (box !== document.body && !holds(box)) box = box.parentElement;
    return box === document.body && out(e);
  }).map((e) => e.outerHTML.slice(0, 200)).slice(0, 5).concat("wider than a phone");
}"""
COLORS = ["color-contrast", "link-in-text-block"]
FIND = """async ({ rules, colors }) => {
  const { violations } = await axe.run(colors ? { include: examples } : document, {
    preload: false,
    resultTypes: ["violations"],
    ...(colors ? { runOnly: rules }
      : { rules: Object.fromEntries(rules.map((rule) => [rule, { enabled: false }])) }),
  });
  return violations.flatMap(({ id, help, nodes }) =>
    nodes.map((n) => `${id}: ${n.target.join(" ")} (${n.failureSummary ?? help})`));
}"""


@pytest.fixture(scope="module")
def visit(browser):
    """Open a page of the site; give it, and what goes wrong from there on."""
    context = browser.new_context(reduced_motion="reduce")
    page, wrong = context.new_page(), []
    page.on(
        "console",
        lambda message: (
            wrong.append(message.text) if message.type in {"error", "warning"} else None
        ),
    )
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("requestfailed", lambda asked: wrong.append(asked.url))

    def opened(name, width, theme):
        page.goto("about:blank")  # what the page before had begun ends here
        wrong.clear()
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=theme)
        page.goto((SITE / name).as_uri())
        page.add_style_tag(content="* { transition: none !important }")
        for start in page.query_selector_all(".explore-start"):  # live figures too
            start.click()
        page.wait_for_function("!document.querySelector('.explore-start')")
        page.evaluate(OPEN)
        page.evaluate(AXE)
        return page, wrong

    yield opened
    context.close()


def turn(page, width, theme):
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=theme)
    page.wait_for_function(f"document.documentElement.dataset.theme === '{theme}'")


STOPS = """[...document.querySelectorAll(".bd-article pre")]
  .every((box) => box.scrollWidth <= box.clientWidth || box.tabIndex >= 0)"""


def check(page, wrong, *lights):
    """Everything but colors as the page stands, and then colors in these lights."""
    # Boxes that scroll become stops of the keyboard, soon; if not, axe says which.
    with contextlib.suppress(playwright.sync_api.TimeoutError):
        page.wait_for_function(STOPS, timeout=5000)
    assert page.evaluate(FIND, {"rules": COLORS, "colors": False}) == []
    turn(page, *lights[0])
    page.wait_for_timeout(100)
    assert wrong == []  # later the page's own scripts miss what is taken away
    page.evaluate(REDUCE)
    for light in lights:
        turn(page, *light)
        page.evaluate(LOOKS)
        found = page.evaluate(FIND, {"rules": COLORS, "colors": True})
        assert found == [], f"colors, {light}"


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_accessible_fits_a_phone_and_says_no_error(visit, name):
    page, wrong = visit(name, 320, "dark")
    assert page.evaluate(WIDER) == []
    turn(page, 390, "dark")
    assert page.evaluate(WIDER) == []
    check(page, wrong, (1400, "light"), (390, "dark"))


@pytest.mark.slow
@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_accessible_in_other_lights_and_on_a_desk(visit, name):
    page, wrong = visit(name, 1400, "dark")
    check(page, wrong, (390, "light"), (1400, "dark"))
