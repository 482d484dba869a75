"""How the site is published: what it says of itself, and what it asks of others.

The built book is to work offline, from a file, and without telling anyone who reads it.
Sphinx and its extensions do nearly all of it. What they leave to do:

- addresses that the published site must know of itself (sitemap, previews, the page
  for what is not found) follow from the repository's, which `_config.yml` names once,
  as it does the book's title. A page writes `{{ repository }}` and gets that address;
- citations have round brackets, Vaswani et al. (2017): sphinxcontrib-bibtex learns
  that only by being told in Python;
- what a page says of itself to search engines and in previews are the first sentences
  of its first paragraph, up to the first formula: sphinxext-opengraph would take names
  of tabs and TeX, and the line of minutes under the title;
- the scripts for running code in the page are left out: they fetch their program from
  elsewhere, and the book has no button for them. So is the one that folds boxes, which
  fold by themselves (exercises.py). Those that search are on the page for searching;
- the theme's scripts are announced to the browser as if they were needed first, and a
  page waits for a file of settings and learns from the last script whether it is day or
  night: it says both itself, before anything is drawn;
- the address of the whole book leads to its first page, by a page with a name and an
  icon, where sphinx-external-toc writes a line without either;
- of FontAwesome, which the theme ships whole, twice (two thousand icons as a script and
  as fonts, 820 kB compressed), only the icons remain that pages and scripts name.
"""

import html
import os
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

from built_pages import read_pages, rewrite
from docutils import nodes
from fontTools import subset, ttLib
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.util.logging import getLogger
from sphinxcontrib.bibtex.plugin import register_plugin
from sphinxcontrib.bibtex.style.referencing import BracketStyle
from sphinxcontrib.bibtex.style.referencing.author_year import AuthorYearReferenceStyle

sys.path.append(str(Path(__file__).resolve().parents[1] / "tools"))

from page_measures import MINUTES

LOGGER = getLogger(__name__)

LIMIT = 200  # characters of a description
LEAST = 41  # a shorter sentence alone would say too little
SENTENCE = re.compile(r"[.?!…](?=\s|$)")

SCRIPT = "scripts/fontawesome.js"
STYLE = "styles/pydata-sphinx-theme.css"
FONTS = "vendor/fontawesome/webfonts"
# .fa-name:before,.fa-alias:before{content:"\f002"} in the minified style sheet.
RULE = re.compile(
    r'((?:\.fa-[\w-]+::?before,?)+)\{(?:content|--fa):"(\\?[^"]+)"\}', re.IGNORECASE
)
SOURCES = re.compile(
    r'url\(([^)]*?/)([\w-]+)\.woff2\) format\("woff2"\)(?:,url\([^)]*\.ttf\) '
    r'format\("truetype"\))?'
)
NAME = re.compile(r"\bfa-([a-z0-9-]+)")
# The theme puts these on each page, for a way to search that the book doesn't use, and
# the index is as large as everything else of a page.
SEARCHING = re.compile(
    r'\s*<script src="[^"]*(?:searchtools|language_data|searchindex)\.js[^"]*">'
    r"</script>"
)
# Scripts that wait, announced as if they did not, and the one that is empty.
ANNOUNCED = re.compile(
    r'\s*<link rel="preload" as="script"[^>]*>'
    r'|\s*<script[^>]* src="[^"]*fontawesome\.js[^"]*"></script>'
)
SETTINGS = re.compile(r'<script src="[^"]*documentation_options\.js[^"]*"></script>')
# The theme's script measures a box, says whether it scrolls, and so has the browser lay
# the page out again before it measures the next.
THEME = "scripts/pydata-sphinx-theme.js"
SCROLLS = "e.scrollWidth>e.clientWidth||e.scrollHeight>e.clientHeight?0:-1"
MEASURED = (
    f"{{e.tabIndex={SCROLLS}}}",
    f"{{const t={SCROLLS};"
    "e.tabIndex===t||requestAnimationFrame(()=>{e.tabIndex=t})}",
)
UNUSED = re.compile(r"thebe|toggle(?:button|Hint|OpenOnPrint)", re.IGNORECASE)
REPAIRS = {
    # As the theme's script sets it once the page has been shown.
    'dataset.theme = localStorage.getItem("theme") || "auto"': (
        "dataset.theme = /^(?:light|dark)$/.exec(document.documentElement.dataset.mode)"
        '?.[0] ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : '
        '"light")'
    ),
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
ENTRANCE = """\
<!DOCTYPE html>
<html lang="{language}">
<meta charset="utf-8" />
<title>{title}</title>
<link rel="icon" href="_static/{icon}" />
<meta http-equiv="Refresh" content="0; url={first}" />
<p><a href="{first}">{title}</a></p>
</html>
"""
# Put in by scripts while a page is open, so that no page names them.
BY_SCRIPTS = {"compress", "expand", "xmark", "copy", "check", "angle-right"}


def pages_address(repository: str) -> str:
    """Give the address at which a repository's pages are published.

    >>> pages_address("https://github.com/owner/name")
    'https://owner.github.io/name/'
    """
    parts = urlparse(repository.rstrip("/"))
    host = (parts.hostname or "").partition(".")[0]
    owner, _, name = parts.path.strip("/").partition("/")
    if name.lower() == f"{owner}.{host}.io".lower():
        return f"https://{owner.lower()}.{host}.io/"
    return f"https://{owner.lower()}.{host}.io/{name}/"


def fill_in_addresses(_app: Sphinx, config: Config) -> None:
    """Derive what the site says of itself, unless `_config.yml` says it.

    Its address is the one of the repository's pages. GitLab may give a project another
    one than its name would, and tells its runners in `CI_PAGES_URL`. Colab opens
    notebooks from GitHub only: elsewhere there is no button for it.
    """
    options = config.html_theme_options
    repository = options.get("repository_url")
    if not config.html_baseurl and repository:
        told = os.environ.get("CI_PAGES_URL", "").rstrip("/")
        config.html_baseurl = f"{told}/" if told else pages_address(repository)
    if repository and urlparse(repository).hostname != "github.com":
        options.get("launch_buttons", {}).pop("colab_url", None)
    for name, value in {
        "ogp_site_url": config.html_baseurl,
        "ogp_site_name": config.html_title,
        "notfound_urls_prefix": urlparse(config.html_baseurl).path or "/",
    }.items():
        if name in config:
            config[name] = value


def name_repository(app: Sphinx, _docname: str, source: list[str]) -> None:
    """When a page is read: put the repository's address where it is asked for."""
    address = app.config.html_theme_options.get("repository_url", "").rstrip("/")
    source[0] = source[0].replace("{{ repository }}", address)


def round_brackets() -> BracketStyle:
    """Make the brackets that all parts of the style of citations share."""
    return BracketStyle(left="(", right=")")


@dataclass
class RoundAuthorYear(AuthorYearReferenceStyle):
    """Authors and year, in round brackets."""

    bracket_parenthetical: BracketStyle = field(default_factory=round_brackets)
    bracket_textual: BracketStyle = field(default_factory=round_brackets)
    bracket_author: BracketStyle = field(default_factory=round_brackets)
    bracket_label: BracketStyle = field(default_factory=round_brackets)
    bracket_year: BracketStyle = field(default_factory=round_brackets)


def shorten(text: str, limit: int = LIMIT) -> str:
    """Cut a paragraph after its last whole sentence, or else its last whole word.

    The latter also where that sentence is too short to say what a page is about.
    """
    if len(text) <= limit:
        return text
    ends = [match.end() for match in SENTENCE.finditer(text[: limit + 1])]
    if ends and LEAST <= ends[-1] <= limit:
        return text[: ends[-1]]
    return text[: limit - 2].rpartition(" ")[0] + " …"


def describe(document: nodes.document) -> str | None:
    """Find the first sentences of a page, without formulas, if it starts with any."""
    for paragraph in document.findall(nodes.paragraph):
        if not isinstance(paragraph.parent, nodes.section):
            continue
        if MINUTES.match(paragraph.astext()):
            continue
        text = ""
        for child in paragraph.children:
            if isinstance(child, nodes.math) or list(child.findall(nodes.math)):
                ends = [match.end() for match in SENTENCE.finditer(text)]
                text = text[: ends[-1]] if ends else ""
                break
            text += child.astext()
        if text := " ".join(text.split()):
            return shorten(text)
    return None


def add_description(
    _app: Sphinx,
    _page: str,
    _template: str,
    context: dict[str, Any],
    document: nodes.document | None,
) -> None:
    """Put the description into a page's head, unless its author gave one."""
    text = describe(document) if document is not None else None
    if not text or 'name="description"' in context.get("metatags", ""):
        return
    words = html.escape(text)
    context["meta"] = {**(context.get("meta") or {}), "og:description": words}
    context["metatags"] += f'\n<meta name="description" content="{words}" />'


def drop_unused(
    app: Sphinx, _page: str, _template: str, context: dict[str, Any], _tree: Any
) -> None:
    """Leave out of a page what sphinx-thebe and sphinx-togglebutton put on each."""
    for files in ("script_files", "css_files"):
        context[files] = [
            file
            for file in context.get(files, [])
            if not UNUSED.search(
                f"{getattr(file, 'filename', None) or file} "
                f"{getattr(file, 'attributes', {}).get('body', '')}"
            )
        ]


def repair_pages(app: Sphinx, exception: Exception | None) -> None:
    """After the build: repair in each page what the theme's templates leave wrong."""
    options = Path(app.outdir, "_static", "documentation_options.js")
    if exception or not options.exists():  # a builder of texts has no scripts
        return
    settings = f"<script>{options.read_text('utf-8')}</script>"

    def repaired(path: Path, page: str) -> str:
        if path.name != "search.html":
            page = SEARCHING.sub("", page)
        page = SETTINGS.sub(lambda _: settings, ANNOUNCED.sub("", page))
        for found, instead in REPAIRS.items():
            page = page.replace(found, instead)
        return page

    rewrite(read_pages(Path(app.outdir)), repaired)


def open_first_page(app: Sphinx, exception: Exception | None) -> None:
    """After the build: have `index.html` lead to the first page, if it is another."""
    first = f"{app.config.root_doc}.html"
    if exception or first == "index.html" or not Path(app.outdir, first).exists():
        return
    entrance = ENTRANCE.format(
        language=app.config.language,
        title=html.escape(app.config.html_title),
        icon=Path(app.config.html_favicon or "favicon.ico").name,
        first=first,
    )
    Path(app.outdir, "index.html").write_text(entrance, "utf-8")


def measure_first(app: Sphinx, exception: Exception | None) -> None:
    """After the build: have the theme's script measure all boxes, and then say so."""
    script = Path(app.outdir, "_static", THEME)
    if not exception and script.exists():
        script.write_text(script.read_text("utf-8").replace(*MEASURED), "utf-8")


def used_icons(pages: Iterable[Path]) -> set[str]:
    """Collect the names of the icons that pages and scripts ask for."""
    names = set(BY_SCRIPTS)
    for page in pages:
        names.update(NAME.findall(page.read_text("utf-8")))
    return names


def cut_style(style: str, names: set[str]) -> str:
    """Leave in the style sheet only some icons' rules, and name the small fonts."""

    def keep(match: re.Match[str]) -> str:
        return match[0] if names & set(NAME.findall(match[1])) else ""

    return SOURCES.sub(r'url(\1\2.woff) format("woff")', RULE.sub(keep, style))


def characters(styles: Iterable[str]) -> set[int]:
    """List the characters of the icons that style sheets still show.

    A sheet names them by number or holds the character itself, as the theme's does for
    the icons of admonitions.
    """
    return {
        int(code, 16) if code else ord(character)
        for style in styles
        for code, character in re.findall(
            r"[\"'](?:\\([ef][0-9a-f]{3})|([\ue000-\uf8ff]))[\"']", style
        )
    }


def cut_font(
    source: Path, target: Path, keep: set[int], features: Sequence[str] = ()
) -> None:
    """Write a font with some characters only, in the format that its name ends in."""
    font = ttLib.TTFont(source)
    options = subset.Options(notdef_outline=True, layout_features=list(features))
    cutter = subset.Subsetter(options)
    cutter.populate(unicodes=sorted(keep))
    cutter.subset(font)
    font.flavor = target.suffix.removeprefix(".")
    font.save(target)


def cut_icons(app: Sphinx, exception: Exception | None) -> None:
    """After the build: write the small files in place of the large ones."""
    static = Path(app.outdir, "_static")
    script, style = static / SCRIPT, static / STYLE
    if exception or not (script.exists() and style.exists()):
        return
    script.unlink()  # the fonts draw
    names = used_icons([*Path(app.outdir).rglob("*.html"), *static.rglob("*.js")])
    style.write_text(cut_style(style.read_text("utf-8"), names), "utf-8")
    keep = characters(path.read_text("utf-8") for path in static.rglob("*.css"))
    for source in (static / FONTS).glob("*.ttf"):
        cut_font(source, source.with_suffix(".woff"), keep)
        source.with_suffix(".woff2").unlink(missing_ok=True)
        source.unlink()
    LOGGER.info("[publishing] kept %d characters of the icon fonts", len(keep))


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect each measure to its moment in the build."""
    group = "sphinxcontrib.bibtex.style.referencing"
    register_plugin(group, "author_year_round", RoundAuthorYear, force=True)
    app.connect("config-inited", fill_in_addresses, priority=100)
    app.connect("source-read", name_repository)
    # Before opengraph, which looks for a description in the head.
    app.connect("html-page-context", add_description, priority=400)
    app.connect("html-page-context", drop_unused, priority=900)
    app.connect("build-finished", cut_icons)
    app.connect("build-finished", measure_first)
    app.connect("build-finished", open_first_page)
    app.connect("build-finished", repair_pages)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
