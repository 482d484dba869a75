"""The fonts for text: only what the book uses of them, and in time.

After the build each is written anew, from the file beside the sources, with the
characters of pages and of the scripts of live figures. The font for formulas is cut by
mathml.py, the icons by publishing.py. A page asks for the fonts of its first screen at
once: those that the style sheet asks for come after the first words, which then move.
"""

import html
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from built_pages import read_pages, rewrite
from publishing import cut_font
from sphinx.application import Sphinx
from sphinx.util.logging import getLogger

LOGGER = getLogger(__name__)

FONTS = "fonts/source-*.woff2"
# What is drawn in another font, or not at all.
ELSEWHERE = re.compile(r"<(math|script|style)\b.*?</\1>|<[^>]*>", re.DOTALL)
TYPED = {chr(code) for code in range(0x20, 0x7F)}  # by a reader, in a live figure
STYLE = re.compile(r'<link [^>]*href="([^"]*_static/)[^"]*\.css')
# Under its title a page of the book has a line in italics.
FIRST = re.compile(r"</h1>.{,600}?<em>", re.DOTALL)
PRELOAD = """
  if (location.protocol !== "file:") for (const href of [HREFS]) {
    document.head.append(Object.assign(document.createElement("link"), {
      rel: "preload", as: "font", type: "font/woff2", crossOrigin: "", href }));
  }
"""
FEATURES = ("ccmp", "kern", "liga", "locl", "mark", "mkmk")


def characters(pages: Iterable[str], others: Iterable[str]) -> set[int]:
    """Collect the characters of text, and those that scripts and styles may add."""
    found = set(TYPED)
    for page in pages:
        found.update(html.unescape(ELSEWHERE.sub("", page)))
    for other in others:
        found.update(other)
    return set(map(ord, found))


def announce(page: str, fonts: Sequence[str]) -> str:
    """Have a page ask for the fonts of its first screen before its style sheet.

    By script, since browsers refuse to read ahead in a folder and say so.
    """
    style = STYLE.search(page)
    if style is None or PRELOAD.partition("HREFS")[0] in page:
        return page
    first = [font for font in fonts if "italic" not in font or FIRST.search(page)]
    hrefs = ", ".join(f'"{style[1]}fonts/{font}"' for font in first)
    script = f"<script>{PRELOAD.replace('HREFS', hrefs)}</script>\n"
    return page[: style.start()] + script + page[style.start() :]


def cut_fonts(app: Sphinx, exception: Exception | None) -> None:
    """After the build: write the fonts, and have pages ask for them."""
    out = Path(app.outdir)
    sources = sorted(Path(app.confdir, "book", "_static").glob(FONTS))
    if exception or app.builder.format != "html" or not sources:
        return
    static = out / "_static"
    pages = read_pages(out)
    others = [*static.glob("course.*s"), *(static / "explore").glob("*.js")]
    keep = characters(pages.values(), (path.read_text("utf-8") for path in others))
    for source in sources:
        cut_font(source, static / "fonts" / source.name, keep, FEATURES)
    fonts = [source.name for source in sources]
    rewrite(pages, lambda _, page: announce(page, fonts))
    LOGGER.info("[text_fonts] %d characters of text", len(keep))


def setup(app: Sphinx) -> dict[str, Any]:
    """Cut them once all pages are written."""
    app.connect("build-finished", cut_fonts)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
