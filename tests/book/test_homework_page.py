"""What the page on homework shows runs, and what it names is there."""

import re
import runpy
import sys

import jupytext
import pytest
from small_books import ROOT

from course_lib import homework
from course_lib.homework import check

PAGE = (ROOT / "book" / "appendices" / "homework.md").read_text("utf-8")
TARGETS = sorted(set(re.findall(r"(?:`|^)make ([a-z]+)", PAGE, re.MULTILINE)))
MASTERS = sorted((ROOT / "homework").glob("*.md"))
sys.path.insert(0, str(ROOT / "homework"))


def block(language, fence="```"):
    (text,) = re.findall(
        rf"^{fence}{language}\n(.*?)^{fence}$", PAGE, re.MULTILINE | re.DOTALL
    )
    return text


@pytest.mark.parametrize("target", TARGETS)
def test_its_commands_are_those_of_the_makefile(target):
    makefile = (ROOT / "Makefile").read_text("utf-8")
    assert re.search(rf"^{target}:.*## ", makefile, re.MULTILINE)


def test_it_names_every_assignment():
    listed = re.findall(r"^\| (\d) `(\w+)`", PAGE, re.MULTILINE)
    assert sorted(slug for _, slug in listed) == [m.stem for m in MASTERS]
    for number, slug in listed:
        text = (ROOT / "homework" / f"{slug}.md").read_text("utf-8")
        assert f"\n# Assignment {number}: " in text


def test_its_question_and_its_exercise_fit_together(monkeypatch, tmp_path):
    pytest.importorskip("torch")
    import torch
    from master import Question, parse

    monkeypatch.setitem(homework.EXERCISES, "center", None)  # and gone afterwards
    (tmp_path / "rows.py").write_text(block("python"), encoding="utf-8")
    runpy.run_path(str(tmp_path / "rows.py"))
    notebook = jupytext.reads(block("md", "````"), fmt="md:myst")
    (question,) = parse(notebook.cells, "torch")
    assert isinstance(question, Question)
    assert not question.by_hand
    assert question.options["exercise"] == "center"
    answer = {"torch": torch}
    exec(question.cells[-1].source, answer)
    mine = answer[question.options["name"]]
    assert check(mine, "center", wing="torch")
    slip = check(lambda x: x - x.mean(dim=0), "center", wing="torch")
    assert "the mean runs down the columns" in repr(slip)


def test_it_links_to_pages_that_exist():
    links = re.findall(r"\]\(([\w./-]+)\.md\)", PAGE)
    assert len(links) > 6
    for link in links:
        assert (ROOT / "book" / "appendices" / f"{link}.md").exists(), link
