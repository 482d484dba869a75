"""A site that asks nothing of any other host.

The built book is to work offline, from a file, and without telling anyone who reads
it. So:

- MathJax is shipped (`_static/mathjax`) instead of fetched from a network of mirrors;
- the scripts for running code in the page are left out: they fetch their program from
  elsewhere, and the book has no button for them;
- addresses that the published site must know of itself (sitemap, previews, the page
  for what is not found) follow from the repository's, which `_config.yml` names once,
  as it does the book's title.
"""

import os
from typing import Any
from urllib.parse import urlparse

from sphinx.application import Sphinx
from sphinx.config import Config


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


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect each measure to its moment in the build."""
    app.connect("config-inited", fill_in_addresses, priority=100)
    app.connect("html-page-context", drop_live_code, priority=900)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
