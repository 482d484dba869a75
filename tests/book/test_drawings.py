"""The drawings that no cell makes: each is what the code beside it draws."""

import re
import runpy
import shutil
import sys
from pathlib import Path

import matplotlib as mpl
import pytest
from book_scripts import FIGURES

SCRIPTS = sorted(set(FIGURES.glob("*.py")) - {FIGURES / "drawing.py"})


def words(path: Path) -> list[str]:
    """What is written in a drawing: letters are outlines, with the text beside them."""
    return re.findall(r"<!-- (.+?) -->", path.read_text("utf-8"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_draws_what_is_committed(script, tmp_path, monkeypatch):
    copy = shutil.copy(script, tmp_path)
    monkeypatch.setattr(sys, "argv", [str(copy)])
    with mpl.rc_context():
        runpy.run_path(str(copy), run_name="__main__")
    drawn = sorted(tmp_path.glob("*.svg"))
    assert drawn
    for path in drawn:
        assert words(path) == words(FIGURES / path.name)
        assert len(words(path)) > 5


def test_every_drawing_has_its_script():
    stems = tuple(path.stem.replace("_", "-") for path in SCRIPTS)
    assert all(path.name.startswith(stems) for path in FIGURES.glob("*.svg"))
