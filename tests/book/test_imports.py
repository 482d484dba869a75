"""Whoever installs the extra `chapters` can run every page."""

import ast
import re
import sys
from importlib.metadata import packages_distributions

import notebooks
import pytest
from notebooks import read_cells
from packaging.utils import canonicalize_name
from small_books import ROOT
from test_package import requirements

PAGES = notebooks.find_chapters(ROOT / "book", [])
INSTALLED = {canonicalize_name(need.name) for need in requirements("chapters")}
DISTRIBUTIONS = packages_distributions()
WRITTEN = re.compile(r"(?m)^%%writefile (\w+)\.py$")  # a module of the page's own


def imported(source: str) -> set[str]:
    """The packages that a cell imports, anywhere in it."""
    tree = ast.parse(re.sub(r"(?m)^(\s*)[%!].*$", r"\1pass", source))
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add(node.module or "")
    return {name.partition(".")[0] for name in names}


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_the_extra_installs_what_a_page_imports(path):
    cells = read_cells(path.read_text("utf-8")).cells
    code = [cell.source for cell in cells if cell.cell_type == "code"]
    names = set().union(*map(imported, code))
    assert {"numpy", "torch", "jax"} & names or len(code) == 1  # that of Colab
    written = {name for source in code for name in WRITTEN.findall(source)}
    own = sys.stdlib_module_names | {"course_lib", "google"} | written
    for name in names - own:
        given = {canonicalize_name(one) for one in DISTRIBUTIONS[name]}
        assert given & INSTALLED, f"{path.stem} imports {name}, which [chapters] lacks"


def test_an_import_is_found_wherever_it_stands():
    assert imported(
        "%pip install x\nimport a.b as c\ndef f():\n    from d.e import g"
    ) == {
        "a",
        "d",
    }
