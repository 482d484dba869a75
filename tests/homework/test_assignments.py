"""The assignments as `make homework` builds them, and a made-up class.

`make assignments` builds them and runs this; without what it built all is skipped.
"""

import ast
import copy
import csv
import json
import subprocess
import sys
import zipfile
from pathlib import Path

import nbformat
import pytest
import yaml
from students import FORGING, PATCHING, SAID, sabotage

from course_lib.homework import CHALLENGES, PAGE_SEED, make_marker
from course_lib.homework.__main__ import main
from course_lib.homework.apart import Limits, run_apart
from course_lib.homework.grading import Assignment, _without_magics, read_submission

ROOT = Path(__file__).resolve().parents[2]
BUILT = ROOT / "_build" / "homework"
MASTERS = sorted((ROOT / "homework").glob("*.md"))
SLUGS = [master.stem for master in MASTERS]
WINGS = ("torch", "nnx")
pytestmark = pytest.mark.skipif(
    not (BUILT / "instructor").exists(), reason="`make homework` has not been run"
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
    return [_without_magics(c.source) for c in notebook.cells if c.cell_type == "code"]


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

    def test_hidden_tests_and_rubrics_stay_with_the_instructor(self, slug, wing):
        notebook = student(slug, wing)
        text = json.dumps(notebook)
        made = assignment(slug)
        with zipfile.ZipFile(
            BUILT / "instructor" / slug / "autograders" / f"{slug}-{wing}.zip"
        ) as autograder:
            names = [n for n in autograder.namelist() if n.startswith("tests/")]
            hidden = "\n".join(autograder.read(n).decode() for n in names)
        for secret in (str(made.seed), "hidden=True", "test_fresh", "SOLUTION"):
            assert secret in hidden or secret == "SOLUTION"
            assert secret not in text
        assert "rubric" not in text.lower()
        assert "hidden=False" in notebook.metadata.otter.tests[made.parts[0].answer]

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
def test_our_solutions_pass_the_public_and_the_hidden_tests(slug, wing):
    """As the grader runs them, on the cases of the checks and on the secret ones."""
    pytest.importorskip({"torch": "torch", "nnx": "flax"}[wing])
    made = assignment(slug)
    public = student(slug, wing).metadata.otter.tests
    asked = []
    for part in made.parts:
        call = f'check({part.answer}, "{part.exercise}", wing=WING)'
        assert call in public[part.answer]
        # A challenge trains, so it runs once.
        seeds = [made.seed] + [PAGE_SEED] * (part.exercise not in CHALLENGES)
        asked += [(part.answer, make_marker(part.exercise, wing, s)) for s in seeds]
    cells = read_submission(
        BUILT / "instructor" / slug / "solutions" / f"{slug}-{wing}.ipynb"
    )
    tasks = [(answer, marker.task(seconds=60)) for answer, marker in asked]
    outcomes = run_apart(cells, tasks, wing, Limits())
    for (_, marker), outcome in zip(asked, outcomes, strict=True):
        report = marker.report(outcome)
        assert report, report


# A made-up class hands in real notebooks of this assignment.
SLUG = "similarity"
PARTS = ("softmax", "kernel_regression", "soft_lookup", "predict")
RIGHT = {
    wing: {
        name: cell
        for name in PARTS
        for cell in (code(solution(SLUG, wing)) if BUILT.exists() else ())
        if f"def {name}(" in cell
    }
    for wing in WINGS
}


def filled(wing, answers, *, before=""):
    """The student's notebook, with answers in the place of its skeletons."""
    notebook = copy.deepcopy(student(SLUG, wing))
    for cell in notebook.cells:
        for name, answer in answers.items():
            if cell.cell_type == "code" and f"def {name}(" in cell.source:
                cell.source = answer
    first = next(cell for cell in notebook.cells if cell.cell_type == "code")
    first.source = f"{before}\n{first.source}"
    return notebook


def page_answers():
    """A look-up that remembers the answers to the check in the notebook."""
    marker = make_marker("soft_lookup", "torch", PAGE_SEED)
    known = {
        str(float(case[0].astype("float32")[0])): answer[0].tolist()
        for case, answer in zip(marker.cases.values(), marker.expected, strict=True)
    }
    return (
        f"KNOWN = {known!r}\ndef soft_lookup(query, keys, values, temperature):\n"
        "    return torch.tensor(KNOWN.get(str(query[0].item()), [0.0]))\n"
    )


def made_up_class():
    """Each student's notebook, the points expected, and words of what is said."""
    answers = {wing: dict(RIGHT[wing]) for wing in WINGS}
    some = {name: answers["torch"][name] for name in PARTS[:3]}  # no challenge: quick
    regression = some["kernel_regression"]
    slip = regression.replace("(u**2).sum(dim=-1) / 2", "(u**2).sum(dim=-1)")
    unstable = some["softmax"].replace(
        "scores - scores.amax(dim=-1, keepdim=True)", "scores"
    )
    package = """
from course_lib.torch import nadaraya_watson as mine
def kernel_regression(queries, keys, values, bandwidth):
    return mine(queries, keys, values, bandwidth=bandwidth)[0]
"""
    mean = "def predict(x, y, x_new):\n    return y.mean().expand(len(x_new), 1)\n"
    framework = "def softmax(scores):\n    return torch.softmax(scores, dim=-1)\n"
    lookup = "def soft_lookup(query, keys, values, temperature):"
    cases = {
        "perfect_torch": (filled("torch", answers["torch"]), [4, 8, 6, 8], ""),
        "perfect_nnx": (filled("nnx", answers["nnx"]), [4, 8, 6, 8], ""),
        "half_done": (
            filled("torch", {"softmax": unstable, "kernel_regression": regression}),
            [3, 8, 0, 0],
            "exp overflows; subtract each row's largest score first",
        ),
        "with_a_slip": (
            filled("torch", some | {"kernel_regression": slip, "predict": mean}),
            [4, 0, 6, 0],
            "the ½ in exp(-u²/2) is missing",
        ),
        "blank": (student(SLUG, "torch"), [0, 0, 0, 0], "it returned NoneType"),
        "crashing_early": (
            filled("torch", some, before="raise RuntimeError('not today')"),
            [4, 8, 6, 0],
            "",
        ),
        "cheating_with_the_package": (
            filled("torch", some | {"kernel_regression": package}),
            [4, 0, 6, 0],
            "It calls course_lib.torch",
        ),
        "cheating_with_the_framework": (
            filled("torch", some | {"softmax": framework}),
            [0, 8, 6, 0],
            "It calls softmax",
        ),
        "cheating_by_patching": (
            filled(
                "torch", some | {"soft_lookup": f"{PATCHING}{lookup}\n    return query"}
            ),
            [4, 8, 0, 0],
            "defines no soft_lookup; while it was loaded, it raised",
        ),
        "cheating_by_heart": (
            filled("torch", some | {"soft_lookup": page_answers()}),
            [4, 8, 0, 0],
            "In the case",
        ),
        "cheating_with_a_forged_result": (
            filled("torch", some | {"soft_lookup": lookup + FORGING}),
            [4, 8, 0, 0],
            "ended the process",
        ),
    }
    for mischief, words in SAID.items():
        bad = sabotage(regression, "kernel_regression", mischief)
        notebook = filled("torch", some | {"kernel_regression": bad})
        cases[mischief] = (notebook, [4, 0, 6, 0], words)
    return cases


CLASS = made_up_class() if BUILT.exists() else {}


# JAX compiles at first. In PyTorch no right answer is slow, and endless ones end soon.
LIMITS = {"torch": ("--seconds", "5", "--load-seconds", "9"), "nnx": ()}


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """The class, marked as `make grade` does."""
    pytest.importorskip("torch")
    pytest.importorskip("flax")
    root = tmp_path_factory.mktemp("class")
    data, table = {}, {}
    for wing, limits in LIMITS.items():
        submissions, marks = root / wing, root / f"marks-{wing}"
        submissions.mkdir()
        for name, (notebook, _, _) in CLASS.items():
            if wing in name or (wing == "torch" and "nnx" not in name):
                nbformat.write(notebook, submissions / f"{name}.ipynb")
        paths = (BUILT / "instructor" / SLUG / "assignment.json", submissions)
        main([*map(str, paths), "--out", str(marks), *limits])
        made = json.loads((marks / "marks.json").read_text())
        data |= {one["student"]: one for one in made["submissions"]}
        with open(marks / "marks.csv", newline="") as file:
            table |= {row["student"]: row for row in csv.DictReader(file)}
    return root, data, table


@pytest.mark.xdist_group("class")
@pytest.mark.parametrize("name", CLASS)
def test_the_marks_expected_are_the_marks_given(name, graded):
    _, data, table = graded
    _, points, words = CLASS[name]
    reports = [part["report"]["message"] for part in data[name]["parts"]]
    assert [part["points"] for part in data[name]["parts"]] == points, reports
    assert words in " ".join(reports)
    assert float(table[name]["points"]) == sum(points)


@pytest.mark.xdist_group("class")
def test_the_leaderboard_shows_what_ran_between_baseline_and_bound(graded):
    root, _, _ = graded
    with open(root / "marks-torch" / "leaderboard-predict.csv", newline="") as file:
        names = [row["name"] for row in csv.DictReader(file)]
    assert names[0].startswith("bound: ")
    assert names[1] == "perfect_torch"
    assert names[2].startswith("baseline: ")
    assert names[3:] == ["with_a_slip"]  # the mean is worse than the baseline


@pytest.mark.xdist_group("class")
@pytest.mark.parametrize("name", ["half_done", "perfect_nnx"])
def test_otter_gives_an_honest_submission_the_same_marks(name, graded, tmp_path):
    pytest.importorskip("jupytext")
    root, data, _ = graded
    wing = data[name]["wing"]
    autograder = BUILT / "instructor" / SLUG / "autograders" / f"{SLUG}-{wing}.zip"
    subprocess.run(
        [
            *(sys.executable, "-W", "ignore", "-m", "otter", "run", "--no-logo"),
            *("-a", autograder, "-o", tmp_path),
            root / wing / f"{name}.ipynb",
        ],
        check=True,
        capture_output=True,
        timeout=300,
    )
    results = json.loads((tmp_path / "results.json").read_text())
    given = {t["name"]: t.get("score") for t in results["tests"]}
    for part in data[name]["parts"]:
        assert given[part["answer"]] == pytest.approx(part["points"]), part["answer"]
