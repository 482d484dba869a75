"""Slides of the built site: each fits its sheet, turns by keys and prints."""

import json
import re
import subprocess
from html import unescape

import pytest
import slides
import yaml
from pypdf import PdfReader
from small_books import ROOT
from stills import find_browser

MEASURE = """<script>
addEventListener("load", async () => {
  await document.fonts.ready;
  await new Promise((done) => setTimeout(done, 500));
  const said = document.createElement("pre");
  said.id = "result";
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
  said.textContent = JSON.stringify({ turned, boxes });
  document.body.append(said);
});</script></body>"""
TOC = yaml.safe_load((ROOT / "_toc.yml").read_text("utf-8"))
ROAD = [
    chapter["file"]
    for part in TOC["parts"]
    if part.get("numbered")
    for chapter in part["chapters"]
]


def browse(deck, profile, *options):
    command = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
    command += ["--virtual-time-budget=10000", f"--user-data-dir={profile}", *options]
    return subprocess.run(
        [find_browser(), *command, deck.as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    ).stdout


@pytest.mark.parametrize("name", ROAD)
def test_every_slide_of_our_decks_fits_its_sheet(name, tmp_path):
    page = ROOT / "_build" / "html" / f"{name}.html"
    if find_browser() is None or not page.exists():
        pytest.skip("needs Chromium and the built book")
    look = slides.style(ROOT / "_build" / "html")
    made = list(slides.slides(ROOT / "_build" / "html", page))
    text = slides.write(made, slides.title(page), look)
    assert not re.search(r"(?:src|href)=\"(?!data:)|url\((?!data:)", text)
    assert {"title", "picture", "list"} <= {slide.kind for slide in made}
    deck = tmp_path / "deck.html"
    deck.write_text(text.replace("</body>", MEASURE), "utf-8")
    found = re.search(
        r'<pre id="result">(.*?)</pre>',
        browse(deck, tmp_path / "a", "--dump-dom"),
        re.DOTALL,
    )
    said = json.loads(unescape(found[1]))
    last = len(made)
    assert said["turned"] == [1, 2, 3, 2, last, last, 1]
    for number, box in enumerate(said["boxes"], 1):
        assert box["over"] <= 1, f"slide {number}: {box}"
        assert box["size"] >= 12, f"slide {number}: {box}"


def test_a_deck_prints_one_slide_a_sheet(tmp_path):
    page = ROOT / "_build" / "html" / "book" / "architectures" / "gpt.html"
    if find_browser() is None or not page.exists():
        pytest.skip("needs Chromium and the built book")
    made = list(slides.slides(ROOT / "_build" / "html", page))
    deck, paper = tmp_path / "deck.html", tmp_path / "deck.pdf"
    deck.write_text(slides.write(made, "GPT", slides.style(ROOT / "_build" / "html")))
    options = ("--no-pdf-header-footer", f"--print-to-pdf={paper}")
    browse(deck, tmp_path / "a", *options)
    sheets = PdfReader(paper).pages
    assert len(sheets) == len(made)
    assert {round(p.mediabox.width / p.mediabox.height, 2) for p in sheets} == {1.78}
