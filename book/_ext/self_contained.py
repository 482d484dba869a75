"""A site that asks nothing of any other host, and no more than it needs of its own.

The built book is to work offline, from a file, and without telling anyone who reads
it. So:

- MathJax is shipped (`_static/mathjax`) instead of fetched from a network of mirrors;
- the scripts for running code in the page are left out: they fetch their program from
  elsewhere, and the book has no button for them;
- the theme's file of 2,000 icons (540 kB compressed, more than everything else on a
  page together) is cut down to the icons that the pages use;
- addresses that the published site must know of itself (sitemap, previews, the page
  for what is not found) follow from the repository's, which `_config.yml` names once.
"""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.util.logging import getLogger

LOGGER = getLogger(__name__)

ICON_FILE = "_static/scripts/fontawesome.js"
# "name":[width,height,[aliases],"codepoint","path"] in the minified object.
ICON = re.compile(
    r'(?:"([\w-]+)"|([A-Za-z_$][\w$]*)):'
    r'\[\d+,\d+,\[([^\]]*)\],"[0-9a-f]+",(?:"[^"]*"|\["[^"]*","[^"]*"\])\],?'
)
ICON_NAME = re.compile(r"\bfa-([a-z0-9-]+)")
# Put in by scripts while a page is open, so no page names them.
ICONS_OF_SCRIPTS = {"compress", "expand", "xmark", "copy", "check", "angle-right"}


def pages_address(repository: str) -> str:
    """Give the address at which a repository's pages are published.

    Args:
        repository: Such as `https://github.com/owner/name`.

    Returns:
        Such as `https://owner.github.io/name/`.
    """
    parts = urlparse(repository.rstrip("/"))
    host = (parts.hostname or "").partition(".")[0]
    owner, _, name = parts.path.strip("/").partition("/")
    if name.lower() == f"{owner}.{host}.io".lower():
        return f"https://{owner.lower()}.{host}.io/"
    return f"https://{owner.lower()}.{host}.io/{name}/"


def fill_in_addresses(_app: Sphinx, config: Config) -> None:
    """Derive the site's own address, unless `_config.yml` gives one."""
    repository = config.html_theme_options.get("repository_url")
    if not config.html_baseurl and repository:
        config.html_baseurl = pages_address(repository)
    for name, value in {
        "ogp_site_url": config.html_baseurl,
        "notfound_urls_prefix": urlparse(config.html_baseurl).path or "/",
        "mathjax_path": "mathjax/tex-svg.js",
    }.items():
        if name in config:
            config[name] = value


def drop_live_code(
    app: Sphinx, _page: str, _template: str, context: dict[str, Any], _tree: Any
) -> None:
    """Leave out of a page the scripts that sphinx-thebe puts on each."""
    scripts = context.get("script_files", [])
    context["script_files"] = [
        script
        for script in scripts
        if "thebe" not in str(getattr(script, "filename", None) or "")
        and "THEBE" not in str(getattr(script, "attributes", {}).get("body", ""))
    ]


def used_icons(pages: Iterable[Path]) -> set[str]:
    """Collect the names of the icons that pages and scripts ask for."""
    names = set(ICONS_OF_SCRIPTS)
    for page in pages:
        names.update(ICON_NAME.findall(page.read_text("utf-8")))
    return names


def keep_icons(script: str, names: set[str]) -> str:
    """Cut a FontAwesome script down to some icons.

    Args:
        script: The minified script, with all icons.
        names: The icons to keep, by name or alias.
    """

    def keep(match: re.Match[str]) -> str:
        aliases = re.findall(r'"([\w-]+)"', match[3])
        return match[0] if names & {match[1] or match[2], *aliases} else ""

    return ICON.sub(keep, script)


def cut_icons(app: Sphinx, exception: Exception | None) -> None:
    """After the build: write the small file of icons over the large one."""
    path = Path(app.outdir) / ICON_FILE
    if exception or not path.exists():
        return
    outdir = Path(app.outdir)
    theme = [p for p in (outdir / "_static").rglob("*.js") if p != path]
    names = used_icons([*outdir.rglob("*.html"), *theme])
    script = path.read_text("utf-8")
    smaller = keep_icons(script, names)
    if len(smaller) == len(script):
        LOGGER.info("[self_contained] no icon could be left out of %s", ICON_FILE)
    path.write_text(smaller, "utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect each of the four measures to its moment in the build."""
    app.connect("config-inited", fill_in_addresses, priority=100)
    app.connect("html-page-context", drop_live_code, priority=900)
    app.connect("build-finished", cut_icons)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
