"""Code in fewer elements: what has the color of most of it has no element of its own.

Pygments wraps each token, three thousand on a long page, and a phone gives each its
style and its place. Names, brackets and spaces, more than half of them, have one color
by day and one by night. After the build that color is the whole block's, and only other
tokens are wrapped.
"""

import re
from collections import defaultdict
from pathlib import Path
from typing import Any

from built_pages import read_pages, rewrite
from sphinx.application import Sphinx

RULE = re.compile(
    r"^(?P<theme>.*?) ?\.highlight \.(?P<token>\w+) \{(?P<look>[^}]*)\}", re.MULTILINE
)
BLOCK = re.compile(
    r'(<div class="highlight">)<pre[^>]*>(?:<span></span>)?'
    r"((?:(?!<div|</pre>).)*)</pre>",
    re.DOTALL,
)
NAME = "n"


def plain_tokens(style: str) -> set[str]:
    """List the tokens that look as names do, under each theme of a style sheet."""
    looks: dict[str, dict[str, str]] = defaultdict(dict)
    for rule in RULE.finditer(style):
        look = re.sub(r"/\*.*?\*/", "", rule["look"]).strip()
        looks[rule["theme"]][rule["token"]] = look
    alike = [
        {token for token, look in theme.items() if look == theme.get(NAME)}
        for theme in looks.values()
    ]
    return set.intersection(*alike) if alike else set()


def unwrap(page: str, tokens: set[str]) -> str:
    """Give a block of code their look, and them no elements."""
    token = re.compile(rf'<span class="(?:{"|".join(sorted(tokens))})">([^<]*)</span>')

    def block(match: re.Match[str]) -> str:
        text, found = token.subn(r"\1", match[2])
        if not found:
            return match[0]
        return f'{match[1]}<pre><span class="{NAME}">{text}</span></pre>'

    return BLOCK.sub(block, page)


def unwrap_pages(app: Sphinx, exception: Exception | None) -> None:
    """After the build: do it in all pages."""
    style = Path(app.outdir, "_static", "pygments.css")
    if exception or app.builder.format != "html" or not style.exists():
        return
    tokens = plain_tokens(style.read_text("utf-8"))
    if not tokens:
        return
    rewrite(read_pages(Path(app.outdir)), lambda _, page: unwrap(page, tokens))


def setup(app: Sphinx) -> dict[str, Any]:
    """Do it after code_links.py, which looks for names."""
    app.connect("build-finished", unwrap_pages, priority=600)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
