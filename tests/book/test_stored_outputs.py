"""The build publishes what is committed, and executes only what was edited."""

import json

import pytest
from small_books import cell

SETTINGS = {"nb_execution_mode": "cache"}


@pytest.fixture
def stored(book):
    """A chapter whose stored output no code would give: it was published, not made."""
    book.write(cell("print(6 * 7)"))
    assert book.tool()[0] == 0
    text = book.notebook.read_text()
    assert '"42\\n"' in text
    book.notebook.write_text(text.replace('"42\\n"', '"as it was stored\\n"'))
    return book


def test_stored_outputs_are_published_without_executing(stored):
    status, page, said = stored.build("outputs", **SETTINGS)
    assert status == 0, said
    assert "as it was stored" in page
    assert "Using cached notebook" in said


def test_the_notebook_can_be_downloaded_also_where_no_button_launches_it(stored):
    options = {"repository_url": "https://gitlab.com/owner/course"}
    status, page, said = stored.build(
        "outputs",
        html_theme="sphinx_book_theme",
        html_theme_options=options,
        **SETTINGS,
    )
    assert status == 0, said
    assert 'href="_sources/chapter.ipynb"' in page
    download = stored.root / "_build" / "html" / "_sources" / "chapter.ipynb"
    assert download.read_bytes() == stored.notebook.read_bytes()


def test_edited_words_execute_nothing(stored):
    stored.text.write_text(stored.text.read_text().replace("Some words", "Others"))
    _, page, said = stored.build("outputs", **SETTINGS)
    assert "Others" in page
    assert "as it was stored" in page
    assert "Executing notebook" not in said


def test_edited_code_is_executed(stored):
    stored.text.write_text(stored.text.read_text().replace("6 * 7", "6 * 7 + 1"))
    status, page, said = stored.build("outputs", **SETTINGS)
    assert status == 0, said
    assert "as it was stored" not in page
    assert ">43\n" in page
    assert "Executing notebook" in said


def test_a_notebook_that_was_never_executed_is_not_published(stored):
    notebook = json.loads(stored.notebook.read_text())
    for one in notebook["cells"]:
        if one["cell_type"] == "code":
            one["execution_count"] = None
    stored.notebook.write_text(json.dumps(notebook))
    _, page, _ = stored.build("outputs", **SETTINGS)
    assert "as it was stored" not in page
    assert ">42\n" in page


def test_a_failed_cell_that_was_stored_is_not_published(stored):
    notebook = json.loads(stored.notebook.read_text())
    notebook["cells"][-1]["outputs"] = [
        {
            "output_type": "error",
            "ename": "ZeroDivisionError",
            "evalue": "division by zero",
            "traceback": ["ZeroDivisionError: division by zero"],
        }
    ]
    stored.notebook.write_text(json.dumps(notebook))
    _, page, _ = stored.build("outputs", **SETTINGS)
    assert "ZeroDivisionError" not in page
    assert ">42\n" in page


def test_cells_run_in_the_book_s_environment(book):
    book.write(cell("import os\nprint('quiet:', os.environ['COURSE_QUIET'])"))
    _, page, said = book.build("outputs", **SETTINGS)
    assert "quiet: 1" in page, said
