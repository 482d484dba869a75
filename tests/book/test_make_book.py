"""`make book` ends well only if every page of the book did."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from small_books import HEADER, ROOT, cell

BROKEN = cell("1 / 0"), cell("print('alone')", "torch")
WHOLE = cell("1 / 1"), cell("print(1)", "torch"), cell("print(1)", "nnx")
CONTENTS = """\
format: jb-book
root: book/intro
parts:
  - caption: A part
    numbered: true
    chapters:
      - file: book/chapter
        sections:
          - file: book/in-depth
"""


@pytest.fixture
def course(tmp_path):
    """A book of three pages, with the settings and the commands of ours."""
    (tmp_path / "book").mkdir()
    for name in ("Makefile", "_config.yml"):
        (tmp_path / name).write_text((ROOT / name).read_text("utf-8"))
    for name in ("_ext", "tools", "_static"):
        (tmp_path / "book" / name).symlink_to(ROOT / "book" / name)
    (tmp_path / "book" / "references.bib").write_text("")
    (tmp_path / "book" / "intro.md").write_text("# The book\n\nWords.\n")
    (tmp_path / "book" / "in-depth.md").write_text("# An optional page\n\nWords.\n")
    (tmp_path / "_toc.yml").write_text(CONTENTS)
    return tmp_path


def make_book(course: Path, *parts: str) -> tuple[int, str]:
    """Write the chapter and make the book; give the exit status and what was said."""
    (course / "book" / "chapter.md").write_text(HEADER + "".join(parts))
    here = f"VENV={Path(sys.executable).parents[1]}"
    # As a person starts it: the make that may run these tests tells it nothing.
    outside = {
        k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS"))
    }
    done = subprocess.run(
        ["make", "book", here, "BINDERY="],
        cwd=course,
        env=outside,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


def test_a_failed_cell_or_a_missing_twin_stops_the_book_until_it_is_fixed(course):
    status, said = make_book(course, *BROKEN)
    assert status != 0
    assert "The book is ready" not in said
    complaints = said.partition("build finished with problems")[2]
    assert "chapter.md: WARNING: Executing notebook failed" in complaints
    assert "ZeroDivisionError" in complaints
    assert re.search(r"chapter\.md:\d+: WARNING: a part for PyTorch", complaints)
    # Or Sphinx would not read the page again, and be silent.
    assert not (course / "_build" / ".doctrees").exists()
    status, said = make_book(course, *WHOLE)
    assert status == 0, said
    assert said.rstrip().endswith("_build/html/index.html")
    assert "The book is ready" in said
    optional = (course / "_build" / "html" / "book" / "in-depth.html").read_text()
    assert '"section-number">1.1. </span>An optional page' in optional
