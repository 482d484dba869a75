"""Live figures: an element that a small script brings to life, over a still picture.

    ```{explore} ../_static/explore/query.svg
    :element: query
    :label: Attention for one word, live
    :name: fig-attention-in-depth-query
    :alt: What the still picture shows.

    The caption, which says what to try.
    ```

It is a figure, with a number and a caption. Its picture stands inside an element
`<explore-query>`, which `_static/explore/query.js` fills; without JavaScript, in a
notebook and in print formats the picture stays. Only pages that have such a figure load
scripts, as files, deferred and without a network, so that they also run from a folder.
"""

import html
from pathlib import Path
from typing import ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.directives.patches import Figure

STATIC = Path(__file__).resolve().parents[1] / "_static"
FOLDER = "explore"


class Explore(Figure):
    """A figure that comes alive where there is JavaScript."""

    option_spec: ClassVar = dict(Figure.option_spec or {}) | {
        "element": directives.unchanged,
        "label": directives.unchanged,
    }

    def run(self) -> list[nodes.Node]:
        """Make the figure, its picture inside the element."""
        element = self.options.pop("element", None)
        script = f"{FOLDER}/{element}.js"
        if not (STATIC / script).is_file():
            raise self.error(
                f"an explorer needs the option `:element:`, the name of a script in "
                f"_static/{FOLDER}: got {element!r}."
            )
        label = html.escape(self.options.pop("label", element), quote=True)
        tag = f"explore-{element}"
        made = super().run()
        for figure in made:
            if isinstance(figure, nodes.figure):
                start = f'<{tag} class="explore" data-label="{label}">'
                figure.insert(0, nodes.raw("", start, format="html", explore=script))
                figure.insert(2, nodes.raw("", f"</{tag}>", format="html"))
        return made


def load_scripts(
    app: Sphinx,
    pagename: str,
    templatename: str,
    context: dict[str, object],
    doctree: nodes.document | None,
) -> None:
    """Load what a page's figures need, on that page."""
    if doctree is None:
        return
    scripts = {raw["explore"] for raw in doctree.findall(nodes.raw) if "explore" in raw}
    if scripts:
        for script in (f"{FOLDER}/explore.js", *sorted(scripts)):
            app.add_js_file(script, loading_method="defer")


def setup(app: Sphinx) -> dict[str, bool]:
    """Set the directive up."""
    app.add_directive("explore", Explore)
    app.connect("html-page-context", load_scripts)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
