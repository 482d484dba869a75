"""Only the icons that the pages use.

The theme ships FontAwesome whole, twice: two thousand icons as a script, which draws
them, and as fonts, for who reads without scripts. A browser fetches both: 820 kB
compressed, more than everything else on a page together. After the build this
extension empties the script and cuts fonts and style sheet down to the icons that pages
and scripts name, some twenty.
"""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from fontTools import subset, ttLib
from sphinx.application import Sphinx
from sphinx.util.logging import getLogger

LOGGER = getLogger(__name__)

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
# Put in by scripts while a page is open, so that no page names them.
BY_SCRIPTS = {"compress", "expand", "xmark", "copy", "check", "angle-right"}


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


def cut_font(source: Path, target: Path, keep: set[int]) -> None:
    """Write a font with some characters only."""
    font = ttLib.TTFont(source)
    options = subset.Options(notdef_outline=True, layout_features=[])
    cutter = subset.Subsetter(options)
    cutter.populate(unicodes=sorted(keep))
    cutter.subset(font)
    font.flavor = "woff"
    font.save(target)


def cut_icons(app: Sphinx, exception: Exception | None) -> None:
    """After the build: write the small files in place of the large ones."""
    static = Path(app.outdir, "_static")
    script, style = static / SCRIPT, static / STYLE
    if exception or not (script.exists() and style.exists()):
        return
    script.write_text("")  # the fonts draw; each page asks for this file
    names = used_icons([*Path(app.outdir).rglob("*.html"), *static.rglob("*.js")])
    style.write_text(cut_style(style.read_text("utf-8"), names), "utf-8")
    keep = characters(path.read_text("utf-8") for path in static.rglob("*.css"))
    for source in (static / FONTS).glob("*.ttf"):
        cut_font(source, source.with_suffix(".woff"), keep)
        source.with_suffix(".woff2").unlink(missing_ok=True)
        source.unlink()
    LOGGER.info("[small_icons] kept %d characters of the icon fonts", len(keep))


def setup(app: Sphinx) -> dict[str, Any]:
    """Cut when everything has been written."""
    app.connect("build-finished", cut_icons)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
