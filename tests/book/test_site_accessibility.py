"""Every page of the built site, in a real browser: axe-core finds nothing to repair.

By day and by night, at 1400 and at 390 pixels, with everything open that can be: what
is folded, and both tabs. No page writes an error to the console or asks for a file that
isn't there. Like test_site.py these tests read `_build/html`.
"""

from pathlib import Path

import axe_playwright_python
import pytest
from playwright.sync_api import sync_playwright
from small_books import ROOT, contents
from stills import find_browser

SITE = ROOT / "_build" / "html"
PAGES = [f"{name}.html" for name, _ in contents()]
PAGES += ["search.html", "genindex.html", "_modules/course_lib/torch/attention.html"]
PAGES += [f"api/{name}.html" for name in ("gpt", "config.gpt", "oracle.models", "plot")]
AXE = Path(axe_playwright_python.__file__).with_name("axe.min.js").read_text("utf-8")

pytestmark = [
    pytest.mark.skipif(find_browser() is None, reason="no Chromium: install it"),
    pytest.mark.skipif(
        not (SITE / "searchindex.js").exists(), reason="run `make book` first"
    ),
]

# Colors are asked of one text of each kind, the first that has its elements' names and
# classes. Of code only these stay apart: it has thousands of tokens, of thirty kinds.
OPEN = """() => {
  for (const e of document.querySelectorAll("details")) e.open = true;
  for (const e of document.querySelectorAll(".framework-tabs > .sd-tab-content"))
    e.style.setProperty("display", "block", "important");
  const paths = new Map([[document, ""]]), kinds = new Set();
  window.examples = [...document.body.querySelectorAll("*")].filter((e) => {
    const path = paths.get(e.parentNode) + `/${e.nodeName}.${e.classList}`;
    paths.set(e, path);
    const speaks = [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
    return speaks && !kinds.has(path) && kinds.add(path);
  });
  const kept = new Set(examples);
  for (const e of document.querySelectorAll(".highlight pre span, code span"))
    if (!kept.has(e)) e.replaceWith(...e.childNodes);
  for (const e of document.querySelectorAll("math"))
    if (!examples.some((example) => e.contains(example))) e.replaceChildren("x");
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
FIND = """async (colors) => {
  const rules = ["color-contrast", "link-in-text-block"];
  const { violations } = await axe.run(colors ? { include: examples } : document, {
    preload: false,
    resultTypes: ["violations"],
    ...(colors ? { runOnly: rules } : { rules: { [rules[0]]: { enabled: false } } }),
  });
  return violations.flatMap(({ id, help, nodes }) =>
    nodes.map((n) => `${id}: ${n.target.join(" ")} (${n.failureSummary ?? help})`));
}"""


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=find_browser(), args=["--no-sandbox"]
        )
        yield chromium
        chromium.close()


@pytest.fixture(params=PAGES)
def visit(browser, request):
    """A page of the site that is open, and what went wrong while it was opened."""
    with browser.new_context(reduced_motion="reduce") as context:
        page, wrong = context.new_page(), []
        page.on(
            "console",
            lambda message: (
                wrong.append(message.text)
                if message.type in {"error", "warning"}
                else None
            ),
        )
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("requestfailed", lambda asked: wrong.append(asked.url))
        page.goto((SITE / request.param).as_uri())
        yield page, wrong


def test_a_page_is_no_wider_than_a_phone(visit):
    page, _ = visit
    page.set_viewport_size({"width": 390, "height": 900})
    page.evaluate(
        'document.querySelectorAll("details").forEach((e) => (e.open = true))'
    )
    page.wait_for_timeout(200)
    assert page.evaluate(WIDER) == []


def test_a_page_is_accessible_and_says_no_error(visit):
    page, wrong = visit
    assert wrong == []
    page.add_style_tag(content="* { transition: none !important }")
    page.evaluate(OPEN)
    page.evaluate(AXE)
    for width in (1400, 390):
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_timeout(400)  # boxes that scroll now become stops of the keyboard
        for theme in ("light", "dark"):
            page.emulate_media(color_scheme=theme)
            page.wait_for_function(
                f"document.documentElement.dataset.theme === '{theme}'"
            )
            found = page.evaluate(FIND, True)
            assert found == [], f"colors, {width} pixels, {theme}"
        assert page.evaluate(FIND, False) == [], f"{width} pixels"
    assert wrong == []
