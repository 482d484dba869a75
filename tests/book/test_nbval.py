"""Run nbval for real: it passes on what is true, and fails when a result changes.

This is what keeps the published outputs honest. The build takes them as they are
stored; only this comparison notices that the library has come to say something else.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from small_books import ROOT, Book, cell

pytestmark = pytest.mark.filterwarnings("default")

CELLS = {
    "oracle": """\
import numpy as np
from course_lib.oracle.attention import attention

x = np.sin(np.arange(21.0)).reshape(7, 3)
output, weights = attention(x, x, x)
print(output[0])""",
    "torch": """\
import torch
from course_lib.torch.attention import attention

x = torch.arange(21.0).reshape(7, 3).sin()
output, weights = attention(x, x, x)
print(output[0])""",
    "nnx": """\
import jax.numpy as jnp
from course_lib.nnx.attention import attention

x = jnp.sin(jnp.arange(21.0)).reshape(7, 3)
output, weights = attention(x, x, x)
print(output[0])""",
}
ALSO = [
    cell("print(235, 'households')"),
    cell("import os\nprint('quiet:', os.environ['COURSE_QUIET'])"),
    cell("raise ValueError('no bandwidth')", "raises-exception"),
]
PLOT = """
import matplotlib.pyplot as plt

plt.plot(output[:, 0])
plt.show()"""
# One percent, added to the end of the library's own file.
PERTURBATION = """

_true = attention


def attention(*args, **kwargs):
    output, weights = _true(*args, **kwargs)
    return output * 1.01, weights
"""


def make_chapter(root, room):
    """Write and execute a chapter on one room of the library."""
    book = Book(root)
    book.write(cell(CELLS[room]), cell(PLOT), *ALSO)
    status, said = book.tool()
    assert status == 0, said
    shutil.copy(ROOT / "book" / "conftest.py", book.folder)
    (book.folder / "tools").symlink_to(ROOT / "book" / "tools")
    (book.root / "pytest.ini").write_text("[pytest]\nfilterwarnings = error\n")
    return book


@pytest.fixture(scope="module", params=["torch", "nnx"])
def chapter(request, tmp_path_factory):
    """A chapter on one wing, executed, with the book's conftest beside it."""
    pytest.importorskip({"torch": "torch", "nnx": "flax"}[request.param])
    book = make_chapter(tmp_path_factory.mktemp(request.param), request.param)
    book.wing = request.param
    return book


@pytest.fixture(scope="module")
def executed(tmp_path_factory):
    """A chapter that needs no framework, executed once."""
    return make_chapter(tmp_path_factory.mktemp("oracle"), "oracle")


@pytest.fixture
def plain(executed, tmp_path):
    """A copy of it, to be edited."""
    shutil.copytree(executed.root, tmp_path, symlinks=True, dirs_exist_ok=True)
    return Book(tmp_path)


def run_nbval(book, *arguments, library=ROOT, compare="--nbval", kernels="fresh"):
    """Run the notebook under pytest, as `make test` does, with some library."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    environment |= {"PYTHONPATH": str(library), "COURSE_QUIET": "0", "KERNELS": kernels}
    command = [sys.executable, "-m", "pytest", compare, "--nbval-current-env"]
    command += ["--nbval-cell-timeout", "120", "-p", "no:cacheprovider", "--color=no"]
    done = subprocess.run(
        [*command, *arguments, "book"],
        cwd=book.root,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def test_a_true_notebook_passes_also_in_parallel(chapter):
    status, said = run_nbval(chapter, "-n", "1", "--dist", "loadfile", kernels="forks")
    assert status == 0, said
    assert "6 passed" in said


def test_a_library_that_changes_by_one_percent_fails(chapter, tmp_path):
    shutil.copytree(
        ROOT / "course_lib",
        tmp_path / "course_lib",
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    changed = Path(tmp_path, "course_lib", chapter.wing, "attention.py")
    with changed.open("a") as file:
        file.write(PERTURBATION)
    status, said = run_nbval(chapter, "-n", "0", library=tmp_path)
    assert status == 1
    assert "2 failed, 4 passed" in said, said
    assert "stdout: the float" in said  # the numbers
    assert "pixels are far" in said  # and the picture


def test_a_stored_output_that_was_edited_fails(plain):
    text = plain.notebook.read_text()
    plain.notebook.write_text(text.replace('"235 households', '"236 households'))
    status, said = run_nbval(plain, "-n", "0")
    assert status == 1
    assert "1 failed, 5 passed" in said, said
    assert "the integer 236 became 235" in said
    assert "stored on such a machine as this" in said


def test_a_failure_says_on_what_the_output_was_stored(plain):
    notebook = json.loads(plain.notebook.read_text())
    notebook["metadata"]["stored_on"]["instructions"] = "AVX1024"
    text = json.dumps(notebook).replace("235 households", "236 households")
    plain.notebook.write_text(text)
    status, said = run_nbval(plain, "-n", "0")
    assert status == 1
    assert "It was stored with AVX1024; this is " in said, said


def test_with_other_versions_a_page_is_executed_and_asserts(plain):
    text = plain.notebook.read_text().replace('"235 households', '"236 households')
    plain.notebook.write_text(text)
    status, said = run_nbval(plain, "-n", "0", compare="--nbval-lax")
    assert (status, "6 passed" in said) == (0, True), said
    plain.notebook.write_text(text.replace("print(235, ", "assert 236 == 235, ("))
    status, said = run_nbval(plain, "-n", "0", compare="--nbval-lax")
    assert (status, "1 failed, 5 passed" in said) == (1, True), said


def test_a_tolerance_that_is_too_wide_fails(plain):
    notebook = json.loads(plain.notebook.read_text())
    notebook["cells"][-1]["metadata"]["nbval"] = {"rtol": 0.2}
    plain.notebook.write_text(json.dumps(notebook))
    status, said = run_nbval(plain, "-n", "0")
    assert status == 1
    assert "1 failed, 5 passed" in said, said
    assert "may widen its tolerance to 0.05 at most" in said
