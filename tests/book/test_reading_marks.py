"""Which pages were read, in a real browser: marked at their end, and forgotten."""

import json
import re

import pytest
from small_books import ROOT
from stills import find_browser, open_page

pytestmark = pytest.mark.skipif(
    find_browser() is None, reason="no Chromium: install it to test the marks"
)

SCRIPT = (ROOT / "book" / "_static" / "course.js").as_uri()
BODY = """
<div class="bd-sidebar-primary"><nav class="bd-links">
<a href="#">Attention</a><a href="../similarity/tokens.html">Tokens</a>
<a href="https://example.org/">Elsewhere</a></nav></div>
<article class="bd-article" style="height: 3000px"></article>
<footer class="prev-next-footer">The end</footer>
"""
ACTIONS = """
const marked = () => [...document.querySelectorAll("a.read")].map((a) => a.textContent);
const button = () => document.querySelector(".forget-read");
const toTheEnd = () => {
  window.scrollTo(0, 9999);
  window.dispatchEvent(new Event("scroll"));  // no frame is drawn here, which would
};
window.dispatchEvent(new Event("scroll"));
const first = { marked: marked(), hidden: button().hidden };
toTheEnd();
const leafed = marked();
window.scrollTo(0, 0);
await wait(10500);
window.dispatchEvent(new Event("scroll"));
const notYet = marked();
toTheEnd();
const read = marked(), kept = localStorage.getItem("course-read");
const shown = !button().hidden;
button().click();
return { first, leafed, notYet, read, kept, shown, forgotten: marked(),
  left: localStorage.getItem("course-read"), hidden: button().hidden };
"""


@pytest.fixture(scope="module")
def said():
    return open_page(f'<script src="{SCRIPT}"></script>', BODY, ACTIONS)


def test_a_page_is_marked_at_its_end_and_not_when_it_is_leafed_through(said):
    assert said["first"] == {"marked": [], "hidden": True}
    assert said["leafed"] == said["notYet"] == []
    assert said["read"] == ["Attention (read)"]
    # By its folder and name, so that another version of the book has the same marks.
    (kept,) = json.loads(said["kept"])
    assert re.fullmatch(r"[\w-]+/page", kept)


def test_the_button_forgets_all_of_it(said):
    assert said["shown"]
    assert said["forgotten"] == []
    assert said["left"] == "[]"
    assert said["hidden"]
