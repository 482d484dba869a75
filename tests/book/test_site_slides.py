"""Slides of the built site: each fits its sheet, turns by keys and prints."""

import re

import pytest
import slides
import yaml
from pypdf import PdfReader
from small_books import ROOT

SITE = ROOT / "_build" / "html"

pytestmark = pytest.mark.skipif(
    not (SITE / "searchindex.js").exists(), reason="run `make book` first"
)

MEASURE = """async () => {
  await document.fonts.ready;
  await new Promise((done) => setTimeout(done, 100));
  const press = (key) => dispatchEvent(new KeyboardEvent("keydown", { key }));
  const now = () => Number(document.querySelector(".now").id);
  const turned = [now()];
  for (const key of ["ArrowRight", " ", "ArrowLeft", "End", "PageDown", "Home"])
    press(key), turned.push(now());
  const boxes = [...document.querySelectorAll(".slide")].map((slide) => {
    const parts = [...slide.querySelectorAll(".body, pre")];
    const letters = [...slide.querySelectorAll("p, li, pre, td, figcaption")];
    return {
      over: Math.max(...parts.map((e) =>
        Math.max(e.scrollHeight - e.clientHeight, e.scrollWidth - e.clientWidth))),
      size: Math.min(99, ...letters.map(
        (e) => parseFloat(getComputedStyle(e).fontSize))),
    };
  });
  return { turned, boxes };
}"""
TOC = yaml.safe_load((ROOT / "_toc.yml").read_text("utf-8"))
ROAD = [
    chapter["file"]
    for part in TOC["parts"]
    if part.get("numbered")
    for chapter in part["chapters"]
]


@pytest.fixture(scope="module")
def sheet(browser):
    return browser.new_page(viewport={"width": 800, "height": 600})


def deck(name, folder):
    """The deck of a page in a file, and its slides."""
    page = SITE / f"{name}.html"
    made = list(slides.slides(SITE, page))
    text = slides.write(made, slides.title(page), slides.style(SITE))
    (folder / "deck.html").write_text(text, "utf-8")
    return folder / "deck.html", text, made


@pytest.mark.parametrize("name", ROAD)
def test_every_slide_of_our_decks_fits_its_sheet(name, sheet, tmp_path):
    path, text, made = deck(name, tmp_path)
    assert not re.search(r"(?:src|href)=\"(?!data:)|url\((?!data:)", text)
    assert {"title", "picture", "list"} <= {slide.kind for slide in made}
    sheet.goto(path.as_uri())
    said, last = sheet.evaluate(MEASURE), len(made)
    assert said["turned"] == [1, 2, 3, 2, last, last, 1]
    for number, box in enumerate(said["boxes"], 1):
        assert box["over"] <= 1, f"slide {number}: {box}"
        assert box["size"] >= 12, f"slide {number}: {box}"


def test_a_deck_prints_one_slide_a_sheet(sheet, tmp_path):
    path, _, made = deck("book/architectures/gpt", tmp_path)
    sheet.goto(path.as_uri())
    paper = tmp_path / "deck.pdf"
    sheet.pdf(path=paper, prefer_css_page_size=True, print_background=True)
    sheets = PdfReader(paper).pages
    assert len(sheets) == len(made)
    assert {round(p.mediabox.width / p.mediabox.height, 2) for p in sheets} == {1.78}
