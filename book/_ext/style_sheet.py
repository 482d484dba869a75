"""One style sheet for the whole site, with what its pages use.

The theme, Sphinx and the extensions put a dozen style sheets on each page. A phone
shows no word before it has all of them, and compares each element with their rules, of
which the book uses a small part. After the build they are one file, in which each has
its place: `_static/book.css`. A rule stays if pages or scripts name the elements,
classes and ids that it asks for, an animation or a variable if something that stays
uses it. The files that it is made of remain: slides are made of them, too.
"""

import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import tinycss2
from built_pages import read_pages, rewrite
from sphinx.application import Sphinx
from sphinx.util.logging import getLogger

LOGGER = getLogger(__name__)

SHEET = "book.css"
LINK = re.compile(
    r'<link (?=[^>]*\brel="stylesheet")[^>]*?\bhref="([^"]*?_static/)([^"?]+)[^"]*"'
    r"[^>]*>\s*"
)
ADDRESS = re.compile(r"(url\(\s*[\"']?)(?!data:|#|/|\w+:)([^)\"'?#]+)")
IMPORT = re.compile(r"@import\s+(?:url\()?[\"']([^\"']+)[\"']\)?\s*;")
NAMED = re.compile(r"""\s(?:class|id)=(?:"([^"]*)"|'([^']*)')""")
TAG = re.compile(r"<([a-zA-Z][\w-]*)")
WORD = re.compile(r"[\w-]+")
VARIABLE = re.compile(r"\bvar\(\s*(--[\w-]+)")
# A script may put a name together: "kind-" + kind, or `bs-${name}-auto`.
BEGINNING = re.compile(r"""([a-zA-Z][\w-]*-)(?:\$\{|["'`]\s*[+.,)])""")
# At-rules that hold rules.
GROUPS = {"media", "supports", "container", "layer", "-moz-document"}
KEYFRAMES = re.compile(r"@(?:-\w+-)?keyframes ([\w-]+)\{(?:[^{}]*\{[^{}]*\})*\}")


class Names(NamedTuple):
    """What pages and scripts name: whole words, and the beginnings of words."""

    words: set[str]
    beginnings: tuple[str, ...] = ()

    def has(self, name: str) -> bool:
        """Say whether an element may have this name."""
        return name in self.words or name.startswith(self.beginnings)


def names_in(pages: Iterable[str], scripts: Iterable[str]) -> Names:
    """Collect the elements, classes and ids of pages, and every word of scripts."""
    words: set[str] = set()
    beginnings: set[str] = set()
    for page in pages:
        words.update(TAG.findall(page))
        words.update(VARIABLE.findall(page))
        for pair in set(NAMED.findall(page)):
            words.update("".join(pair).split())
    for script in scripts:
        words.update(WORD.findall(script))
        beginnings.update(BEGINNING.findall(script))
    return Names(words, tuple(sorted(beginnings)))


def asks_for(selector: Sequence[Any]) -> Iterator[str]:
    """List the names that an element and those around it must have.

    What stands in brackets is left aside: attributes, and the alternatives of `:is()`.
    """
    before = ""
    for token in selector:
        if token.type == "hash" or (token.type == "ident" and before != ":"):
            yield token.value
        before = token.value if token.type == "literal" else ""


def split(tokens: Iterable[Any], at: str) -> list[list[Any]]:
    """Split selectors at their commas, declarations at their semicolons."""
    parts: list[list[Any]] = [[]]
    for token in tokens:
        if token.type == "literal" and token.value == at:
            parts.append([])
        elif token.type != "comment":
            parts[-1].append(token)
    return parts


def written(tokens: Iterable[Any]) -> str:
    """Write tokens on one line."""
    return "".join(
        " " if token.type == "whitespace" else token.serialize() for token in tokens
    ).strip()


def declared(tokens: Iterable[Any], names: Names) -> str:
    """Write declarations, without variables that nothing uses."""
    kept = []
    for declaration in split(tokens, ";"):
        text = written(declaration)
        name = text.partition(":")[0].rstrip()
        if text and not (name.startswith("--") and not names.has(name)):
            kept.append(text)
    return ";".join(kept)


def cut(rules: Iterable[Any], names: Names) -> str:
    """Leave the rules that may be about an element of the site."""
    kept = []
    for rule in rules:
        if rule.type == "qualified-rule":
            selectors = [
                written(selector)
                for selector in split(rule.prelude, ",")
                if all(map(names.has, asks_for(selector)))
            ]
            if selectors and (content := declared(rule.content, names)):
                kept.append(f"{','.join(selectors)}{{{content}}}")
        elif rule.type == "at-rule":
            head, content = f"@{rule.at_keyword} {written(rule.prelude)}".strip(), ""
            if rule.lower_at_keyword == "charset":
                continue
            if rule.content is None:
                kept.append(f"{head};")
                continue
            if rule.lower_at_keyword in GROUPS:
                content = cut(tinycss2.parse_rule_list(rule.content), names)
            else:
                content = written(t for t in rule.content if t.type != "comment")
            if content:
                kept.append(f"{head}{{{content}}}")
    return "\n".join(kept)


def without_still(style: str) -> str:
    """Leave out animations that nothing runs."""
    others = set(WORD.findall(KEYFRAMES.sub("", style)))
    return KEYFRAMES.sub(lambda m: m[0] if m[1] in others else "", style)


def cut_all(style: str, names: Names) -> str:
    """Leave of a style sheet what the site uses, until nothing more goes."""
    before = ""
    while style != before:
        before = style
        used = names._replace(words=names.words | set(VARIABLE.findall(style)))
        style = cut(tinycss2.parse_stylesheet(style, True, True), used)
        style = without_still(style)
    return style


def read(static: Path, name: str) -> str:
    """Read a style sheet with those that it imports, its addresses from `static`."""
    folder = posixpath.dirname(name)

    def moved(match: re.Match[str]) -> str:
        return match[1] + posixpath.normpath(posixpath.join(folder, match[2]))

    def other(match: re.Match[str]) -> str:
        return read(static, posixpath.normpath(posixpath.join(folder, match[1])))

    text = (static / name).read_text("utf-8")
    # Addresses first: those of the other file are its own.
    return IMPORT.sub(other, ADDRESS.sub(moved, text))


def linked(page: str) -> list[str]:
    """List the style sheets of a page, in order."""
    return [name for _, name in LINK.findall(page)]


def link(page: str, address: str) -> str:
    """Put one link in the place of all."""
    first = True

    def instead(match: re.Match[str]) -> str:
        nonlocal first
        if not first:
            return ""
        first = False
        return f'<link rel="stylesheet" href="{match[1]}{address}" />\n'

    return LINK.sub(instead, page)


def make_sheet(app: Sphinx, exception: Exception | None) -> None:
    """After the build: write the style sheet and have each page ask for it alone."""
    out = Path(app.outdir)
    static = out / "_static"
    if exception or app.builder.format != "html":
        return
    pages = read_pages(out)
    lists = {tuple(linked(page)) for page in pages.values()}
    # A page that an earlier build wrote asks for this file already.
    lists -= {(), (SHEET,)}
    if not lists:
        return
    if len(lists) > 1:
        LOGGER.warning("[style_sheet] pages ask for different style sheets: %s", lists)
        return
    scripts = [
        path.read_text("utf-8")
        for path in static.rglob("*.js")
        if path.parent.name not in {"LC_MESSAGES", "weights"}
    ]
    text = "\n".join(read(static, name) for name in lists.pop())
    style = cut_all(text, names_in(pages.values(), scripts))
    style = f'@charset "UTF-8";\n{style}\n'
    (static / SHEET).write_text(style, "utf-8")
    address = f"{SHEET}?v={sha256(style.encode()).hexdigest()[:8]}"
    rewrite(pages, lambda _, page: link(page, address))
    LOGGER.info("[style_sheet] one style sheet of %d kB", len(style) // 1000)


def setup(app: Sphinx) -> dict[str, Any]:
    """Make it once the icons are cut and before pages are repaired."""
    app.connect("build-finished", make_sheet, priority=800)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
