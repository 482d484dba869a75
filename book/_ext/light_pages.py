"""After the build: what a phone need not load goes, and pages become valid HTML.

- **One style sheet.** The theme, Sphinx and the extensions put a dozen on each page,
  and a phone shows no word before it has all of them. They become `_static/book.css`,
  with the rules whose classes and ids pages or scripts name.
- **Fonts** have the characters that the book uses: for text, for formulas, and of
  FontAwesome, which the theme ships whole, twice (as a script and as fonts), the icons.
  A page asks at once for those of its first screen.
- **Pictures** that cells draw are shown as WebP without loss, a quarter smaller. All
  have their size, so that nothing moves when they arrive, and arrive when one comes
  near them, unless they stand on the first screen.
  A drawing says how wide it has to be for its smallest letters to be read (course.css).
- **Scripts** wait until a page is read; those that search are on the page for
  searching. What the theme would say by a file of settings and by its last script,
  whether it is day or night, a page says itself, before anything is drawn.
- **HTML** has no name twice, no paragraph where only words may stand, one statement
  about the window; what an exercise is called is a heading; all parts have names.
"""

import html
import posixpath
import re
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from fontTools import subset, ttLib
from lightningcss import process_stylesheet
from PIL import Image
from sphinx.application import Sphinx
from sphinx.util.logging import getLogger

LOGGER = getLogger(__name__)

# --- One style sheet

SHEET = "book.css"
LINK = re.compile(
    r'<link (?=[^>]*\brel="stylesheet")[^>]*?\bhref="([^"]*?_static/)([^"?]+)[^"]*"'
    r"[^>]*>\s*"
)
ADDRESS = re.compile(r"(url\(\s*[\"']?)(?!data:|#|/|\w+:)([^)\"'?#]+)")
IMPORT = re.compile(r"@import\s+(?:url\()?[\"']([^\"']+)[\"']\)?\s*;")
# What rules ask for and what they define: classes and ids, variables, movements.
ASKED = re.compile(r"[.#](-?[a-zA-Z_][\w-]*)")
DEFINED = re.compile(r"(--[\w-]+)\s*:|@(?:-\w+-)?keyframes\s+([\w-]+)")
WORD = re.compile(r"[\w-]+")
# A script may put a name together: "kind-" + kind, or `bs-${name}-auto`.
BEGINNING = re.compile(r"""([a-zA-Z][\w-]*-)(?:\$\{|["'`]\s*[+.,)])""")


def cut_style(style: str, texts: Iterable[str]) -> str:
    """Leave rules whose classes and ids pages or scripts name, and what these use.

    Of several selectors one that may be met keeps them all.
    """
    words: set[str] = set()
    beginnings: set[str] = set()
    for text in texts:
        words.update(WORD.findall(text))
        beginnings.update(BEGINNING.findall(text))
    starts = tuple(beginnings)
    less = ""
    while less != style:  # what a rule used may be unused once it is gone
        less = style
        used = words.union(WORD.findall(DEFINED.sub("", style)))
        asked = set(ASKED.findall(style)) - words
        defined = {a or b for a, b in DEFINED.findall(style)} - used
        unused = defined.union(name for name in asked if not name.startswith(starts))
        style = process_stylesheet(style, unused_symbols=unused)
    return style


def read_sheet(static: Path, name: str) -> str:
    """Read a style sheet with those that it imports, its addresses from `static`."""
    folder = posixpath.dirname(name)

    def moved(match: re.Match[str]) -> str:
        return match[1] + posixpath.normpath(posixpath.join(folder, match[2]))

    def other(match: re.Match[str]) -> str:
        return read_sheet(static, posixpath.normpath(posixpath.join(folder, match[1])))

    text = (static / name).read_text("utf-8")
    # Addresses first: those of the other file are its own.
    return IMPORT.sub(other, ADDRESS.sub(moved, text))


def linked(page: str) -> list[str]:
    """List the style sheets of a page, in order."""
    return [name for _, name in LINK.findall(page)]


def link(page: str, address: str) -> str:
    """Put one link in the place of all."""
    first = LINK.search(page)
    if first is None:
        return page
    one = f'<link rel="stylesheet" href="{first[1]}{address}" />\n'
    return page[: first.start()] + one + LINK.sub("", page[first.end() :])


def make_sheet(static: Path, pages: Iterable[str]) -> str | None:
    """Write the one style sheet; return its address, if a page asks for others."""
    # A page that an earlier build wrote asks for this file already.
    lists = {tuple(linked(page)) for page in pages} - {(), (SHEET,)}
    if len(lists) != 1:
        if lists:
            LOGGER.warning("pages ask for different style sheets: %s", lists)
        return None
    scripts = [
        path.read_text("utf-8")
        for path in static.rglob("*.js")
        if path.parent.name not in {"LC_MESSAGES", "weights"}
    ]
    text = "\n".join(read_sheet(static, name) for name in lists.pop())
    style = f'@charset "UTF-8";\n{cut_style(text, [*pages, *scripts])}\n'
    (static / SHEET).write_text(style, "utf-8")
    return f"{SHEET}?v={sha256(style.encode()).hexdigest()[:8]}"


# --- Fonts

TEXT = "fonts/source-*.woff2"
MATH = "fonts/stix-two-math.woff2"
FITTING = ("ccmp", "kern", "liga", "locl", "mark", "mkmk")
# Script letters, primes, small forms in exponents, letters without their dots.
FORMS = ("ss01", "ss04", "ssty", "dtls", "kern")
FORMULA = re.compile(r"<math.*?</math>", re.DOTALL)
# What is drawn in another font, or not at all.
ELSEWHERE = re.compile(r"<(math|script|style)\b.*?</\1>|<[^>]*>", re.DOTALL)
TYPED = {chr(code) for code in range(0x20, 0x7F)}  # by a reader, in a live figure
# A single letter in `<mi>` is drawn as the italic one of the mathematical alphabet.
ITALIC = {0x1D434 + i: ord("A") + i for i in range(26)}
ITALIC |= {0x1D44E + i: ord("a") + i for i in range(26)} | {0x210E: ord("h")}
ITALIC |= {0x1D6E2 + i: 0x391 + i for i in range(25)}
ITALIC |= {0x1D6FC + i: 0x3B1 + i for i in range(25)}
STYLE = re.compile(r'<link [^>]*href="([^"]*_static/)[^"]*\.css')
# Under its title a page of the book has a line in italics.
FIRST_LINE = re.compile(r"</h1>.{,600}?<em>", re.DOTALL)
PRELOAD = """
  if (location.protocol !== "file:") for (const href of [HREFS]) {
    document.head.append(Object.assign(document.createElement("link"), {
      rel: "preload", as: "font", type: "font/woff2", crossOrigin: "", href }));
  }
"""
ICON_SCRIPT = "scripts/fontawesome.js"
ICON_STYLE = "styles/pydata-sphinx-theme.css"
ICON_FONTS = "vendor/fontawesome/webfonts"
# .fa-name:before,.fa-alias:before{content:"\f002"} in the minified style sheet.
ICON_RULE = re.compile(
    r'((?:\.fa-[\w-]+::?before,?)+)\{(?:content|--fa):"(\\?[^"]+)"\}', re.IGNORECASE
)
ICON_SOURCES = re.compile(
    r'url\(([^)]*?/)([\w-]+)\.woff2\) format\("woff2"\)(?:,url\([^)]*\.ttf\) '
    r'format\("truetype"\))?'
)
ICON = re.compile(r"\bfa-([a-z0-9-]+)")
# Put in by scripts while a page is open, so that no page names them.
BY_SCRIPTS = {"compress", "expand", "xmark", "copy", "check", "angle-right"}


def cut_font(
    source: Path, target: Path, keep: Iterable[int], features: Sequence[str] = ()
) -> None:
    """Write a font with some characters only, in the format that its name ends in."""
    font = ttLib.TTFont(source)
    options = subset.Options(notdef_outline=True, layout_features=list(features))
    cutter = subset.Subsetter(options)
    cutter.populate(unicodes=sorted(keep))
    cutter.subset(font)
    font.flavor = target.suffix.removeprefix(".")
    font.save(target)


def text_characters(pages: Iterable[str], others: Iterable[str]) -> set[int]:
    """Collect the characters of text, and those that scripts and styles may add."""
    found = set(TYPED)
    for page in pages:
        found.update(html.unescape(ELSEWHERE.sub("", page)))
    for other in others:
        found.update(other)
    return set(map(ord, found))


def formula_characters(pages: Iterable[str]) -> set[int]:
    """Collect the characters of all formulas, as the browser draws them."""
    formulas = "".join(f for page in pages for f in FORMULA.findall(page))
    # Roots and the accents that a browser stretches are drawn, not written.
    text = html.unescape(re.sub(r"<[^>]*>", "", formulas)) + "√‾_^~¯ˆ˜→"
    used = set(map(ord, text))
    return used | {slanted for slanted, plain in ITALIC.items() if plain in used}


def cut_fonts(sources: Path, static: Path, pages: Iterable[str]) -> list[str]:
    """Write the fonts for text and formulas with what pages use; name the former."""
    others = [*static.glob("course.*s"), *(static / "explore").glob("*.js")]
    text = text_characters(pages, (path.read_text("utf-8") for path in others))
    fonts = sorted(sources.glob(TEXT))
    for font in fonts:
        cut_font(font, static / "fonts" / font.name, text, FITTING)
    if (sources / MATH).exists():
        cut_font(sources / MATH, static / MATH, formula_characters(pages), FORMS)
    return [font.name for font in fonts]


def announce(page: str, fonts: Sequence[str]) -> str:
    """Have a page ask for the fonts of its first screen before its style sheet.

    Those that the style sheet asks for come after the first words, which then move. By
    script, since browsers refuse to read ahead in a folder and say so.
    """
    style = STYLE.search(page)
    if style is None or not fonts or PRELOAD.partition("HREFS")[0] in page:
        return page
    first = [font for font in fonts if "italic" not in font or FIRST_LINE.search(page)]
    hrefs = ", ".join(f'"{style[1]}fonts/{font}"' for font in first)
    script = f"<script>{PRELOAD.replace('HREFS', hrefs)}</script>\n"
    return page[: style.start()] + script + page[style.start() :]


def cut_icons(static: Path, pages: Iterable[str]) -> None:
    """Keep the icons that pages and scripts name, in the style sheet and the fonts."""
    script, path = static / ICON_SCRIPT, static / ICON_STYLE
    if not (script.exists() and path.exists()):
        return
    script.unlink()  # the fonts draw
    scripts = (path.read_text("utf-8") for path in static.rglob("*.js"))
    names = BY_SCRIPTS.union(*(ICON.findall(text) for text in [*pages, *scripts]))

    def keep(match: re.Match[str]) -> str:
        return match[0] if names & set(ICON.findall(match[1])) else ""

    style = ICON_RULE.sub(keep, path.read_text("utf-8"))
    style = ICON_SOURCES.sub(r'url(\1\2.woff) format("woff")', style)
    path.write_text(style, "utf-8")
    # A sheet names a character by its number, or holds it, as the theme's does for the
    # icons of admonitions.
    characters = {
        int(code, 16) if code else ord(character)
        for sheet in static.rglob("*.css")
        for code, character in re.findall(
            r"[\"'](?:\\([ef][0-9a-f]{3})|([\ue000-\uf8ff]))[\"']",
            sheet.read_text("utf-8"),
        )
    }
    for source in (static / ICON_FONTS).glob("*.ttf"):
        cut_font(source, source.with_suffix(".woff"), characters)
        source.with_suffix(".woff2").unlink(missing_ok=True)
        source.unlink()


# --- Pictures

Size = tuple[int, int]

DRAWN = re.compile(r'(<img [^>]*?\bsrc="[^"]*?_images/([^"/]+))\.png(?=")')
IMAGE = re.compile(r'<img (?![^>]*\bwidth=)[^>]*?\bsrc="([^":]+)"[^>]*?(?=\s*/?>)')
LENGTH = re.compile(r'<svg[^>]*?\swidth="([\d.]+)(pt|px)?"[^>]*?\sheight="([\d.]+)')
DRAWING = re.compile(r'(<img [^>]*?\bsrc="([^":]+\.svg)"[^>]*?\bstyle=")')
# How matplotlib draws letters of 12 points: outlines of 100, made smaller.
LETTERS = re.compile(r"scale\(([\d.]+) -[\d.]+\)")
SMALLEST = 12  # pixels
FIRST = 2  # so many pictures of a page may stand on the first screen


def shrink(source: Path) -> bool:
    """Write a picture anew beside the old file; say whether that is smaller."""
    target = source.with_suffix(".webp")
    if not target.exists() or target.stat().st_mtime < source.stat().st_mtime:
        with Image.open(source) as picture:
            picture.save(target, lossless=True, exact=True, method=4)
    return target.stat().st_size < source.stat().st_size


@cache
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


@cache
def least_width(path: Path) -> int:
    """Give the width at which a drawing's smallest letters have their pixels."""
    size = size_of(path)
    letters = LETTERS.findall(path.read_text("utf-8")) if size else []
    points = 100 * min(map(float, letters), default=0)
    return round(size[0] * SMALLEST / (points * 4 / 3)) if size and points else 0


def give_widths(page: str, measure: Callable[[str], int]) -> str:
    """Tell the style sheet the least width of each drawing of a page."""
    return DRAWING.sub(lambda m: f"{m[1]}--least: {measure(m[2])}px; ", page)


def give_sizes(page: str, measure: Callable[[str], Size | None]) -> str:
    """Give pictures their sizes, measured by their addresses, and have most wait."""
    seen = 0

    def sized(match: re.Match[str]) -> str:
        nonlocal seen
        size = measure(unquote(match[1].partition("?")[0]))
        if size is None:
            return match[0]
        seen += 1
        later = ' loading="lazy"' if seen > FIRST else ""
        return f'{match[0]} width="{size[0]}" height="{size[1]}"{later}'

    head, body, rest = page.partition('<article class="bd-article"')  # not the frame
    return head + body + IMAGE.sub(sized, rest)


# --- Scripts and HTML

# The theme's script measures a box, says whether it scrolls, and so has the browser lay
# the page out again before it measures the next. No setting changes that; a test fails
# once a release of the theme no longer has this line.
THEME = "scripts/pydata-sphinx-theme.js"
SCROLLS = "e.scrollWidth>e.clientWidth||e.scrollHeight>e.clientHeight?0:-1"
MEASURED = (
    f"{{e.tabIndex={SCROLLS}}}",
    f"{{const t={SCROLLS};"
    "e.tabIndex===t||requestAnimationFrame(()=>{e.tabIndex=t})}",
)
# The theme puts these on each page, for a way to search that the book doesn't use, and
# the index is as large as everything else of a page.
SEARCHING = re.compile(
    r'\s*<script src="[^"]*(?:searchtools|language_data|searchindex)\.js[^"]*">'
    r"</script>"
)
SETTINGS = re.compile(r'<script src="[^"]*documentation_options\.js[^"]*"></script>')
# All but a page's settings, which its own lines of script then change.
SCRIPT = re.compile(
    r'<script (?=(?:data-[\w-]+="[^"]*" )?src="(?![^"]*documentation_options\.js))'
)
# The theme says what Sphinx has said, twice.
WINDOW = re.compile(r'\s*<meta name="viewport"[^>]*>')
PATTERNS = [
    # The first page has the book's name.
    (r"<title>(.*) &#8212; \1</title>", r"<title>\1</title>"),
    # Scripts that wait, announced as if they did not, and the one that is empty.
    (r'\s*<link rel="preload" as="script"[^>]*>', ""),
    (r'\s*<script[^>]* src="[^"]*fontawesome\.js[^"]*"></script>', ""),
    (r'<section id="(?:exercise|solution)-content">', "<section>"),
    # What has the color of the block of code around it needs no element (course.css).
    (r'<span class="(?:n|nn|p|w)">([^<]*)</span>', r"\1"),
    # What only the program that lays out code reads.
    (r' *<span class="c1"># fmt: skip</span>', ""),
    # Sphinx's roles for sources, of which one is deprecated and one lists no items.
    (r' role="doc-biblioentry"| role="list"(?= class="citation-list")', ""),
    (r'(<label) aria-controls="[^"]*"', r"\1"),
    # The arguments of a long signature, each on its line: a list of answers to nothing.
    (r'<dd>(<em class="sig-param">.*)</dd>', r"<span>\1</span>"),
    (
        r'<dl>(\n<span><em class="sig-param">(?:.*\n)+?)</dl>',
        r'<span class="arguments">\1</span>',
    ),
    (
        r'<p (class="(?:collapsed|expanded) admonition-title">[^<]*)</p>',
        r"<span \1</span>",
    ),
    (
        r'(<div class="exercise [^>]*>\s*<p class="admonition-title")>',
        r'\1 role="heading" aria-level="3">',
    ),
]
REPAIRS = [(re.compile(pattern), instead) for pattern, instead in PATTERNS]
WORDINGS = {
    # As the theme's script sets it once the page has been shown.
    'dataset.theme = localStorage.getItem("theme") || "auto"': (
        "dataset.theme = /^(?:light|dark)$/.exec(document.documentElement.dataset.mode)"
        '?.[0] ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : '
        '"light")'
    ),
    # Without JavaScript it is day: colors belong to one of the two.
    'data-theme="auto">': 'data-theme="light">',
    # What a screen reader needs to name the parts of a page.
    '<summary><span class="toctree-toggle"': (
        '<summary aria-label="More pages"><span class="toctree-toggle"'
    ),
    '<div id="pst-primary-sidebar" class': (
        '<div id="pst-primary-sidebar" role="complementary" aria-label="The book" class'
    ),
    # These show what they are called.
    '<summary aria-label="Toggle hidden content">': "<summary>",
    'search-button-field search-button__button pst-js-only" title="Search" '
    'aria-label="Search" data': (
        'search-button-field search-button__button pst-js-only" data'
    ),
}


def repair(page: str, settings: str = "") -> str:
    """Repair what templates and extensions leave wrong in a page."""
    for pattern, instead in REPAIRS:
        page = pattern.sub(instead, page)
    for found, instead in WORDINGS.items():
        page = page.replace(found, instead)
    if settings:
        page = SETTINGS.sub(lambda _: settings, page)
    if window := WINDOW.search(page):
        page = page[: window.end()] + WINDOW.sub("", page[window.end() :])
    # Those that search wait for each other.
    return page if 'searchindex.js"' in page else SCRIPT.sub("<script defer ", page)


# --- All of it


def forget(app: Sphinx) -> None:
    """Remove what an earlier build wrote of pages that are left out by now."""
    out, suffix = Path(app.outdir), app.config.html_sourcelink_suffix
    for source in (out / "_sources").rglob("*.*"):
        path = Path(
            source.relative_to(out / "_sources").as_posix().removesuffix(suffix)
        )
        docname = path.with_suffix("").as_posix()
        if docname not in app.env.found_docs:
            source.unlink()
            (out / f"{docname}.html").unlink(missing_ok=True)


def lighten(app: Sphinx, exception: Exception | None) -> None:
    """After the build: read all pages, change what is said above, and write them."""
    out, static = Path(app.outdir), Path(app.outdir, "_static")
    if exception or app.builder.format != "html":
        return
    forget(app)
    # Not the theme's templates, which lie among the static files.
    paths = [path for path in out.rglob("*.html") if static not in path.parents]
    before = {path: path.read_text("utf-8") for path in paths}
    drawn = sorted((out / "_images").glob("*.png"))
    with ThreadPoolExecutor() as pool:
        fits = list(pool.map(shrink, drawn))
    small = {path.stem for path, smaller in zip(drawn, fits, strict=True) if smaller}
    cut_icons(static, before.values())
    fonts = cut_fonts(Path(app.confdir, "book", "_static"), static, before.values())
    sheet = make_sheet(static, before.values())
    theme, options = static / THEME, static / "documentation_options.js"
    if theme.exists():
        theme.write_text(theme.read_text("utf-8").replace(*MEASURED), "utf-8")
    settings = f"<script>{options.read_text('utf-8')}</script>"
    for path, text in before.items():
        page = text if path.name == "search.html" else SEARCHING.sub("", text)
        page = DRAWN.sub(lambda m: f"{m[1]}.webp" if m[2] in small else m[0], page)
        page = announce(link(page, sheet) if sheet else page, fonts)

        def measure(address: str, path: Path = path) -> Size | None:
            return size_of((path.parent / address).resolve())

        def letters(address: str, path: Path = path) -> int:
            return least_width((path.parent / address).resolve())

        page = repair(page, settings)
        if "--least" not in page:  # which an earlier build wrote
            page = give_widths(page, letters)
        page = give_sizes(page, measure)
        if page != text:
            path.write_text(page, "utf-8")
    LOGGER.info("[light_pages] %d pages, %d pictures smaller", len(before), len(small))


def setup(app: Sphinx) -> dict[str, Any]:
    """Do it after all others have written."""
    app.connect("build-finished", lighten, priority=900)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
