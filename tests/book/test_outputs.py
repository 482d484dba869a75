"""The build publishes what is committed, and executes only what was edited."""

import json
import re

import pytest
from small_books import Book, cell

SETTINGS = {"nb_execution_mode": "cache", "html_theme": "sphinx_book_theme"}
CELLS = (
    cell("print(6 * 7)"),
    cell("import os\nprint('quiet:', os.environ['COURSE_QUIET'])"),
    cell("print('from torch')", "torch"),
    cell("print('from nnx')", "nnx"),
)


@pytest.fixture(scope="module")
def executed(tmp_path_factory):
    """A chapter whose stored output no code would give: it was published, not made."""
    book = Book(tmp_path_factory.mktemp("executed"))
    book.write(*CELLS)
    assert book.tool()[0] == 0
    text = book.notebook.read_text()
    assert '"42\\n"' in text
    return book.text.read_text(), text.replace('"42\\n"', '"as it was stored\\n"')


@pytest.fixture
def stored(book, executed):
    for path, text in zip((book.text, book.notebook), executed, strict=True):
        path.write_text(text)
    return book


def build(book):
    status, page, said = book.build("frameworks", "outputs", **SETTINGS)
    assert status == 0, said
    return page, said


def test_stored_outputs_are_published_without_executing(stored):
    stored.text.write_text(stored.text.read_text().replace("Some words", "Others"))
    page, said = build(stored)
    assert "as it was stored" in page
    assert "Others" in page
    assert "Using cached notebook" in said
    assert "Executing notebook" not in said
    # Each in its own tab.
    second = page.index("Flax NNX</label>")
    outputs = [m.start() for m in re.finditer(r'<div class="output stream', page)]
    assert page.index("PyTorch</label>") < outputs[-2] < second < outputs[-1]
    # The theme offers the very file, also where no button launches it.
    assert 'href="_sources/chapter.ipynb"' in page
    download = stored.root / "_build" / "html" / "_sources" / "chapter.ipynb"
    assert download.read_bytes() == stored.notebook.read_bytes()


def test_edited_code_is_executed_in_the_book_s_environment(stored):
    stored.text.write_text(stored.text.read_text().replace("6 * 7", "6 * 7 + 1"))
    page, said = build(stored)
    assert "as it was stored" not in page
    assert ">43\n" in page
    assert ">quiet: 1\n" in page
    assert "Executing notebook" in said


@pytest.mark.parametrize("fault", ["never executed", "failed"])
def test_a_notebook_that_failed_or_was_never_executed_is_not_published(stored, fault):
    notebook = json.loads(stored.notebook.read_text())
    last = [one for one in notebook["cells"] if one["cell_type"] == "code"][-1]
    if fault == "failed":
        error = {"ename": "ZeroDivisionError", "evalue": "", "traceback": []}
        last["outputs"] = [{"output_type": "error", **error}]
    else:
        last["execution_count"] = None
    stored.notebook.write_text(json.dumps(notebook))
    page, _ = build(stored)
    assert "ZeroDivisionError" not in page
    assert "as it was stored" not in page
    assert ">42\n" in page
