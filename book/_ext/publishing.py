"""How the site is published: what it says of itself.

The built book is to work offline, from a file, and without telling anyone who reads it.
Sphinx and its extensions do nearly all of it. What they leave to do:

- addresses that the published site must know of itself (sitemap, previews, the page
  for what is not found) follow from the repository's, which `_config.yml` names once,
  as it does the book's title. A page writes `{{ repository }}` and gets that address,
  or `{{ colab }}` and gets the one at which Colab opens the repository's notebooks;
- the homework's notebooks for students lie in one archive a framework as well;
- citations have round brackets, Vaswani et al. (2017): sphinxcontrib-bibtex learns
  that only by being told in Python;
- what a page says of itself to search engines and in previews are the first sentences
  of its first paragraph, up to the first formula: sphinxext-opengraph would take names
  of tabs and TeX, and the line of minutes under the title;
- the scripts for running code in the page are left out: they fetch their program from
  elsewhere, and the book has no button for them. So is the one that folds boxes, which
  fold by themselves (exercises.py);
- a preview has a picture: the page's own card, or the first of the page that is no
  drawing, or else the book's card;
- the address of the whole book leads to its first page, by a page with a name, an icon
  and what previews show, where sphinx-external-toc writes a line without them;
- a page that isn't found leads to the first page, the map and the search.

`site` would be its name, were that not one of Python's own modules.
"""

import html
import os
import re
import sys
import zipfile
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinxcontrib.bibtex.plugin import register_plugin
from sphinxcontrib.bibtex.style.referencing import BracketStyle
from sphinxcontrib.bibtex.style.referencing.author_year import AuthorYearReferenceStyle

# What authors run stands beside what Sphinx loads.
sys.path.append(str(Path(__file__).resolve().parents[1] / "tools"))

from addresses import pages_address

LIMIT = 200  # characters of a description
LEAST = 41  # a shorter sentence alone would say too little
SENTENCE = re.compile(r"[.?!…](?=\s|$)")
UNUSED = re.compile(r"thebe|toggle(?:button|Hint|OpenOnPrint)", re.IGNORECASE)
ROUND = {
    f"bracket_{part}": BracketStyle(left="(", right=")")
    for part in ("parenthetical", "textual", "author", "label", "year")
}
ENTRANCE = """\
<!DOCTYPE html>
<html lang="{language}">
<meta charset="utf-8" />
<title>{title}</title>
<link rel="icon" href="_static/{icon}" />
{told}
<meta http-equiv="Refresh" content="0; url={first}" />
<p><a href="{first}">{title}</a></p>
</html>
"""


TOLD = re.compile(r'<meta (?=[^>]*\b(?:name="description"|property="og:[^"]+"))[^>]*>')
GIVEN = re.compile(r'<meta content="([^"]*)" name="description"')
STATIC = Path(__file__).resolve().parents[1] / "_static"
LOST = """\
<h1>Page not found</h1>
<p>There is no page at this address, or no longer. The
<a href="{root}{first}.html">first page</a> has a map of all pages, and the
<a href="{root}search.html">search</a> finds words on them.</p>
"""


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
        "notfound_urls_prefix": (root := urlparse(config.html_baseurl).path or "/"),
        "notfound_context": {
            "title": "Page not found",
            "body": LOST.format(root=root, first=config.root_doc),
        },
    }.items():
        if name in config:
            config[name] = value


def name_repository(app: Sphinx, _docname: str, source: list[str]) -> None:
    """When a page is read: put the repository's address where it is asked for."""
    address = app.config.html_theme_options.get("repository_url", "").rstrip("/")
    colab = (
        f"https://colab.research.google.com/github{urlparse(address).path}/blob/main"
    )
    for name, meant in {"repository": address, "colab": colab}.items():
        source[0] = source[0].replace(f"{{{{ {name} }}}}", meant)


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
        if all(isinstance(child, nodes.emphasis) for child in paragraph.children):
            continue  # the line of minutes
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


def preview(app: Sphinx, page: str, document: nodes.document | None) -> str:
    """Give the address of a page's picture: a card of its own, or what a cell drew."""
    drawn = [] if document is None else document.findall(nodes.image)
    files = (app.builder.images.get(image["uri"], "") for image in drawn)
    name = next((name for name in files if name.endswith(".png")), None)
    place = f"{app.builder.imagedir}/{name}" if name else "_static/card.png"
    own = f"card-{page.rpartition('/')[2]}.png"
    if (STATIC / own).exists():
        place = f"_static/{own}"
    return app.config.html_baseurl + place


def add_description(
    app: Sphinx,
    page: str,
    _template: str,
    context: dict[str, Any],
    document: nodes.document | None,
) -> None:
    """Put a picture into a page's head, and a description, if possible its author's."""
    told = f'\n<meta property="og:image" content="{preview(app, page, document)}" />'
    context["metatags"] = context.get("metatags", "") + told
    given = GIVEN.search(context["metatags"])
    text = describe(document) if document is not None and not given else None
    if not text and not given:
        return
    words = given[1] if given else html.escape(text or "")
    context["meta"] = {**(context.get("meta") or {}), "og:description": words}
    if not given:
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
        told="\n".join(TOLD.findall(Path(app.outdir, first).read_text("utf-8"))),
    )
    Path(app.outdir, "index.html").write_text(entrance, "utf-8")


def pack_homework(app: Sphinx, exception: Exception | None) -> None:
    """After the build: put all assignments of a framework into an archive."""
    folder = Path(app.srcdir, "homework", "student")
    for wing in ("torch", "nnx") if not exception and folder.exists() else ():
        target = Path(app.outdir, "_static", f"homework-{wing}.zip")
        with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
            for notebook in sorted(folder.glob(f"*-{wing}.ipynb")):
                archive.write(notebook, notebook.name)


def keep_sources(_app: Sphinx, env: Any) -> None:
    """After pages are read: without git they have no date, but still their buttons.

    sphinx-last-updated-by-git takes from them the way to their source as well.
    """
    for page, told in getattr(env, "git_last_updated", {}).items():
        if told is None:
            env.git_last_updated[page] = None, True


def share_out(app: Sphinx) -> None:
    """Have a process for each core read and write pages.

    jupyter-book has no option for it, and one of its extensions, which numbers sections
    when all pages are read, doesn't say that it may. Elsewhere than on Linux, forks of
    a process that has imported what pages describe aren't safe.
    """
    if sys.platform == "linux":
        app.parallel = max(app.parallel, len(os.sched_getaffinity(0)))
    if numbering := app.extensions.get("sphinx_multitoc_numbering"):
        numbering.parallel_read_safe = True


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect each measure to its moment in the build."""
    group = "sphinxcontrib.bibtex.style.referencing"
    round_style: Any = partial(AuthorYearReferenceStyle, **ROUND)
    register_plugin(group, "author_year_round", round_style, force=True)
    app.connect("builder-inited", share_out)
    app.connect("env-updated", keep_sources, priority=600)
    app.connect("config-inited", fill_in_addresses, priority=100)
    app.connect("source-read", name_repository)
    # Before opengraph, which looks for a description in the head.
    app.connect("html-page-context", add_description, priority=400)
    app.connect("html-page-context", drop_unused, priority=900)
    app.connect("build-finished", open_first_page)
    app.connect("build-finished", pack_homework)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
