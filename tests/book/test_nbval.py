"""Run nbval for real: it passes on what is true, and fails when a result changes.

This is what keeps the published outputs honest. The build takes them as they are
stored; only this comparison notices that the library has come to say something else.
The comparison knows no framework, so a chapter without one is enough.
"""

import json
import os
import shutil
import subprocess
import sys

import pytest
from small_books import ROOT, Book, cell

pytestmark = pytest.mark.filterwarnings("default")

LIBRARY = """\
import numpy as np
from course_lib.oracle.attention import attention

x = np.sin(np.arange(21.0)).reshape(7, 3)
output, weights = attention(x, x, x)
print(output[0])"""
PLOT = """
import matplotlib.pyplot as plt

plt.plot(output[:, 0])
plt.show()"""
ALSO = [
    cell("print(235, 'households')"),
    cell("import os\nprint('quiet:', os.environ['COURSE_QUIET'])"),
    cell("raise ValueError('no bandwidth')", "raises-exception"),
]
# One percent, added to the end of the library's own file.
PERTURBATION = """

_true = attention


def attention(*args, **kwargs):
    output, weights = _true(*args, **kwargs)
    return output * 1.01, weights
"""


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    """A chapter on one room of the library, executed; the book's conftest beside it."""
    book = Book(tmp_path_factory.mktemp("nbval"))
    book.write(cell(LIBRARY), cell(PLOT), *ALSO)
    status, said = book.tool()
    assert status == 0, said
    shutil.copy(ROOT / "book" / "conftest.py", book.folder)
    (book.folder / "tools").symlink_to(ROOT / "book" / "tools")
    (book.root / "pytest.ini").write_text("[pytest]\nfilterwarnings = error\n")
    return book


def run_nbval(book, *arguments, library=ROOT):
    """Run the notebook under pytest, as `make test` does, with some library."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    environment |= {"PYTHONPATH": str(library), "COURSE_QUIET": "0", "KERNELS": "fresh"}
    command = [sys.executable, "-m", "pytest", "--nbval-current-env", "--color=no"]
    command += ["--nbval-cell-timeout", "120", "-p", "no:cacheprovider", *arguments]
    done = subprocess.run(
        [*command, "book"],
        cwd=book.root,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr


def test_a_changed_library_an_edited_output_and_a_wide_tolerance_fail(book, tmp_path):
    shutil.copytree(
        ROOT / "course_lib",
        tmp_path / "course_lib",
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    with (tmp_path / "course_lib" / "oracle" / "attention.py").open("a") as file:
        file.write(PERTURBATION)
    true = book.notebook.read_text("utf-8")
    notebook = json.loads(true.replace('"235 households', '"236 households'))
    notebook["metadata"]["stored_on"]["instructions"] = "AVX1024"
    notebook["cells"][-1]["metadata"]["nbval"] = {"rtol": 0.2}
    book.notebook.write_text(json.dumps(notebook), "utf-8")
    said = run_nbval(book, "--nbval", library=tmp_path)
    book.notebook.write_text(true, "utf-8")
    assert "4 failed, 2 passed" in said, said
    assert "stdout: the float" in said  # the library's numbers
    assert "pixels are far" in said  # and their picture
    assert "the integer 236 became 235" in said
    assert "may widen its tolerance to 0.05 at most" in said
    assert "It was stored with AVX1024; this is " in said


def test_with_other_versions_only_what_a_page_asserts_counts(book):
    true = book.notebook.read_text("utf-8")
    changed = true.replace('"235 households', '"236 households')
    changed = changed.replace("print('quiet:'", "assert 6 == 7, ('quiet:'")
    book.notebook.write_text(changed, "utf-8")
    said = run_nbval(book, "--nbval-lax")
    book.notebook.write_text(true, "utf-8")
    assert "1 failed, 5 passed" in said, said
    assert "assert 6 == 7" in said
