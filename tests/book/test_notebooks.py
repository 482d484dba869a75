"""The tool keeps a chapter's text and its notebook together."""

import base64
import json
import shutil

import notebooks
import pytest
from small_books import Book, cell

pytestmark = pytest.mark.filterwarnings("default")

PLOT = cell(
    "import matplotlib.pyplot as plt\nplt.plot([1, 3, 2])\nplt.show()", "hide-input"
)


@pytest.fixture(scope="module")
def executed(tmp_path_factory):
    """A small chapter, executed once for all tests."""
    book = Book(tmp_path_factory.mktemp("executed"))
    book.write(cell("print(6 * 7)"), PLOT)
    status, said = book.tool()
    assert status == 0, said
    assert "executed in" in said
    return book


@pytest.fixture
def pair(executed, book):
    """A copy of that chapter, to be edited."""
    shutil.copy(executed.text, book.text)
    shutil.copy(executed.notebook, book.notebook)
    return book


def edit(path, old, new):
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new), "utf-8")


def test_a_fresh_pair_passes_the_check(pair):
    assert pair.tool("--check") == (0, "")


def test_executing_again_changes_no_byte(pair):
    before = pair.text.read_bytes(), pair.notebook.read_bytes()
    status, said = pair.tool("--force")
    assert (status, "executed in" in said) == (0, True), said
    assert (pair.text.read_bytes(), pair.notebook.read_bytes()) == before


def test_an_up_to_date_pair_is_left_alone(pair):
    assert pair.tool() == (0, "chapter: up to date\n")


def test_edited_code_is_found_and_mended(pair):
    edit(pair.text, "6 * 7", "6 * 8")
    status, said = pair.tool("--check")
    assert status == 1
    assert "chapter: code cells were edited" in said
    assert "Fix with: python book/tools/notebooks.py chapter" in said
    assert "executed in" in pair.tool()[1]
    assert '"48\\n"' in pair.notebook.read_text()
    assert pair.tool("--check") == (0, "")


def test_edited_words_are_found_and_mended_without_executing(pair):
    edit(pair.notebook, '"42\\n"', '"as it was stored\\n"')
    edit(pair.text, "Some words", "Other words")
    assert pair.tool("--check")[0] == 1
    assert "outputs kept" in pair.tool()[1]
    assert "as it was stored" in pair.notebook.read_text()
    assert "Other words" in pair.notebook.read_text()
    assert pair.tool("--check") == (0, "")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("print(6 * 7)", "print(6 * 9)"),  # the source of a cell
        ("hide-input", "remove-input"),  # a tag
        ('"metadata": {},', '"metadata": {"collapsed": true},'),
        ('"name": "python3"', '"name": "other"'),  # the kernel
        ("Some words", "Other words"),
    ],
)
def test_an_edited_notebook_is_found(pair, old, new):
    edit(pair.notebook, old, new)
    status, said = pair.tool("--check")
    assert status == 1
    assert said.startswith("chapter: ")


def test_edited_tags_in_the_text_are_found(pair):
    edit(pair.text, "hide-input", "remove-input")
    assert pair.tool("--check")[0] == 1


@pytest.mark.parametrize(
    ("old", "new"), [("---\n", "\ufeff---\n"), ("---\n\n", "---  \n\n")]
)
def test_a_page_that_another_tool_saved_is_seen_and_mended(pair, old, new):
    before = pair.text.read_bytes()
    text = before.decode().replace(old, new, 1)
    pair.text.write_text(text, "utf-8")
    status, said = pair.tool("--check")
    assert (status, "byte-order mark" in said) == (1, True), said
    pair.text.write_text(text.replace("6 * 7", "6 * 8"), "utf-8")
    assert "code cells were edited" in pair.tool("--check")[1]
    pair.text.write_text(text, "utf-8")
    assert "outputs kept" in pair.tool()[1]
    assert pair.text.read_bytes() == before


def test_a_second_page_of_one_name_is_found(pair):
    other = pair.folder / "part"
    other.mkdir()
    shutil.copy(pair.text, other)
    status, said = pair.tool("--check")
    assert (status, "names of their own" in said) == (2, True), said


def test_a_missing_notebook_is_found(pair):
    pair.notebook.unlink()
    status, said = pair.tool("--check")
    assert status == 1
    assert "chapter: the notebook is missing" in said


def test_a_notebook_without_text_is_found(pair):
    pair.notebook.rename(pair.folder / "orphan.ipynb")
    status, said = pair.tool("--check")
    assert status == 1
    assert "orphan.ipynb: its text is missing" in said


def test_a_notebook_that_was_not_executed_is_found(pair):
    notebook = json.loads(pair.notebook.read_text())
    notebook["cells"][-1]["execution_count"] = None
    pair.notebook.write_text(json.dumps(notebook))
    assert "not executed from start to end" in pair.tool("--check")[1]


def test_the_check_changes_nothing(pair):
    edit(pair.text, "6 * 7", "6 * 8")
    before = pair.text.read_bytes(), pair.notebook.read_bytes()
    pair.tool("--check")
    assert (pair.text.read_bytes(), pair.notebook.read_bytes()) == before


def test_a_new_address_is_written_everywhere_without_executing(pair):
    config = pair.root / "_config.yml"
    edit(config, "example.org/owner", "example.org/fork")
    status, said = pair.tool("--check")
    assert status == 1
    assert "the cell for Colab is missing or outdated" in said
    assert "outputs kept" in pair.tool()[1]
    for path in (pair.text, pair.notebook):
        text = path.read_text()
        assert "git+https://example.org/fork/course" in text
        assert "example.org/owner" not in text
    assert pair.tool("--check") == (0, "")


ADDRESSED = {
    "CITATION.cff": "url: {site}\nrepository-code: {url}\nkeywords: []\n",
    "pyproject.toml": 'Documentation = "{site}"\nIssues = "{url}/issues"\n',
    ".github/ISSUE_TEMPLATE/config.yml": "  - name: A\n    url: {url}/discussions\n",
}


def test_a_new_address_is_written_where_it_can_t_be_asked_for(pair):
    def right(owner):
        url = f"https://example.org/{owner}/course"
        site = f"https://{owner}.example.io/course/"
        return {n: text.format(url=url, site=site) for n, text in ADDRESSED.items()}

    def stored():
        return {name: (pair.root / name).read_text() for name in ADDRESSED}

    for name, text in right("owner").items():
        (pair.root / name).parent.mkdir(parents=True, exist_ok=True)
        (pair.root / name).write_text(text)
    assert pair.tool("--check") == (0, "")
    edit(pair.root / "_config.yml", "example.org/owner", "example.org/fork")
    pair.tool("chapter")  # one chapter alone is no reason to look at other files
    assert stored() == right("owner")
    status, said = pair.tool("--check")
    assert status == 1
    assert said.startswith("CITATION.cff: names another repository. Fix with: ")
    assert "CITATION.cff: address refreshed" in pair.tool()[1]
    assert stored() == right("fork")
    assert pair.tool("--check") == (0, "")


def test_the_first_cell_installs_the_package_in_colab_and_only_there(pair):
    code = [c for c in json.loads(pair.notebook.read_text())["cells"] if "outputs" in c]
    assert code[0]["metadata"]["tags"] == ["remove-cell", "colab-setup"]
    assert "".join(code[0]["source"]) == (
        'import os\nimport sys\n\nos.environ["JAX_PLATFORMS"] = "cpu"  # these models '
        'are small: a GPU would only wait\nif "google.colab" in sys.modules:\n'
        '    %pip install -q "course_lib[chapters] @ '
        'git+https://example.org/owner/course"'
    )
    assert code[0]["outputs"] == []


def test_cell_ids_come_from_content(book):
    book.write(cell("print(1)"), cell("print(1)"), cell("print(2)"))
    book.tool()
    cells = json.loads(book.notebook.read_text())["cells"]
    ids = {c["id"]: "".join(c["source"]) for c in cells}
    assert len(ids) == len(cells)
    book.write("\nA new paragraph.\n", cell("print(1)"), cell("print(1)"))
    book.tool()
    again = json.loads(book.notebook.read_text())["cells"]
    for one in again[3:]:
        assert ids[one["id"]] == "".join(one["source"])


def test_pictures_carry_no_metadata_and_notebooks_no_times(pair):
    notebook = json.loads(pair.notebook.read_text())
    (png,) = (
        base64.b64decode(output["data"]["image/png"])
        for c in notebook["cells"]
        for output in c.get("outputs", [])
        if "data" in output
    )
    assert b"Software" not in png
    assert b"tEXt" not in png
    assert all("execution" not in c["metadata"] for c in notebook["cells"])


@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        ("print(object())", "the address of an object"),
        ("import os\nprint(os.path.expanduser('~'))", "a path on this machine"),
        ("import warnings\nwarnings.warn('old')", "prints nothing to stderr"),
    ],
)
def test_what_changes_from_run_to_run_is_refused(book, source, complaint):
    book.write(cell(source))
    status, said = book.tool()
    assert status == 1
    assert complaint in said
    assert not book.notebook.exists()


def test_an_error_that_is_meant_is_stored_in_one_line(book):
    book.write(cell("raise ValueError('wrong shape')", "raises-exception"))
    assert book.tool()[0] == 0
    notebook = json.loads(book.notebook.read_text())
    (output,) = notebook["cells"][-1]["outputs"]
    assert output["traceback"] == ["ValueError: wrong shape"]


def test_an_error_that_is_not_meant_leaves_the_notebook_as_it_was(pair):
    before = pair.notebook.read_bytes()
    edit(pair.text, "6 * 7", "1 / 0")
    status, said = pair.tool()
    assert status == 1
    assert "ZeroDivisionError" in said
    assert pair.notebook.read_bytes() == before


def test_words_that_are_written_during_the_execution_stay(book):
    book.write(
        cell(
            "from pathlib import Path\n"
            "text = Path('chapter.md')\n"
            "_ = text.write_text(text.read_text() + '\\nLater words.\\n')"
        )
    )
    status, said = book.tool()
    assert status == 0, said
    assert book.text.read_text("utf-8").endswith("Later words.\n")
    assert "Later words." in book.notebook.read_text("utf-8")
    assert book.tool("--check") == (0, "")


def test_an_unknown_chapter_is_named(pair):
    status, said = pair.tool("chaptre")
    assert status == 2
    assert said == "no chapter is called chaptre: there are chapter.\n"


def test_pages_without_cells_need_no_notebook(pair):
    (pair.folder / "page.md").write_text("# A page\n\nWords.\n")
    assert pair.tool("--check") == (0, "")


def test_the_pairs_of_this_book_match(capsys):
    status = notebooks.main(["--check"])
    assert status == 0, capsys.readouterr().out
