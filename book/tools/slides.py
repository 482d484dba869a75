"""Make slides of the pages, from the built site: what a lecturer shows.

    python book/tools/slides.py                  # the road, into _build/slides
    python book/tools/slides.py gpt attention    # some pages, optional ones too

A deck is one file that needs no other: arrow keys turn the slides, and a browser prints
them, one a sheet. On them stand, in the order of the page and under its headings: the
title and the question; pictures with the first sentences of their captions; numbered
equations with a sentence that follows; tables; the classes, in both frameworks; printed
results of several lines; the summary, and the exercises' titles. The rest is said.
"""

import argparse
import base64
import copy
import html
import mimetypes
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

import yaml
from bs4 import BeautifulSoup, Tag
from paper import ROOT, contents, title

DECK = Path(__file__).parent / "deck"
STYLES = ("pygments.css", "course.css", "math.css")
CLASS = re.compile(r"^class \w+\((?:nn|nnx)\.Module\)", re.MULTILINE)
SENTENCE = re.compile(r"(?<=[.?!])\s+(?=[A-Z])")
URL = re.compile(r"url\([\"']?([^)\"']+)[\"']?\)")
FACE = re.compile(r"@font-face \{.*?\}", re.DOTALL)
AFTER = ("Exercises", "Summary", "Further reading")
ROWS = range(4, 17)  # lines of a printed result that is a table of its own
HIGH, WIDE = 30, 66  # a class of more lines or columns has a slide for each framework
LONG = 26  # a class of more lines has several
PICTURE = 240  # characters of a caption


class Slide(NamedTuple):
    """A slide: its kind, its heading, and what stands under it, as HTML."""

    kind: str
    heading: str
    body: str


def inline(path: Path) -> str:
    """Write a file as an address that holds it."""
    kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    kind = "font/woff2" if path.suffix == ".woff2" else kind
    return f"data:{kind};base64,{base64.b64encode(path.read_bytes()).decode()}"


def clean(element: Tag) -> str:
    """Copy a part of the page without what one clicks on."""
    element = copy.copy(element)
    for link in element.select("a.headerlink, button, .copybtn"):
        link.decompose()
    for link in element.select("a"):
        link.unwrap()
    for part in element.select("[id], [tabindex]"):
        for name in ("id", "tabindex"):
            part.attrs.pop(name, None)
    return element.decode_contents()


def sentences(text: str, limit: int) -> str:
    """Take the first sentences of some HTML, up to so many characters of words."""
    found = ""
    for sentence in SENTENCE.split(" ".join(text.split())):
        size = len(re.sub(r"<math.*?</math>|<[^>]*>", "", found + sentence))
        if found and size > limit:
            break
        found += f"{' ' if found else ''}{sentence}"
    # A tag that a later sentence closes.
    return str(BeautifulSoup(found, "html.parser"))


def question(article: Tag) -> str:
    """Find the page's question: what leads to its first question mark, or the start."""
    first = article.find("h2")
    opening = [
        p
        for p in (first or article).find_all_previous("p")
        if p.parent is not None and p.parent.name == "section"
    ][::-1]
    opening = [p for p in opening if not re.search(r"\d minutes\b.* ·", p.get_text())]
    asked = next((p for p in opening if "?" in p.get_text()), None)
    chosen = asked or (opening[0] if opening else None)
    if chosen is None:
        return ""
    words = clean(chosen)
    words = re.sub(r"(\?)\s.*", r"\1", words, flags=re.DOTALL) if asked else words
    text = f"<p>{sentences(words, 420)}</p>"
    quoted = chosen.find_next_sibling()
    if quoted is not None and quoted.name == "blockquote":
        text += f"<blockquote>{clean(quoted)}</blockquote>"
    return text


def picture(site: Path, page: Path, figure: Tag) -> str:
    """Write a figure with the picture in it, and its caption's first sentences.

    The caption of a live figure says what to try; here stands what it is called.
    """
    image = figure.find("img")
    if image is None:
        return ""
    path = (page.parent / unquote(str(image["src"]))).resolve()
    alt = html.escape(str(image.get("alt", "")), quote=True)
    caption, live = figure.select_one(".caption-text"), figure.select_one(".explore")
    words = sentences(clean(caption), PICTURE) if caption else ""
    words = html.escape(str(live["data-label"])) if live else words
    return (
        f'<figure><img src="{inline(path)}" alt="{alt}">'
        f"<figcaption>{words}</figcaption></figure>"
    )


def equation(formula: Tag) -> str:
    """Write an equation, and the sentence after it, if one begins there."""
    after = formula.find_next_sibling()
    words = clean(after) if after is not None and after.name == "p" else ""
    words = sentences(words, 0)
    if not re.match(r"(?:<[^>]*>)*[A-Z]", words) or words.endswith(":"):
        words = ""
    said = f"<p>{words}</p>" if words else ""
    return f'<div class="equation">{clean(formula)}</div>{said}'


def class_of(block: Tag) -> str:
    """Take the classes from a block of code, and leave what else its cell does."""
    kept, keep = [], False
    plain = block.get_text().split("\n")
    for text, line in zip(plain, clean(block).split("\n"), strict=False):
        if text[:1].strip(")]} "):  # not indented: something new
            keep = text.startswith("class ")
        if keep:
            kept.append(line)
    return "\n".join(kept).strip("\n")


def code_of(tab: Tag) -> list[str]:
    """List the code in a tab that defines layers or models, a piece for each cell."""
    blocks = tab.select(".cell_input pre")
    return [class_of(block) for block in blocks if CLASS.search(block.get_text())]


def split(text: str) -> list[str]:
    """Part code that is too long for a sheet at the empty lines nearest to its middle.

    Pygments ends what it colors with each line.
    """
    lines = text.strip("\n").split("\n")
    empty = [i for i, line in enumerate(lines) if not line.strip()]
    if len(lines) <= LONG or not empty:
        return ["\n".join(lines)]
    middle = min(empty, key=lambda i: abs(i - len(lines) / 2))
    parts = ("\n".join(lines[:middle]), "\n".join(lines[middle + 1 :]))
    return [part for half in parts for part in split(half)]


def code(text: str, name: str) -> str:
    """Write code under its framework's name."""
    text = f'<pre class="fit">{text}</pre>'
    text = f'<div class="highlight">{text}</div>'
    return f'<div class="code"><h3>{html.escape(name)}</h3>{text}</div>'


def classes(tabs: Tag, heading: str) -> Iterator[Slide]:
    """Show a class in both frameworks, side by side if there is room."""
    labels = [
        " ".join(label.get_text().split()) for label in tabs.select(".sd-tab-label")
    ]
    columns = [code_of(tab) for tab in tabs.select(".sd-tab-content")]
    for texts in zip(*columns, strict=False):
        lines = [
            len(html.unescape(re.sub(r"<[^>]*>", "", line)))
            for text in texts
            for line in text.split("\n")
        ]
        named = list(zip(texts, labels, strict=False))
        if max(t.count("\n") for t in texts) < HIGH and max(lines) <= WIDE:
            yield Slide("both", heading, "".join(code(*each) for each in named))
            continue
        for text, name in named:
            for part in split(text):
                yield Slide("one", heading, code(part, name))


def result(output: Tag) -> str:
    """Write what a cell printed, if it is a table of its own."""
    text = output.get_text().rstrip()
    if text.count("\n") + 1 not in ROWS or not re.search(r"\d", text):
        return ""
    return f'<div class="result"><pre class="fit">{html.escape(text)}</pre></div>'


def inside(element: Tag, selector: str) -> bool:
    """Say whether an element stands inside another of a kind."""
    return any(parent.css.match(selector) for parent in element.parents if parent.name)


def shown(site: Path, page: Path, section: Tag, heading: str) -> Iterator[Slide]:
    """Go through a part of the page, in its order."""
    hidden = ".exercise, .solution, .cell_input, details:not(.below-input), figure"
    second = ".sd-tab-content ~ .sd-tab-content"
    for part in section.select(
        "figure, div.math[id], table.table, .framework-tabs, .cell_output pre"
    ):
        if inside(part, hidden) or inside(part, second):
            continue
        if part.name == "figure":
            if body := picture(site, page, part):
                yield Slide("picture", heading, body)
        elif part.css.match("div.math"):
            yield Slide("formula", heading, equation(part))
        elif part.name == "table":
            if not inside(part, ".cell_input") and len(part.select("tr")) <= 10:
                body = f'<div class="fit"><table>{clean(part)}</table></div>'
                yield Slide("table", heading, body)
        elif part.name == "pre":
            if body := result(part):
                yield Slide("printed", heading, body)
        else:
            yield from classes(part, heading)


def slides(site: Path, page: Path) -> Iterator[Slide]:
    """Take from a page what its deck shows."""
    soup = BeautifulSoup(page.read_text("utf-8"), "html.parser")
    article = soup.select_one("article")
    if article is None or article.find("h1") is None:
        return
    yield Slide("title", title(page), question(article))
    first = article.find("section") or article
    opening = BeautifulSoup("", "html.parser").new_tag("section")
    for child in list(first.children):
        if isinstance(child, Tag) and child.name != "section":
            opening.append(copy.copy(child))
    yield from shown(site, page, opening, title(page))
    for section in first.find_all("section", recursive=False):
        heading = section.find("h2")
        if heading is None:
            continue
        for number in heading.select(".section-number, a.headerlink"):
            number.decompose()
        words = clean(heading)
        if words not in AFTER:
            yield from shown(site, page, section, words)
    if (summary := article.select_one("section#summary ul")) is not None:
        yield Slide("list", "Summary", f'<ul class="fit">{clean(summary)}</ul>')
    titles = [
        re.sub(r"^\s*\((.*)\)\s*$", r"\1", clean(number.parent).partition("</span>")[2])
        for number in article.select(".exercise .caption-number")
        if number.parent is not None
    ]
    if titles:
        items = "".join(f"<li>{words}</li>" for words in titles)
        yield Slide("list", "Exercises", f'<ol class="fit">{items}</ol>')


def style(site: Path) -> str:
    """Join the styles that a deck needs, with the fonts in them."""
    static = site / "_static"
    text = "\n".join((static / name).read_text("utf-8") for name in STYLES[:1])
    for name in STYLES[1:]:
        sheet = (static / name).read_text("utf-8")
        if name == "course.css":  # its fonts: the rest is a page's
            sheet = "\n".join(FACE.findall(sheet))
        text += "\n" + sheet
    text = URL.sub(lambda match: f"url({inline(static / match[1])})", text)
    return f"{text}\n{(DECK / 'deck.css').read_text('utf-8')}"


def write(made: Sequence[Slide], name: str, look: str) -> str:
    """Write a deck."""
    page = (DECK / "deck.html").read_text("utf-8")
    sheets = []
    for number, slide in enumerate(made, 1):
        tag = "h1" if slide.kind == "title" else "h2"
        sheets.append(
            f'<section class="slide {slide.kind}" id="{number}" role="group" '
            f'aria-roledescription="slide" aria-label="{number} of {len(made)}">\n'
            f"<{tag}>{slide.heading}</{tag}>\n"
            f'<div class="body">{slide.body}</div>\n'
            f"<footer><span>{html.escape(name)}</span><span>{number}</span></footer>"
            "</section>"
        )
    for key, value in {
        "{title}": html.escape(name),
        "{style}": look,
        "{slides}": "\n".join(sheets),
        "{script}": (DECK / "deck.js").read_text("utf-8"),
    }.items():
        page = page.replace(key, value)
    return page


def main(arguments: Sequence[str] | None = None) -> int:
    """Make the decks that were asked for; return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("pages", nargs="*", help="slugs; without any, the road")
    parser.add_argument("--root", type=Path, default=ROOT)
    options = parser.parse_args(arguments)
    site, out = options.root / "_build" / "html", options.root / "_build" / "slides"
    if not site.is_dir():
        print(f"There is no site in {site}: run `make book` first.")
        return 1
    toc = yaml.safe_load((options.root / "_toc.yml").read_text("utf-8"))
    numbered = {
        chapter["file"]
        for part in toc["parts"]
        if part.get("numbered")
        for chapter in part["chapters"]
    }
    known = {Path(e.file).name: e.file for e in contents(toc) if e.file}
    if wrong := sorted(set(options.pages) - set(known)):
        print(f"No page is called {', '.join(wrong)}. There are: {', '.join(known)}")
        return 1
    chosen = options.pages or [slug for slug in known if known[slug] in numbered]
    out.mkdir(parents=True, exist_ok=True)
    look = style(site)
    for slug in chosen:
        page = site / f"{known[slug]}.html"
        made = list(slides(site, page))
        deck = out / f"{slug}.html"
        deck.write_text(write(made, title(page), look), "utf-8")
        print(f"{deck.name}: {len(made)} slides", flush=True)
    print(f"Open one in a browser: {out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
