"""A quicker build publishes what the slow one would."""

import sys

import pytest
import quick_build
from bs4 import BeautifulSoup
from sphinx.builders.html import StandaloneHTMLBuilder
from sphinx.ext import viewcode

TEXT = """
```{toctree}
other
```

```{eval-rst}
.. automodule:: small_pieces.one
   :members:

.. automodule:: small_pieces.deep.two
   :members:
```
"""


@pytest.fixture
def library(book, monkeypatch):
    """A book beside a package of three modules, whose source code is published."""
    for name in ("__init__", "one", "deep/__init__", "deep/two", "deep/three"):
        path = book.folder / "small_pieces" / f"{name}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f'def f_{path.stem}():\n    """Words."""\n')
    (book.folder / "other.md").write_text("# Another page\n\nWords.\n")
    monkeypatch.syspath_prepend(str(book.folder))
    yield book
    for name in [name for name in sys.modules if name.startswith("small_pieces")]:
        del sys.modules[name]


def pages(book, *extensions):
    """Build from nothing, and read the pages of source code."""
    book.write(TEXT)
    status, _, said = book.build(
        "sphinx.ext.autodoc",
        "sphinx.ext.viewcode",
        *extensions,
        html_theme="sphinx_book_theme",
        nb_execution_mode="off",
    )
    assert status == 0, said
    modules = book.root / "_build" / "html" / "_modules"
    return {
        path.relative_to(modules).as_posix(): path.read_text("utf-8")
        for path in modules.rglob("*.html")
    }


def test_pages_of_source_code_are_the_same_and_share_their_contents(
    library, monkeypatch, tmp_path
):
    made = []
    original = StandaloneHTMLBuilder._get_local_toctree

    def count(builder, page, *rest, **options):
        made.append(page)
        return original(builder, page, *rest, **options)

    monkeypatch.setattr(quick_build, "CONTENTS", count)
    quick = pages(library, "quick_build")
    assert {"small_pieces/one.html", "small_pieces/deep/two.html"} <= quick.keys()
    shared = [page for page in made if page.startswith("_modules/small_pieces")]
    assert len({page.count("/") for page in shared}) == len(shared)

    monkeypatch.setattr(StandaloneHTMLBuilder, "_get_local_toctree", original)
    (library.root / "_build").rename(tmp_path / "quick")
    assert pages(library) == quick
    link = BeautifulSoup(quick["small_pieces/deep/two.html"], "html.parser").find(
        "a", string=lambda text: text and "Another page" in text
    )
    assert link["href"] == "../../../other.html"


def test_a_module_is_found_without_being_imported(library):
    class App:
        srcdir = library.folder

    for name, file in {
        "small_pieces": "small_pieces/__init__.py",
        "small_pieces.deep.three": "small_pieces/deep/three.py",
    }.items():
        found = quick_build.module_file(App, name)
        assert found == str(library.folder / file)
    assert not [name for name in sys.modules if name.startswith("small_pieces")]


def test_what_is_not_beside_the_book_is_found_as_sphinx_finds_it(library, monkeypatch):
    class App:
        srcdir = library.folder

        @staticmethod
        def emit_firstresult(*_):
            return None

    assert quick_build.module_file(App, "json") == quick_build.MODULE_FILE(App, "json")
    assert quick_build.module_file(App, "no_such_module") is None
    assert viewcode.OUTPUT_DIRNAME == "_modules"
