"""The assignments as `make homework` builds them, and a made-up class.

`make assignments` builds them and runs this; without what it built all is skipped.
Our solutions are marked as a student's work is, in isolation where that can be had.
"""

import ast
import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import nbformat
import pytest
import yaml
from grade import grade
from marker.assignment import Assignment
from marker.handed_in import HandedIn, find
from marker.isolation import Bubblewrap, choose
from marker.mark import Limits, Marker

from course_lib.homework import CHALLENGES

ROOT = Path(__file__).resolve().parents[2]
# Apart from what an instructor has built: tests never touch that, nor its seeds.
BUILT = ROOT / "_build" / "assignments"
MASTERS = sorted((ROOT / "homework").glob("*.md"))
SLUGS = [master.stem for master in MASTERS]
WINGS = ("torch", "nnx")
pytestmark = pytest.mark.skipif(
    not (BUILT / "instructor").exists(), reason="`make assignments` has not been run"
)


def read(path):
    return nbformat.read(path, as_version=4)


def student(slug, wing):
    return read(BUILT / "student" / f"{slug}-{wing}.ipynb")


def solution(slug, wing):
    return read(BUILT / "instructor" / slug / "solutions" / f"{slug}-{wing}.ipynb")


def assignment(slug):
    return Assignment.read(BUILT / "instructor" / slug / "assignment.json")


def code(notebook):
    sources = [c.source for c in notebook.cells if c.cell_type == "code"]
    return [re.sub("^( *)[%!].*", r"\1pass", s, flags=re.MULTILINE) for s in sources]


def isolation():
    return choose("bare" if Bubblewrap().missing() else "bubblewrap")


def defining(cells, name):
    """The one cell that defines this function or class."""
    starts = (f"def {name}(", f"class {name}(", f"class {name}:")
    (cell,) = [cell for cell in cells if any(start in cell for start in starts)]
    return cell


@pytest.mark.parametrize("wing", WINGS)
@pytest.mark.parametrize("slug", SLUGS)
class TestWhatAStudentReceives:
    def test_it_is_a_notebook_that_parses(self, slug, wing):
        notebook = student(slug, wing)
        nbformat.validate(notebook)
        for cell in code(notebook):
            ast.parse(cell)
        assert not any(cell.get("outputs") for cell in notebook.cells)

    def test_it_has_every_question_and_no_answer(self, slug, wing):
        theirs, ours = code(student(slug, wing)), code(solution(slug, wing))
        for part in assignment(slug).parts:
            skeleton = defining(theirs, part.answer)
            answer = defining(ours, part.answer)
            assert "..." in skeleton
            assert len(skeleton) < len(answer)
            assert f"check({part.answer}, " in "\n".join(theirs)
            body = [line.strip() for line in answer.splitlines()]
            start, end = body.index("# BEGIN SOLUTION"), body.index("# END SOLUTION")
            assert end > start + 1
            longest = max(body[start + 1 : end], key=len)
            assert longest not in "\n".join(theirs)

    def test_seeds_and_rubrics_stay_with_the_instructor(self, slug, wing):
        notebook = student(slug, wing)
        text = json.dumps(notebook)
        made = assignment(slug)
        for secret in (
            str(made.seed),
            "hidden=True",
            "test_in_the_sandbox",
            "SOLUTION",
        ):
            assert secret not in text
        assert "rubric" not in text.lower()
        assert "hidden=False" in notebook.metadata.otter.tests[made.parts[0].answer]
        file = BUILT / "instructor" / slug / "assignment.json"
        assert file.stat().st_mode & 0o77 == 0

    def test_otters_zip_marks_in_a_sandbox(self, slug, wing):
        path = BUILT / "instructor" / slug / "autograders" / f"{slug}-{wing}.zip"
        with zipfile.ZipFile(path) as autograder:
            text = {n: autograder.read(n).decode() for n in autograder.namelist()}
        environment = yaml.safe_load(text["environment.yml"])
        assert "python=3.11" in environment["dependencies"]
        ((name, paper),) = json.loads(text["otter_config.json"])["plugins"][0].items()
        assert name == "marker.otter_plugin.Sandboxed"
        assert Assignment.of(paper) == assignment(slug)
        assert "files/marker/otter_plugin.py" in text
        assert "files/sandbox/__main__.py" in text
        assert "bubblewrap" in text["setup.sh"]
        for part in assignment(slug).parts:
            test = text[f"tests/{part.answer}.py"]
            assert f"points={part.points}" in test.replace(".0", "")
            assert str(assignment(slug).seed) not in test

    def test_it_is_in_one_framework(self, slug, wing):
        text = "\n".join(code(student(slug, wing)))
        assert f'WING = "{wing}"' in text
        nodes = list(ast.walk(ast.parse(text)))
        names = [a.name for n in nodes if isinstance(n, ast.Import) for a in n.names]
        names += [n.module or "" for n in nodes if isinstance(n, ast.ImportFrom)]
        roots = {root for name in names for root in name.split(".")}
        foreign = {"torch": {"jax", "flax", "optax", "nnx"}, "nnx": {"torch"}}[wing]
        assert not roots & foreign


@pytest.mark.parametrize("slug", SLUGS)
def test_points_and_minutes_add_up(slug):
    text = (ROOT / "homework" / f"{slug}.md").read_text("utf-8")
    cells = text.split("```{raw-cell}\n# BEGIN QUESTION\n")[1:]
    questions = [yaml.safe_load(cell.partition("```")[0]) for cell in cells]
    for question in questions:
        rubric = [line.split()[0] for line in question.get("rubric", ())]
        assert not rubric or sum(map(float, rubric)) == question["points"], question
        assert ("exercise" in question) != bool(rubric)
    assert 90 <= sum(q["minutes"] for q in questions) <= 240
    by_hand = sum(q["points"] for q in questions if "rubric" in q)
    open_ended = sum(q["points"] for q in questions if q.get("exercise") in CHALLENGES)
    points = sum(q["points"] for q in questions)
    assert by_hand > 0
    assert open_ended > 0
    assert points - by_hand == sum(p.points for p in assignment(slug).parts)
    marked = (BUILT / "instructor" / slug / "rubric.md").read_text("utf-8")
    assert marked.count("\n## ") == sum("rubric" in q for q in questions)
    assert all(line in marked for q in questions for line in q.get("rubric", ()))


@pytest.mark.parametrize("wing", WINGS)
@pytest.mark.parametrize("slug", SLUGS)
def test_our_solutions_get_full_marks_and_so_does_what_follows_through(
    slug, wing, tmp_path
):
    pytest.importorskip({"torch": "torch", "nnx": "flax"}[wing])
    made = assignment(slug)
    path = BUILT / "instructor" / slug / "solutions" / f"{slug}-{wing}.ipynb"
    limits = Limits(seconds=60, explore_seconds=5)
    # Not the seed of the build, which is drawn anew for an assignment that is new.
    with Marker(made, isolation(), 7, limits) as marker:
        row = marker.mark(HandedIn("ours", "ours", path))
    for part in row["parts"]:
        assert part["report"]["passed"], part["report"]["message"]
    for part in made.parts:  # what replaces a wrong answer stands alone
        ast.parse(made.solutions[wing][part.answer])
        assert re.search(
            rf"^(def|class) {part.answer}\b", made.solutions[wing][part.answer], re.M
        )


def test_building_again_draws_no_other_cases(tmp_path):
    from build import keep_seed

    first = keep_seed(tmp_path / "x")
    assert keep_seed(tmp_path / "x") == first
    assert (tmp_path / "x" / "seed.json").stat().st_mode & 0o77 == 0
    assert keep_seed(tmp_path / "x", new=True) == keep_seed(tmp_path / "x")


def test_the_same_masters_build_the_same_files(tmp_path):
    from build import build

    def made(folder):
        build(ROOT / "homework" / "similarity.md", folder, 3)
        files = (p for p in sorted(folder.rglob("*")) if p.is_file())
        return {p.relative_to(folder): p.read_bytes() for p in files}

    first, second = made(tmp_path / "first"), made(tmp_path / "second")
    assert [str(name) for name in first if first[name] != second.get(name)] == []
    assert len(first) == len(second) == 8
    cells = read(tmp_path / "first" / "student" / "similarity-torch.ipynb").cells
    assert len({cell.id for cell in cells}) == len(cells)


# In otter, too: without a library that students' code could replace.
CHEAT = """
import sys, types
o = types.ModuleType("course_lib.homework.otter")
o.share = lambda *a: 1.0
sys.modules["course_lib.homework.otter"] = o
import course_lib.homework.otter as o
o.share = lambda *a: 1.0
"""


@pytest.mark.parametrize("kind", ["solution", "cheat"])
def test_otter_gives_what_the_sandbox_gives(kind, tmp_path):
    pytest.importorskip("torch")
    slug, wing = "attention", "torch"
    notebook = solution(slug, wing) if kind == "solution" else student(slug, wing)
    for cell in notebook.cells:
        if "def cash_flow" in cell.source:  # it trains, which the others don't
            cell.source = "def cash_flow(x, y, x_new):\n    return 0 * x_new[..., 0]"
        cell.pop("outputs", None) if cell.cell_type != "code" else None
    if kind == "cheat":
        notebook.cells.append(nbformat.v4.new_code_cell(CHEAT))
    nbformat.write(notebook, tmp_path / "ada.ipynb")
    autograder = BUILT / "instructor" / slug / "autograders" / f"{slug}-{wing}.zip"
    run = subprocess.run(
        [
            *(sys.executable, "-W", "ignore", "-m", "otter", "run", "--no-logo"),
            *("-a", autograder, "-o", tmp_path, tmp_path / "ada.ipynb"),
        ],
        check=False,
        capture_output=True,
        text=True,
        timeout=500,
        env=os.environ | {"PYTHONPATH": str(ROOT / "homework")},
    )
    assert run.returncode == 0, run.stderr
    results = json.loads((tmp_path / "results.json").read_text())
    given = {t["name"]: t.get("score") for t in results["tests"]}
    due = {p.answer: p.points * (kind == "solution") for p in assignment(slug).parts}
    assert {name: given[name] for name in due} == due | {"cash_flow": 0}


def test_a_class_in_both_frameworks_is_marked(tmp_path):
    """As `make grade` does it: students' notebooks, blank."""
    for wing in WINGS:
        nbformat.write(student("similarity", wing), tmp_path / f"{wing}.ipynb")
    made = assignment("similarity")
    rows = grade(made, find(tmp_path), tmp_path / "out", isolation(), seed=made.seed)
    for row in rows:
        assert row["wing"] == row["student"]
        assert [p["points"] for p in row["parts"]] == [0, 0, 0, 0]
        assert "it returned NoneType" in row["parts"][0]["report"]["message"]
