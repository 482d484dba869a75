"""The switch of frameworks in the header, in a real browser: it keeps one's place."""

import pytest
from small_books import ROOT
from stills import find_browser, open_page

pytestmark = pytest.mark.skipif(
    find_browser() is None, reason="no Chromium: install it to test the switch"
)

TABS = """
<div class="framework-tabs">
  <input type="radio" id="t{i}" name="s{i}" checked>
  <label class="sd-tab-label" data-sync-id="torch" for="t{i}">PyTorch</label>
  <div class="sd-tab-content" style="height: 100px"></div>
  <input type="radio" id="n{i}" name="s{i}">
  <label class="sd-tab-label" data-sync-id="nnx" for="n{i}">Flax NNX</label>
  <div class="sd-tab-content" style="height: 400px"></div>
</div>
<p id="p{i}" style="height: 300px">Some text.</p>
"""
# As sphinx-design does it: one input for all of its framework.
SYNC = """
for (const input of document.querySelectorAll("input")) {
  input.addEventListener("change", () => {
    const name = input.nextElementSibling.dataset.syncId;
    document.querySelectorAll(`[data-sync-id=${name}]`).forEach((label) => {
      label.previousElementSibling.checked = true;
    });
  });
}
"""
ACTIONS = """
const press = (name) => [...document.querySelectorAll(".framework-switch button")]
  .find((button) => button.textContent === name).click();
const pressed = () => [...document.querySelectorAll("[aria-pressed=true]")]
  .map((button) => button.textContent);
const top = (id) => document.getElementById(id).getBoundingClientRect().top;
const before = pressed();
document.getElementById("p3").scrollIntoView();
window.scrollBy(0, 60);
const there = top("p3");
press("Flax NNX");
const after = top("p3");
const chosen = [...document.querySelectorAll("input:checked")].map((input) => input.id);
const label = document.querySelector("label[for=t4]");
const place = label.getBoundingClientRect().top;
label.click();
return {
  before, pressed: pressed(), there, after, chosen,
  moved: label.getBoundingClientRect().top - place,
  wraps: [...document.querySelectorAll(".cell_output pre")]
    .map((pre) => pre.classList.contains("wraps")),
};
"""
HEAD = f"""
<style>.framework-tabs > input:not(:checked) + label + div {{ display: none }}</style>
<script src="{(ROOT / "book" / "_static" / "course.js").as_uri()}"></script>
"""
BODY = f"""
<div class="article-header-buttons"></div><article class="bd-article"><section>
{"".join(TABS.format(i=i) for i in range(6))}
<div class="cell_output"><pre>{"A sentence that goes on and on. " * 5}</pre></div>
<div class="cell_output"><pre>{"1.00    2.00    " * 8}</pre></div>
<p style="height: 900px">The end.</p></section></article><script>{SYNC}</script>
"""


@pytest.fixture(scope="module")
def said():
    return open_page(HEAD, BODY, ACTIONS)


def test_one_press_chooses_the_framework_everywhere(said):
    assert said["before"] == ["PyTorch"]
    assert said["chosen"] == [f"n{i}" for i in range(6)]


def test_what_one_reads_stays_where_it_was(said):
    # Four tab sets above it have grown by 300 pixels each.
    assert said["there"] == pytest.approx(-60, abs=1)
    assert said["after"] == pytest.approx(said["there"], abs=1)


def test_a_tab_that_is_clicked_stays_under_the_finger(said):
    assert said["pressed"] == ["PyTorch"]
    assert said["moved"] == pytest.approx(0, abs=1)


def test_sentences_wrap_and_tables_do_not(said):
    assert said["wraps"] == [True, False]
