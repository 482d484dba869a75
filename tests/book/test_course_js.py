"""What the pages' own script does, in a real browser: pictures, switch, marks."""

import base64
import json
import re

import pytest
from small_books import ROOT

STATIC = ROOT / "book" / "_static"
HEAD = f"""
<meta name="viewport" content="width=device-width">
<link rel="stylesheet" href="{(STATIC / "course.css").as_uri()}">
<script src="{(STATIC / "course.js").as_uri()}"></script>
"""


# Pictures that a phone shows larger

# As a figure of seven inches whose smallest words have eight points: 10.7 pixels.
PICTURE = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="504pt" height="300pt" '
    'viewBox="0 0 504 300"><text y="20" font-size="8">words</text></svg>'
)
SOURCE = f"data:image/svg+xml;base64,{base64.b64encode(PICTURE.encode()).decode()}"
PICTURES_BODY = f"""
<article class="bd-article"><section><p>Some text.</p>
<figure><img alt="A curve" src="{SOURCE}" style="width: 100%">
<figcaption><span class="caption-number">Fig. 2.1 </span>A curve.</figcaption></figure>
<div class="cell_output"><img alt="A map" src="{SOURCE}"></div>
<figure><explore-x class="explore"><img alt="A live one" src="{SOURCE}"></explore-x>
</figure></section></article>
"""
PICTURES_ACTIONS = """
const buttons = [...document.querySelectorAll(".enlarge")];
const dialog = document.querySelector("dialog.picture");
const [close, frame] = dialog.children;
const state = () => [dialog.open, document.activeElement === buttons[0]];
const open = () => { buttons[0].focus(); buttons[0].click(); };
open();
const shown = frame.querySelector("img");
await wait(50);
const scale = shown.getBoundingClientRect().width / 504;
const said = {
  shown: getComputedStyle(buttons[0]).display,
  names: buttons.map((button) => button.textContent),
  opened: state(), dialog: dialog.ariaLabel, alt: shown.alt, words: 8 * scale,
  pans: frame.scrollWidth > frame.clientWidth && frame.tabIndex === 0,
};
close.click();
await wait(50);
said.button = state();
open();
dialog.dispatchEvent(new MouseEvent("click"));
await wait(50);
said.backdrop = state();
open();
shown.click();
said.picture = dialog.open;
dialog.requestClose?.() ?? dialog.close(); // as Esc does
await wait(50);
said.escape = state();
return said;
"""


@pytest.fixture(scope="module")
def phone(opened):
    return opened(HEAD, PICTURES_BODY, PICTURES_ACTIONS, (500, 844))


def test_each_picture_has_a_button_that_names_it(phone):
    assert phone["names"] == ["Enlarge Fig. 2.1", "Enlarge the picture"]
    assert phone["shown"] == "block"


def test_wide_screens_show_no_button(opened):
    assert opened(HEAD, PICTURES_BODY, PICTURES_ACTIONS)["shown"] == "none"


def test_a_picture_opens_with_its_name_and_legible_words(phone):
    assert phone["opened"] == [True, False]
    assert phone["dialog"] == "Fig. 2.1"
    assert phone["alt"] == "A curve"
    assert phone["words"] >= 12
    assert phone["pans"]


@pytest.mark.parametrize("way", ["button", "backdrop", "escape"])
def test_it_closes_and_the_focus_goes_back(phone, way):
    assert phone[way] == [False, True]


def test_a_touch_of_the_picture_leaves_it_open(phone):
    assert phone["picture"]


# The switch of frameworks in the header: it keeps one's place

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
SWITCH_ACTIONS = """
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
SWITCH_BODY = f"""
<div class="article-header-buttons"></div><article class="bd-article"><section>
{"".join(TABS.format(i=i) for i in range(6))}
<div class="cell_output"><pre>{"A sentence that goes on and on. " * 5}</pre></div>
<div class="cell_output"><pre>{"1.00    2.00    " * 8}</pre></div>
<p style="height: 900px">The end.</p></section></article><script>{SYNC}</script>
"""


@pytest.fixture(scope="module")
def switched(opened):
    hidden = ".framework-tabs > input:not(:checked) + label + div { display: none }"
    return opened(f"<style>{hidden}</style>{HEAD}", SWITCH_BODY, SWITCH_ACTIONS)


def test_one_press_chooses_the_framework_everywhere(switched):
    assert switched["before"] == ["PyTorch"]
    assert switched["chosen"] == [f"n{i}" for i in range(6)]


def test_what_one_reads_stays_where_it_was(switched):
    # Four tab sets above it have grown by 300 pixels each.
    assert switched["there"] == pytest.approx(-60, abs=1)
    assert switched["after"] == pytest.approx(switched["there"], abs=1)


def test_a_tab_that_is_clicked_stays_under_the_finger(switched):
    assert switched["pressed"] == ["PyTorch"]
    assert switched["moved"] == pytest.approx(0, abs=1)


def test_sentences_wrap_and_tables_do_not(switched):
    assert switched["wraps"] == [True, False]


# Which pages were read: marked at their end, and forgotten

MARKS_BODY = """
<div class="bd-sidebar-primary"><nav class="bd-links">
<a href="#">Attention</a><a href="../similarity/tokens.html">Tokens</a>
<a href="https://example.org/">Elsewhere</a></nav></div>
<article class="bd-article" style="height: 3000px"></article>
<footer class="prev-next-footer">The end</footer>
"""
MARKS_ACTIONS = """
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
def read(opened):
    return opened(HEAD, MARKS_BODY, MARKS_ACTIONS)


def test_a_page_is_marked_at_its_end_and_not_when_it_is_leafed_through(read):
    assert read["first"] == {"marked": [], "hidden": True}
    assert read["leafed"] == read["notYet"] == []
    assert read["read"] == ["Attention (read)"]
    # By its folder and name, so that another version of the book has the same marks.
    (kept,) = json.loads(read["kept"])
    assert re.fullmatch(r"[\w-]+/page", kept)


def test_the_button_forgets_all_of_it(read):
    assert read["shown"]
    assert read["forgotten"] == []
    assert read["left"] == "[]"
    assert read["hidden"]


# Boxes that go on to the right

FADES_BODY = f"""
<article class="bd-article" style="width: 360px">
<div class="cell_output">
<pre id="wide" style="overflow: auto">{"1.00    2.00    " * 8}</pre></div>
<div class="cell_output"><pre id="narrow">1.00    2.00</pre></div>
<div class="pst-scrollable-table-container" id="table" style="overflow-x: auto">
<table class="table printed">
<tr><th>name</th>{"<td>1,000,000</td>" * 9}</tr></table></div>
<figure id="drawing"><a href="#"><img alt="A drawing" src="drawing.svg"
style="--least: 500px"></a></figure>
<figure id="whole"><a href="#"><img class="whole" alt="A drawing" src="drawing.svg"
style="--least: 500px; width: 100%; display: block"></a></figure>
<div class="cell_output"><div class="output" id="printed">2.00</div>
<figure id="plot"><a href="#"><img alt="A plot" src="plot.png"
style="width: 80%; display: block"></a></figure>
<figure id="small"><a href="#"><img class="wide" alt="A plot with small letters"
src="plot.png" style="width: 100%; display: block"></a></figure></div>
<figure><explore-x class="explore" data-live></explore-x><figcaption>
<span class="caption-number" id="live">Fig. 1</span></figcaption></figure>
<figure><explore-x class="explore"></explore-x><figcaption>
<span class="caption-number" id="still">Fig. 2</span></figcaption></figure>
</article>
"""
FADES_ACTIONS = """
const box = (id) => document.querySelector(`#${id}`);
const fades = (e) => getComputedStyle(e).maskImage !== "none";
const settled = async (expected) => {  // the browser looks when it finds the time
  for (let i = 0; i < 100 && fades(box("wide")) !== expected; i++) await wait(50);
  await wait(50);
  return ["wide", "narrow", "table"].map((id) => fades(box(id)));
};
const start = await settled(true);
for (const id of ["wide", "table"]) box(id).scrollLeft = 9999;
for (const id of ["wide", "table"]) box(id).dispatchEvent(new Event("scroll"));
const end = await settled(false);
const first = box("table").querySelector("th").getBoundingClientRect().left;
const link = box("drawing").firstElementChild;
const picture = link.firstElementChild;
const look = () => getComputedStyle(picture).filter;
document.documentElement.dataset.theme = "light";
const day = look();
const pictures = ["drawing", "whole", "plot", "small"].map(box);
const widths = pictures.map((figure) =>
  figure.querySelector("img").getBoundingClientRect().width / figure.clientWidth);
const moves = pictures.map((figure) => fades(figure.firstElementChild));
document.documentElement.dataset.theme = "dark";
return { start, end, kept: first - box("table").getBoundingClientRect().left,
  width: picture.getBoundingClientRect().width, scrolls: fades(link), day,
  widths, moves,
  indented: parseFloat(getComputedStyle(box("printed")).paddingLeft),
  night: look(), badges: ["live", "still"].map((id) =>
    getComputedStyle(box(id), "::after").content) };
"""


@pytest.fixture(scope="module")
def faded(opened):
    body = f'<main class="bd-content">{FADES_BODY}</main>'
    return opened(HEAD, body, FADES_ACTIONS, (390, 844))


def test_a_box_fades_where_it_goes_on_and_not_at_its_end(faded):
    assert faded["start"] == [True, False, True]
    assert faded["end"] == [False, False, False]


def test_a_table_that_scrolls_keeps_its_first_column(faded):
    assert faded["kept"] == pytest.approx(0, abs=1)


def test_a_phone_shows_a_drawing_as_wide_as_its_letters_need(faded):
    assert faded["width"] == 500
    assert faded["scrolls"]


def test_a_plot_is_seen_whole_on_a_phone_unless_its_letters_are_small(faded):
    _, whole, plot, small = faded["widths"]
    assert whole == pytest.approx(1)
    assert plot == pytest.approx(1)
    assert small > 1.2
    assert faded["moves"] == [True, False, False, True]


def test_what_a_cell_prints_beside_a_picture_is_indented_as_elsewhere(faded):
    assert faded["indented"] == 16


def test_a_figure_that_has_come_alive_says_so(faded):
    assert faded["badges"] == ['"live"', "none"]


def test_by_night_a_drawing_turns_dark(faded):
    assert faded["day"] == "none"
    assert "invert" in faded["night"]


# What a link leads to, before one goes there

PREVIEW_BODY = """
<article class="bd-article" style="position: relative">
<p><a class="term reference internal" href="words.html#term-mask"
title="What a query may not read.">mask</a> and
<a class="reference internal" href="#fig-x">Fig. 1</a>,
<a class="reference internal" href="other.html">elsewhere</a>.</p>
<figure id="fig-x"><img id="inner" alt="A curve" src="x.svg"><figcaption>A curve.
</figcaption></figure></article>
"""
PREVIEW_ACTIONS = """
const [term, figure, other] = document.querySelectorAll("p a");
const box = document.querySelector("#preview");
const says = () => box.hidden ? null : box.textContent.trim();
const press = (key) => document.dispatchEvent(new KeyboardEvent("keydown", { key }));
const touch = (link) => {
  link.dispatchEvent(new PointerEvent("pointerdown", { pointerType: "touch" }));
  const click = new MouseEvent("click", { cancelable: true });
  link.addEventListener("click", (event) => {
    went = !event.defaultPrevented;
    event.preventDefault();
  }, { once: true });
  link.dispatchEvent(click);
  return went;
};
let went;
const title = term.title;
term.focus({ focusVisible: true });
const focused = says(), described = term.getAttribute("aria-describedby");
press("Escape");
const escaped = [says(), document.activeElement === term];
term.blur();
figure.focus({ focusVisible: true });
const shown = says(), ids = document.querySelectorAll("#fig-x, #inner").length;
figure.blur();
const left = says();
other.focus({ focusVisible: true });
const none = says();
other.blur();
const first = touch(term), seen = says(), second = touch(term);
document.body.dispatchEvent(new PointerEvent("pointerdown", { bubbles: true }));
const away = says();
term.dispatchEvent(new PointerEvent("pointerenter", { pointerType: "mouse" }));
await wait(400);
const pointed = says();
box.dispatchEvent(new PointerEvent("pointerenter", { pointerType: "mouse" }));
term.dispatchEvent(new PointerEvent("pointerleave", { pointerType: "mouse" }));
box.dispatchEvent(new PointerEvent("pointerenter", { pointerType: "mouse" }));
await wait(400);
return { title, focused, described, escaped, shown, ids, left, none, first, seen,
  second, away, pointed, held: says() };
"""


@pytest.fixture(scope="module")
def previewed(opened):
    return opened(HEAD, PREVIEW_BODY, PREVIEW_ACTIONS)


def test_the_keyboard_shows_a_definition_and_escape_hides_it(previewed):
    assert previewed["focused"] == "What a query may not read."
    assert previewed["described"] == "preview"
    assert previewed["escaped"] == [None, True]
    assert previewed["title"] == ""  # or the browser would show it as well


def test_a_figure_is_shown_with_its_caption_and_no_name_twice(previewed):
    assert previewed["shown"] == "A curve."
    assert previewed["ids"] == 2
    assert previewed["left"] is previewed["none"] is None


def test_the_first_touch_shows_and_the_second_goes_there(previewed):
    assert (previewed["first"], previewed["second"]) == (False, True)
    assert previewed["seen"] == "What a query may not read."
    assert previewed["away"] is None


def test_a_preview_that_is_pointed_at_stays(previewed):
    assert previewed["pointed"] == previewed["held"] == "What a query may not read."
