"""Publish the outputs that are committed, instead of executing again.

Beside each chapter `book/<slug>.md` lies `book/<slug>.ipynb`, executed, committed and
compared by the tests with what the code gives. Before Sphinx reads the pages, this
extension lays those notebooks into the cache from which myst-nb takes outputs. So a
plain `jupyter-book build .` takes seconds and shows what was tested, and only a
chapter whose code cells were edited is executed.

The key of that cache is the code cells and the kernel's name. A change in the library
does not alter it: that stored outputs are still true is for the tests to say.
"""

import os
import shutil
import sys
from pathlib import Path
from typing import Any

import nbformat
from jupyter_cache import get_cache
from jupyter_cache.base import CacheBundleIn, JupyterCacheAbstract
from nbformat import NotebookNode
from sphinx.application import Sphinx
from sphinx.util.logging import getLogger

sys.path.append(str(Path(__file__).resolve().parents[1] / "tools"))

from kernels import apply

LOGGER = getLogger(__name__)


def failed(cell: NotebookNode) -> bool:
    """Say whether a cell ended in an error that its author did not announce."""
    announced = "raises-exception" in cell.metadata.get("tags", [])
    errors = [o for o in cell.outputs if o.output_type == "error"]
    return bool(errors) and not announced


def store(cache: JupyterCacheAbstract, notebook: Path) -> bool:
    """Put a notebook into the cache, unless a cell of it failed or was not executed."""
    content = nbformat.read(notebook, as_version=4)
    code = [cell for cell in content.cells if cell.cell_type == "code"]
    if any(cell.execution_count is None or failed(cell) for cell in code):
        return False
    cache.cache_notebook_bundle(
        CacheBundleIn(content, str(notebook), data={"execution_seconds": 0.0}),
        check_validity=False,
        overwrite=True,
    )
    return True


def fill_cache(app: Sphinx, env: Any, docnames: list[str]) -> None:
    """Before pages are read: store the notebook beside each of them."""
    if app.config["nb_execution_mode"] != "cache":
        return
    apply(os.environ)  # for a chapter that has to be executed after all
    cache = get_cache(env.mystnb_config.execution_cache_path)
    for docname in docnames:
        notebook = Path(env.doc2path(docname)).with_suffix(".ipynb")
        if notebook.exists() and not store(cache, notebook):
            LOGGER.info("[stored_outputs] %s has not been executed", notebook.name)


def name_download(
    app: Sphinx, page: str, _template: str, context: dict[str, Any], _tree: Any
) -> None:
    """Have the theme offer a page's notebook, also where no button launches it."""
    if Path(app.srcdir, f"{page}.ipynb").exists():
        context["ipynb_source"] = f"{page}.ipynb"


def offer_downloads(app: Sphinx, exception: Exception | None) -> None:
    """After the build: the notebook to download is the committed one.

    The theme offers the one that myst-nb wrote, which has lost its outputs.
    """
    if exception or app.builder.format != "html":
        return
    for docname in app.env.found_docs:
        notebook = Path(app.srcdir, f"{docname}.ipynb")
        if notebook.exists():
            download = Path(app.outdir, "_sources", f"{docname}.ipynb")
            download.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(notebook, download)


def setup(app: Sphinx) -> dict[str, Any]:
    """Fill the cache early in the build, and the downloads at its end."""
    app.connect("env-before-read-docs", fill_cache)
    app.connect("html-page-context", name_download, priority=400)
    app.connect("build-finished", offer_downloads)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
