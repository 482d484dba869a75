"""What extensions write into pages and HTML doesn't allow, or a phone waits for.

After the build, in each page: no name twice, no paragraph where only words may stand,
one statement about the window; what an exercise is called is a heading. A picture has
its size, so that nothing moves when it arrives, and arrives when one comes near it,
unless it stands on the first screen. Scripts that the page doesn't need to be drawn
wait until it is read.
"""

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from built_pages import read_pages, rewrite
from PIL import Image
from sphinx.application import Sphinx

Size = tuple[int, int]

REPAIRS = [
    (re.compile(r'<section id="(?:exercise|solution)-content">'), "<section>"),
    # Sphinx's roles for sources, of which one is deprecated and one lists no items.
    (re.compile(r' role="doc-biblioentry"| role="list"(?= class="citation-list")'), ""),
    (re.compile(r'(<label) aria-controls="[^"]*"'), r"\1"),
    # The arguments of a long signature, each on its line: a list of answers to nothing.
    (re.compile(r'<dd>(<em class="sig-param">.*)</dd>'), r"<span>\1</span>"),
    (
        re.compile(r'<dl>(\n<span><em class="sig-param">(?:.*\n)+?)</dl>'),
        r'<span class="arguments">\1</span>',
    ),
    (
        re.compile(r'<p (class="(?:collapsed|expanded) admonition-title">[^<]*)</p>'),
        r"<span \1</span>",
    ),
    (
        re.compile(r'(<div class="exercise [^>]*>\s*<p class="admonition-title")>'),
        r'\1 role="heading" aria-level="3">',
    ),
]
# The theme says what Sphinx has said, twice.
WINDOW = re.compile(r'\s*<meta name="viewport"[^>]*>')
# All but a page's settings, which its own lines of script then change.
SCRIPT = re.compile(
    r'<script (?=(?:data-[\w-]+="[^"]*" )?src="(?![^"]*documentation_options\.js))'
)
IMAGE = re.compile(r'<img (?![^>]*\bwidth=)[^>]*?\bsrc="([^":]+)"[^>]*?(?=\s*/?>)')
LENGTH = re.compile(r'<svg[^>]*?\swidth="([\d.]+)(pt|px)?"[^>]*?\sheight="([\d.]+)')
FIRST = 2  # so many pictures of a page may stand on the first screen


def size_of(path: Path) -> Size | None:
    """Measure a picture, in pixels of the page."""
    if not path.is_file():
        return None
    if path.suffix == ".svg":
        found = LENGTH.search(path.read_text("utf-8"))
        if found is None:
            return None
        pixels = 4 / 3 if found[2] == "pt" else 1
        return round(float(found[1]) * pixels), round(float(found[3]) * pixels)
    with Image.open(path) as picture:
        return picture.size


def repair(text: str, measure: Callable[[str], Size | None]) -> str:
    """Repair the text of a page, whose pictures are measured by their addresses."""
    for pattern, instead in REPAIRS:
        text = pattern.sub(instead, text)
    if window := WINDOW.search(text):
        text = text[: window.end()] + WINDOW.sub("", text[window.end() :])
    if 'searchindex.js"' not in text:  # there they wait for each other
        text = SCRIPT.sub("<script defer ", text)
    seen = 0

    def sized(match: re.Match[str]) -> str:
        nonlocal seen
        size = measure(unquote(match[1]))
        if size is None:
            return match[0]
        seen += 1
        later = ' loading="lazy"' if seen > FIRST else ""
        return f'{match[0]} width="{size[0]}" height="{size[1]}"{later}'

    head, body, rest = text.partition('<article class="bd-article"')  # not the frame
    return head + body + IMAGE.sub(sized, rest)


def repair_pages(app: Sphinx, exception: Exception | None) -> None:
    """After the build: repair each page."""
    if exception:
        return
    measure = cache(size_of)  # a picture stands on several pages

    def repaired(path: Path, page: str) -> str:
        def found(address: str) -> Size | None:
            return measure((path.parent / address.partition("?")[0]).resolve())

        return repair(page, found)

    rewrite(read_pages(Path(app.outdir)), repaired)


def setup(app: Sphinx) -> dict[str, Any]:
    """Repair after all others have written."""
    app.connect("build-finished", repair_pages, priority=900)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
