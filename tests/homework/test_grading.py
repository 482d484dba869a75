"""A small made-up class: the marks that are expected are the marks that are given."""

import csv
import json

import numpy as np
import psutil
import pytest
from students import FORGING, PATCHING, SAID, sabotage

from course_lib.homework import EXERCISES
from course_lib.homework.__main__ import main
from course_lib.homework.apart import Limits, run_apart
from course_lib.homework.grading import (
    Assignment,
    Part,
    find_wing,
    grade,
)
from course_lib.homework.marking import Marking

LIMITS = Limits(seconds=60, load_seconds=60, megabytes=400)
ASSIGNMENT = Assignment(
    "Attention", (Part("attention", "attend", 6), Part("layer_norm", "norm", 5))
)
ATTEND = """
import math
import torch

def attend(q, k, v, mask=None):
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    if mask is None:
        return scores.softmax(dim=-1) @ v
    weights = scores.masked_fill(~mask, -math.inf).softmax(dim=-1)
    return torch.where(mask, weights, 0.0) @ v
"""
NORM = """
import torch

def norm(x, weight, bias, eps):
    x = x - x.mean(-1, keepdim=True)
    return x / torch.sqrt((x * x).mean(-1, keepdim=True) + eps) * weight + bias
"""
JAX = """
import jax, jax.numpy as jnp
from course_lib.homework import check

def attend(q, k, v, mask=None):
    scores = q @ k.mT / q.shape[-1] ** 0.5
    if mask is None:
        return jax.nn.softmax(scores) @ v
    return jnp.where(mask, jax.nn.softmax(jnp.where(mask, scores, -jnp.inf)), 0) @ v

def norm(x, weight, bias, eps):
    x = x - x.mean(-1, keepdims=True)
    return x / jnp.sqrt((x * x).mean(-1, keepdims=True) + eps) * weight + bias

print(check(attend, "attention", wing="nnx"))
"""


def page_answers() -> str:
    """Attention that remembers the answers to the cases of the page."""
    marking = Marking("attention", EXERCISES["attention"], "torch", 1964)
    known = {
        str(np.float32(case[0]).ravel()[0]): answer[0].tolist()
        for case, answer in zip(marking.cases.values(), marking.expected, strict=True)
    }
    return f"""
import torch
KNOWN = {known!r}

def attend(q, k, v, mask=None):
    return torch.tensor(KNOWN.get(str(q.reshape(-1)[0].numpy()), [0.0]))
"""


# What each hands in, the points of the two parts, and words of the messages.
CLASS = {
    "perfect": (ATTEND + NORM, [6, 5], ""),
    "half_done": (
        ATTEND.replace(" / math.sqrt(q.shape[-1])", "") + NORM,
        [1, 5],  # of large scores the softmax is all or nothing, divided or not
        "the scores are not divided by sqrt(d)",
    ),
    "one_slip": (
        ATTEND + NORM.replace("+ eps)", ")"),
        [6, 3],
        "eps is missing",
    ),
    "blank": ("import torch\n", [0, 0], "the submission defines no attend"),
    "crashing": (
        sabotage(ATTEND, "attend", "crashing") + NORM,
        [0, 5],
        SAID["crashing"],
    ),
    "crashing_early": (
        "import torch\nraise RuntimeError('not today')" + ATTEND,
        [0, 0],
        "while it was loaded, it raised RuntimeError",
    ),
    "exiting_early": (
        "import os\nONE = 1\nos._exit(ONE)\n" + ATTEND + NORM + "x = attend()",
        [6, 5],
        "",
    ),
    "syntax": ("import torch\ndef attend(:\n" + NORM, [0, 0], "SyntaxError"),
    "endless": (ATTEND + sabotage(NORM, "norm", "endless"), [6, 0], SAID["endless"]),
    "hungry": (ATTEND + sabotage(NORM, "norm", "hungry"), [6, 0], SAID["hungry"]),
    "exiting": (NORM + sabotage(ATTEND, "attend", "exiting"), [0, 5], SAID["exiting"]),
    "exiting_hard": (
        NORM + sabotage(ATTEND, "attend", "exiting_hard"),
        [0, 5],
        SAID["exiting_hard"],
    ),
    "cheating_with_the_package": (
        NORM
        + """
from course_lib.torch import attention as my_own_work

def attend(q, k, v, mask=None):
    return my_own_work(q, k, v, mask=mask)
""",
        [0, 5],
        "It calls course_lib.torch.attention",
    ),
    "cheating_with_the_oracle": (
        NORM
        + """
import course_lib

def attend(q, k, v, mask=None):
    return torch.tensor(course_lib.oracle.attention(q.numpy(), k, v, mask)[0])
""",
        [0, 5],
        "module 'course_lib' has no attribute 'oracle'",
    ),
    "cheating_with_the_framework": (
        NORM
        + """
from torch.nn.functional import scaled_dot_product_attention as mine

def attend(q, k, v, mask=None):
    return torch.nan_to_num(mine(q, k, v, attn_mask=mask))
""",
        [0, 5],
        "It calls scaled_dot_product_attention",
    ),
    "cheating_by_patching": (
        NORM
        + PATCHING
        + """
def attend(q, k, v, mask=None):
    return v[..., :1, :] + 0 * q[..., :1]
""",
        [0, 5],
        "defines no attend; while it was loaded, it raised",
    ),
    "cheating_by_heart": (NORM + page_answers(), [0, 5], "In the case"),
    "cheating_with_a_forged_result": (
        NORM + "def attend(q, k, v, mask=None):" + FORGING,
        [0, 5],
        "ended the process",
    ),
}


def notebook(*cells: str) -> str:
    """A notebook of these cells, as a student hands it in."""
    made = [
        {"cell_type": "code", "source": cell.splitlines(keepends=True)}
        for cell in cells
    ]
    return json.dumps({"cells": [{"cell_type": "markdown", "source": "x"}, *made]})


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """The class marked by the command, as a table and as data."""
    pytest.importorskip("torch")
    root = tmp_path_factory.mktemp("grading")
    submissions = root / "submissions"
    submissions.mkdir()
    for student, (code, _, _) in CLASS.items():
        (submissions / f"{student}.py").write_text(code)
    (submissions / "notebook").mkdir()
    (submissions / "notebook" / "answers.ipynb").write_text(
        notebook("%pip install torch\n!ls", "1 / 0", ATTEND, NORM)
    )
    (submissions / "nothing").mkdir()
    (submissions / "picture.png").write_bytes(b"\x89PNG")
    (submissions / "broken.ipynb").write_text("{")
    (submissions / ".hidden.py").write_text(ATTEND)
    parts = [
        {"exercise": "attention", "answer": "attend", "points": 6},
        {"exercise": "layer_norm", "answer": "norm", "points": 5},
    ]
    assignment = root / "assignment.json"
    assignment.write_text(json.dumps({"title": "Attention", "parts": parts}))
    main(
        [
            *(str(assignment), str(submissions), "--out", str(root / "marks")),
            *("--seconds", "4", "--megabytes", "400", "--seed", "20"),
        ]
    )
    data = json.loads((root / "marks" / "marks.json").read_text())
    with open(root / "marks" / "marks.csv", newline="") as file:
        return data, {row["student"]: row for row in csv.DictReader(file)}


@pytest.mark.parametrize(
    ("options", "seed", "jobs", "limits"),
    [
        ((), None, 1, Limits()),
        (
            (
                *("--seed", "3", "--jobs", "5", "--seconds", "7"),
                *("--load-seconds", "11", "--megabytes", "13"),
            ),
            3,
            5,
            Limits(seconds=7, load_seconds=11, megabytes=13),
        ),
    ],
)
def test_the_command_marks_as_it_is_told(
    monkeypatch, tmp_path, options, seed, jobs, limits
):
    part = {"exercise": "attention", "answer": "attend", "points": 6}
    paper = tmp_path / "assignment.json"
    paper.write_text(json.dumps({"title": "Attention", "parts": [part]}))
    asked = {}
    monkeypatch.setattr(
        "course_lib.homework.__main__.grade",
        lambda assignment, folder, **given: (asked.update(given), ([], 17))[1],
    )
    main([str(paper), "here", "--out", str(tmp_path / "marks"), *options])
    del asked["done"]
    assert asked == {"seed": seed, "jobs": jobs, "limits": limits}
    assert json.loads((tmp_path / "marks" / "marks.json").read_text())["seed"] == 17


@pytest.mark.parametrize("student", CLASS)
def test_the_marks_expected_are_the_marks_given(student, graded):
    data, table = graded
    _, points, words = CLASS[student]
    (marks,) = [one for one in data["submissions"] if one["student"] == student]
    assert [part["points"] for part in marks["parts"]] == points
    assert words in " ".join(part["report"]["message"] for part in marks["parts"])
    assert [len(part["report"]["cases"]) for part in marks["parts"]] == [6, 5]
    assert [float(table[student][n]) for n in ("attend", "norm")] == points
    assert float(table[student]["points"]) == sum(points)
    assert float(table[student]["out_of"]) == 11


def test_nothing_goes_on_that_a_submission_started():
    pytest.importorskip("torch")
    command = ["sleep", "86397"]
    start = f"import subprocess\nsubprocess.Popen({command})"
    task = Marking("layer_norm", EXERCISES["layer_norm"], "torch", 3).task()
    ((*outcomes,),) = run_apart([start, NORM], [("norm", task)], "torch", LIMITS)
    assert not any(outcome.trouble for outcome in outcomes)
    running = (p.info["cmdline"] for p in psutil.process_iter(["cmdline"]))
    assert command not in running


def test_a_process_may_take_what_its_tasks_may_take_one_after_the_other():
    nothing = Limits().whole([])
    assert nothing == 120 + 60 + 20  # to import, to load a cell, to stop
    assert Limits(seconds=7).whole([]) == nothing - 20 + 7


def test_a_notebook_is_run_cell_by_cell(graded):
    assert float(graded[1]["notebook"]["points"]) == 11


def test_what_is_no_submission_gets_no_points_and_a_reason(graded):
    _, table = graded
    assert ".hidden" not in table
    for student, words in {
        "nothing": "one .py or .ipynb file: got 0",
        "picture": "got picture.png",
        "broken": "must be a notebook",
    }.items():
        assert float(table[student]["points"]) == 0
        assert words in table[student]["messages"]


def test_what_is_odd_is_said(graded):
    odd = {one["student"]: one["odd"] for one in graded[0]["submissions"]}
    assert odd["cheating_by_patching"] == ["course_lib.homework."]
    assert odd["exiting_hard"] == ["_exit"]
    assert odd["perfect"] == []


def test_a_seed_is_kept_with_the_marks(graded):
    assert graded[0]["seed"] == 20
    assert graded[0]["submissions"][0]["parts"][0]["report"]["seed"] == 20


def test_a_submission_in_nnx_is_marked_in_nnx(tmp_path):
    pytest.importorskip("flax")
    (tmp_path / "ada.py").write_text(JAX)
    (marks,), seed = grade(ASSIGNMENT, tmp_path, limits=LIMITS)
    assert marks.wing == "nnx"
    assert marks.points == [6, 5], marks
    (again,), _ = grade(ASSIGNMENT, tmp_path, seed=seed, limits=LIMITS)
    assert again == marks


@pytest.mark.parametrize(
    ("code", "wing"),
    [
        ("import torch", "torch"),
        ("from torch import nn\nimport course_lib.torch as ct", "torch"),
        ("import jax.numpy as jnp\nfrom flax import nnx", "nnx"),
        ("from course_lib.nnx import attention", "nnx"),
        ("import jax\nimport torch\nWING = 'nnx'", "nnx"),
        ("def broken(:\nimport torch", "torch"),
    ],
)
def test_the_framework_is_what_is_imported_or_said(code, wing):
    assert find_wing(code.splitlines()) == wing


@pytest.mark.parametrize("code", ["", "import torch\nimport jax", "my_torch = 1"])
def test_a_submission_must_say_its_framework(code):
    with pytest.raises(ValueError, match="written in one framework"):
        find_wing([code])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"title": "x"}', "must have a title and parts"),
        ('{"title": "x", "parts": [{"exercise": "attention"}]}', "must have a title"),
        (
            '{"title": "", "parts": [{"exercise": "a", "answer": "f", "points": 1}]}',
            "exercise must be one of",
        ),
    ],
)
def test_an_assignment_that_makes_no_sense_is_refused(tmp_path, text, message):
    (tmp_path / "assignment.json").write_text(text)
    with pytest.raises(ValueError, match=message):
        Assignment.read(tmp_path / "assignment.json")
