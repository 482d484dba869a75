"""The assignments as `make homework` builds them, and a made-up class.

They are built once, in a folder of their own: an instructor's assignments, and the
seeds in classroom/, stay as they are. Our solutions are checked here, and two are
marked as a student's work is, isolated where that can be had; WINGS=all marks all so.
"""

import ast
import itertools
import json
import linecache
import os
import re
import subprocess
import sys
import warnings
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
from wings import ALL as EVERYTHING

from course_lib.homework import CHALLENGES, check

with warnings.catch_warnings(action="ignore"):  # it takes its files by pkg_resources
    pytest.importorskip("otter")

ROOT = Path(__file__).resolve().parents[2]
SLUGS = sorted(master.stem for master in (ROOT / "homework").glob("*.md"))
WINGS = ("torch", "nnx")
ALL = list(itertools.product(SLUGS, WINGS))
IN_A_SANDBOX = ALL if EVERYTHING else [("attention", "torch"), ("similarity", "nnx")]
BUILD = (sys.executable, "-W", "ignore", ROOT / "homework" / "build.py")


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The folder that they are built in, two at a time."""
    out = tmp_path_factory.mktemp("assignments")
    halves = [SLUGS[::2], SLUGS[1::2]]
    where = ("--out", out, "--keep", out / "seeds")
    running = [subprocess.Popen([*BUILD, *half, *where]) for half in halves]
    assert [one.wait() for one in running] == [0, 0]
    return out


def read(path):
    return nbformat.read(path, as_version=4)


def student(built, slug, wing):
    return read(built / "student" / f"{slug}-{wing}.ipynb")


def solution(built, slug, wing):
    return read(built / "instructor" / slug / "solutions" / f"{slug}-{wing}.ipynb")


def assignment(built, slug):
    return Assignment.read(built / "instructor" / slug / "assignment.json")


def code(notebook):
    sources = [c.source for c in notebook.cells if c.cell_type == "code"]
    return [re.sub("^( *)[%!].*", r"\1pass", s, flags=re.MULTILINE) for s in sources]


def said(path):
    """Cells and tests of a notebook: what else it holds differs from otter to otter."""
    notebook = nbformat.read(path, as_version=4)
    tests = notebook.metadata.otter.tests
    cells = [(c.id, c.cell_type, c.source) for c in notebook.cells]
    return cells, {name: ast.dump(ast.parse(test)) for name, test in tests.items()}


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
    def test_the_site_hands_out_what_the_master_says(self, built, slug, wing):
        kept = ROOT / "homework" / "student" / f"{slug}-{wing}.ipynb"
        made = built / "student" / kept.name
        assert said(kept) == said(made), "run `make homework`"

    def test_it_is_a_notebook_that_parses(self, built, slug, wing):
        notebook = student(built, slug, wing)
        nbformat.validate(notebook)
        for cell in code(notebook):
            ast.parse(cell)
        assert not any(cell.get("outputs") for cell in notebook.cells)

    def test_it_has_every_question_and_no_answer(self, built, slug, wing):
        theirs, ours = (
            code(student(built, slug, wing)),
            code(solution(built, slug, wing)),
        )
        for part in assignment(built, slug).parts:
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

    def test_seeds_and_rubrics_stay_with_the_instructor(self, built, slug, wing):
        notebook = student(built, slug, wing)
        text = json.dumps(notebook)
        made = assignment(built, slug)
        for secret in (
            str(made.seed),
            "hidden=True",
            "test_in_the_sandbox",
            "SOLUTION",
        ):
            assert secret not in text
        assert "rubric" not in text.lower()
        assert "hidden=False" in notebook.metadata.otter.tests[made.parts[0].answer]
        file = built / "instructor" / slug / "assignment.json"
        assert file.stat().st_mode & 0o77 == 0

    def test_otters_zip_marks_in_a_sandbox(self, built, slug, wing):
        path = built / "instructor" / slug / "autograders" / f"{slug}-{wing}.zip"
        with zipfile.ZipFile(path) as autograder:
            text = {n: autograder.read(n).decode() for n in autograder.namelist()}
        environment = yaml.safe_load(text["environment.yml"])
        assert "python=3.11" in environment["dependencies"]
        ((name, paper),) = json.loads(text["otter_config.json"])["plugins"][0].items()
        assert name == "marker.otter_plugin.Sandboxed"
        assert Assignment.of(paper) == assignment(built, slug)
        assert "files/marker/otter_plugin.py" in text
        assert "files/sandbox/__main__.py" in text
        for part in assignment(built, slug).parts:
            test = text[f"tests/{part.answer}.py"]
            assert f"points={part.points}" in test.replace(".0", "")
            assert str(assignment(built, slug).seed) not in test

    def test_it_is_in_one_framework(self, built, slug, wing):
        text = "\n".join(code(student(built, slug, wing)))
        assert f'WING = "{wing}"' in text
        nodes = list(ast.walk(ast.parse(text)))
        names = [a.name for n in nodes if isinstance(n, ast.Import) for a in n.names]
        names += [n.module or "" for n in nodes if isinstance(n, ast.ImportFrom)]
        roots = {root for name in names for root in name.split(".")}
        foreign = {"torch": {"jax", "flax", "optax", "nnx"}, "nnx": {"torch"}}[wing]
        assert not roots & foreign


@pytest.mark.parametrize("slug", SLUGS)
def test_points_and_minutes_add_up(built, slug):
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
    assert points - by_hand == sum(p.points for p in assignment(built, slug).parts)
    marked = (built / "instructor" / slug / "rubric.md").read_text("utf-8")
    assert marked.count("\n## ") == sum("rubric" in q for q in questions)
    assert all(line in marked for q in questions for line in q.get("rubric", ()))


def hardly_trained(text, answer):
    """The same code, with hundreds of steps of its last function made four."""
    begin, end = text.split(f"def {answer}(")
    end = re.sub(r"\b[1-9]\d\d\b", "4", end)
    return f"{begin}def {answer}(" + re.sub(r"(warmup=|range\()\d\d\b", r"\g<1>1", end)


@pytest.fixture
def single_precision():
    """As in a student's kernel; the other tests have JAX compute in float64."""
    jax = sys.modules.get("jax")  # not imported for a wing that does without
    if jax is not None:
        jax.config.update("jax_enable_x64", False)
    yield
    if jax is not None:
        jax.config.update("jax_enable_x64", True)


@pytest.mark.usefixtures("single_precision")
@pytest.mark.parametrize(("slug", "wing"), ALL)
def test_our_solutions_are_right_and_each_stands_alone(built, slug, wing):
    """As each takes the place of a wrong answer, in what builds on it.

    An open-ended answer trains for long. Here it shows that it still runs; its points
    are for the sandbox, and for WINGS=all.
    """
    pytest.importorskip({"torch": "torch", "nnx": "flax"}[wing])
    made = assignment(built, slug)
    for part in made.parts:
        text, file = made.solutions[wing][part.answer], f"<solution {part.answer}>"
        trains = part.exercise in CHALLENGES and not EVERYTHING
        text = hardly_trained(text, part.answer) if trains else text
        linecache.cache[file] = (len(text), None, text.splitlines(True), file)
        names = {"__name__": "solution"}
        exec(compile(text, file, "exec"), names)
        # Not the seed of the build, which is drawn anew.
        report = check(names[part.answer], part.exercise, wing=wing, seed=7, seconds=60)
        ran = trains and all(c.message == str(report.score) for c in report.cases)
        assert ran or report, report


@pytest.mark.parametrize(("slug", "wing"), IN_A_SANDBOX)
def test_our_solutions_get_full_marks_in_the_sandbox(built, slug, wing):
    pytest.importorskip({"torch": "torch", "nnx": "flax"}[wing])
    path = built / "instructor" / slug / "solutions" / f"{slug}-{wing}.ipynb"
    limits = Limits(seconds=60, explore_seconds=5)
    with Marker(assignment(built, slug), isolation(), 7, limits) as marker:
        row = marker.mark(HandedIn("ours", "ours", path))
    for part in row["parts"]:
        assert part["report"]["passed"], part["report"]["message"]


def test_building_again_draws_no_other_cases(tmp_path):
    from build import keep_seed

    first = keep_seed(tmp_path / "x")
    assert keep_seed(tmp_path / "x") == first
    assert (tmp_path / "x" / "seed.json").stat().st_mode & 0o77 == 0
    assert keep_seed(tmp_path / "x", new=True) == keep_seed(tmp_path / "x")


def test_the_same_masters_build_the_same_files(built, tmp_path):
    from build import build

    build(
        ROOT / "homework" / "similarity.md",
        tmp_path,
        assignment(built, "similarity").seed,
    )
    files = [p.relative_to(tmp_path) for p in tmp_path.rglob("*") if p.is_file()]
    assert len(files) == 8
    for name in files:
        assert (built / name).read_bytes() == (tmp_path / name).read_bytes(), name
    cells = student(tmp_path, "similarity", "torch").cells
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


def test_otter_gives_what_the_sandbox_gives(built, tmp_path):
    pytest.importorskip("torch")
    slug, wing = "attention", "torch"
    notebook = solution(built, slug, wing)
    for cell in notebook.cells:
        if "def cash_flow" in cell.source:  # it trains, which the others don't
            cell.source = "def cash_flow(x, y, x_new):\n    return 0 * x_new[..., 0]"
        cell.pop("outputs", None) if cell.cell_type != "code" else None
    notebook.cells.append(nbformat.v4.new_code_cell(CHEAT))
    nbformat.write(notebook, tmp_path / "ada.ipynb")
    autograder = built / "instructor" / slug / "autograders" / f"{slug}-{wing}.zip"
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
    due = {part.answer: part.points for part in assignment(built, slug).parts}
    assert {name: given[name] for name in due} == due | {"cash_flow": 0}
    # What students see is the sandbox's report, not what an empty notebook gets.
    (public,) = (t["output"] for t in results["tests"] if t["name"] == "Public Tests")
    assert "must be one of" not in public
    assert f"{next(iter(due))} results: All test cases passed!" in public


def test_a_blank_notebook_is_marked(built, tmp_path):
    """As `make grade` does it, with a student's notebook."""
    nbformat.write(student(built, "similarity", "torch"), tmp_path / "ada.ipynb")
    made = assignment(built, "similarity")
    (row,) = grade(made, find(tmp_path), tmp_path / "out", isolation(), seed=made.seed)
    assert row["wing"] == "torch"
    assert [p["points"] for p in row["parts"]] == [0, 0, 0, 0]
    assert "it returned NoneType" in row["parts"][0]["report"]["message"]
