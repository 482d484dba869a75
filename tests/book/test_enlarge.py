"""Pictures that a phone shows larger, in a real browser."""

import base64

import pytest
from small_books import ROOT
from stills import find_browser, open_page

pytestmark = pytest.mark.skipif(
    find_browser() is None, reason="no Chromium: install it to test the pictures"
)

STATIC = ROOT / "book" / "_static"
# As a figure of seven inches whose smallest words have eight points: 10.7 pixels.
PICTURE = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="504pt" height="300pt" '
    'viewBox="0 0 504 300"><text y="20" font-size="8">words</text></svg>'
)
SOURCE = f"data:image/svg+xml;base64,{base64.b64encode(PICTURE.encode()).decode()}"
HEAD = f"""
<meta name="viewport" content="width=device-width">
<link rel="stylesheet" href="{(STATIC / "course.css").as_uri()}">
<script src="{(STATIC / "course.js").as_uri()}"></script>
"""
BODY = f"""
<article class="bd-article"><section><p>Some text.</p>
<figure><img alt="A curve" src="{SOURCE}" style="width: 100%">
<figcaption><span class="caption-number">Fig. 2.1 </span>A curve.</figcaption></figure>
<div class="cell_output"><img alt="A map" src="{SOURCE}"></div>
<figure><explore-x class="explore"><img alt="A live one" src="{SOURCE}"></explore-x>
</figure></section></article>
"""
ACTIONS = """
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
def phone():
    return open_page(HEAD, BODY, ACTIONS, (500, 844))


def test_each_picture_has_a_button_that_names_it(phone):
    assert phone["names"] == ["Enlarge Fig. 2.1", "Enlarge the picture"]
    assert phone["shown"] == "block"


def test_wide_screens_show_no_button():
    assert open_page(HEAD, BODY, ACTIONS)["shown"] == "none"


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
