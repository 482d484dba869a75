"""What the marker believes of a sandbox, keeps on the disk, and writes."""

import csv
import dataclasses
import json
import os
import re
import struct
import subprocess
import sys
import warnings
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import trial
from grade import grade, main
from marker import tables
from marker.assignment import Assignment
from marker.handed_in import find, read_roster
from marker.isolation import WAYS, Ended, _name
from marker.mark import Limits, _silent, believe, find_wing, own_seed
from marker.room import furnish
from marker.tables import replace_file, strict
from sandbox import cells, wire

from course_lib.homework import EXERCISES, make_marker
from course_lib.homework.marking import Marking
from course_lib.homework.report import Report
from course_lib.homework.running import Outcome, Task

HOMEWORK = Path(__file__).resolve().parents[2] / "homework"
SLUGS = sorted(master.stem for master in HOMEWORK.glob("*.md"))

# --- what comes out of a sandbox


def test_arrays_arrive_as_they_were_sent():
    given = [np.arange(6.0).reshape(2, 3), np.array(True), np.zeros((0, 3), np.int32)]
    ((header, arrays),) = wire.frames(wire.frame({"case": 1}, given))
    assert header == {"case": 1}
    for sent, came in zip(given, arrays, strict=True):
        assert came.dtype == sent.dtype
        np.testing.assert_array_equal(came, sent)


def frame(text, data=b""):
    text = text if isinstance(text, bytes) else json.dumps(text).encode()
    return struct.pack("<II", len(text), len(data)) + text + data


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"12345",
        struct.pack("<II", 2**31, 0),
        frame(b"[" * 100_000),
        frame(b"\xff"),
        frame([]),
        frame({}),
        frame({"arrays": 1}),
        frame({"arrays": [{"kind": "O"}]}),
        frame({"arrays": [{"kind": "|O", "shape": [1]}]}, bytes(8)),
        frame({"arrays": [{"kind": "<f8", "shape": [-1]}]}, bytes(8)),
        frame({"arrays": [{"kind": "<f8", "shape": [10**12, 10**12]}]}),
        frame({"arrays": [{"kind": "<f8", "shape": [True]}]}, bytes(8)),
        frame({"arrays": [{"kind": ["<f8"], "shape": [1]}]}, bytes(8)),
        frame({"arrays": [{"kind": "<f8", "shape": [0] * 40}]}),
        frame({"arrays": [7]}),
    ],
)
def test_what_is_no_frame_is_not_read(raw):
    assert list(wire.frames(raw)) == []


def test_frames_cost_what_they_hold_and_a_header_has_its_size():
    class Counted(bytes):
        copied = 0

        def __getitem__(self, part):
            found = bytes.__getitem__(self, part)
            Counted.copied += len(found)
            return found

    raw = Counted(wire.frame({"part": 1}, [np.arange(3)]) * 500)
    assert len(list(wire.frames(raw))) == 500
    assert Counted.copied < len(raw)
    long = wire.frame({"trouble": "a" * wire.LARGEST_OUTCOME})
    assert not list(wire.frames(long, wire.LARGEST_OUTCOME))


def test_no_word_leaves_a_process_that_held_a_solution():
    marking = make_marker("attention", "torch", 3)
    n = len(marking.task(seconds=1).cases)
    report = marking.report([Outcome(trouble="return secret @ v")] * n)
    assert "secret" in json.dumps(report.as_dict())
    silent = _silent(report)
    assert "secret" not in json.dumps(silent.as_dict())
    assert silent.message == f"0 of {n} cases pass."
    assert silent.share == report.share


def test_an_outcome_counts_once_and_in_order():
    ready = wire.frame({"ready": True})
    some = [
        {"part": 0, "case": 1, "trouble": "too early"},
        {"part": 0, "case": 0, "trouble": "first"},
        {"part": 0, "case": 0, "trouble": "again"},
        {"part": True, "case": 0},
        {"part": 7, "case": 0},
        {"part": 0, "case": 1, "trouble": {"no": "text"}},
        {"part": 0, "case": 2, "trouble": "more than there are"},
    ]
    loading = wire.frame({"explores": 1}) + wire.frame({"explores": 4})
    came = believe(Ended(ready + loading, ""), {0: 2})
    assert (came.outcomes, came.loaded, came.number) == ({0: []}, False, 4)
    assert not came.odd
    raw = ready + loading + wire.frame({"loaded": True})
    came = believe(Ended(raw + b"".join(map(wire.frame, some)), ""), {0: 2})
    assert came.loaded
    assert [o.trouble for o in came.outcomes[0]] == ["first", ""]
    assert list(came.odd) == ["its code writes to the marker"]
    with pytest.raises(RuntimeError, match="did not start: it was killed"):
        believe(Ended(b"", "was killed"), {0: 2})


def test_a_note_is_written_at_once_and_read_whatever_is_in_its_name():
    read, write = os.pipe()
    wire.noting(write, 1)("used", 'torch."soft\\max\n' + "é" * 999)
    wire.noting(write, -1)("odd", "os.fork")
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        raw = wire.frame({"ready": True}) + pipe.read()
    came = believe(Ended(raw, ""), {1: 2})
    ((what, name),) = came.notes[1]
    assert (what, name[:14]) == ("used", "torch.softmax?")
    assert list(came.odd) == ["its code reaches for os.fork"]


@pytest.mark.parametrize("outputs", [(), (np.zeros(3),) * 2])
def test_an_empty_or_a_long_result_is_wrong(outputs):
    marking = Marking("attention", EXERCISES["attention"], "torch", 3)
    report = marking.report([Outcome(outputs=outputs)] * len(marking.cases))
    assert report.points == 0
    assert f"it returned {len(outputs)} tensors" in report.message


def test_what_a_stranger_writes_becomes_one_clean_line():
    assert wire.clean("a\ud800\x00\n\x1b[31mb") == "a\\ud800   [31mb"
    assert len(wire.clean("x" * 10**6)) < 610
    assert wire.clean(None) == wire.clean(7) == ""


def test_every_task_can_be_told():
    for name, exercise in EXERCISES.items():
        task = Marking(name, exercise, "torch", 5).task()
        arrays = []
        told = wire.fold(vars(task), arrays)
        raw = wire.frame({"task": told}, arrays)
        assert not any(str(s)[:30] in str(told) for s in exercise.slips)
        ((header, arrays),) = wire.frames(raw)
        again = Task(**wire.unfold(header["task"], arrays))
        assert again.keywords == task.keywords
        assert len(again.cases) == len(task.cases)
        for case, same in zip(task.cases, again.cases, strict=True):
            for x, y in zip(case, same, strict=True):
                if isinstance(x, np.ndarray):
                    np.testing.assert_array_equal(x, y)
                assert type(x) is type(y)


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (-9, "killed by SIGKILL. It may have needed too much memory."),
        (137, "killed by SIGKILL"),
        (-40, "killed by signal 40"),
        (0, "ended the process (exit status 0)"),
        (255, "ended the process (exit status 255)"),
    ],
)
def test_how_a_process_ended_is_said(status, words):
    assert words in _name(status)


# --- the room


@pytest.mark.parametrize("wing", ["torch", "nnx"])
def test_no_right_answer_of_ours_is_in_the_room(wing, tmp_path):
    pytest.importorskip({"torch": "torch", "nnx": "flax"}[wing])
    code = f"""
import course_lib.{wing} as lib
from course_lib.homework import check
from course_lib.homework.running import Task
assert check(None, "anything") and lib.attention
for name in ("oracle", "homework.topics", "homework.marking", "homework.report"):
    try: __import__("course_lib." + name)
    except ImportError: print("no", name)
"""
    run = subprocess.run(
        [sys.executable, "-P", "-W", "ignore", "-c", code],
        env={"PYTHONPATH": str(furnish(tmp_path))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.stdout.count("no ") == 4, run.stderr


def test_every_question_to_every_file_has_a_seed_of_its_own():
    seeds = {
        own_seed(seed, exercise, raw)
        for seed in (1, 2)
        for exercise in ("softmax", "attention")
        for raw in (b"a", b"b")
    }
    assert len(seeds) == 8
    assert own_seed(1, "softmax", b"a") == own_seed(1, "softmax", b"a")


def test_python_is_started_by_its_name_without_a_way_back():
    """As `make grade VENV=../newest` names it: inside, no folder is above another."""
    python = Path(os.path.abspath(sys.executable))
    code = "from marker import isolation as i; print(i.PYTHON, i.choose('bare').name)"
    run = subprocess.run(
        [f"../{python.parent.name}/{python.name}", "-c", code],
        cwd=python.parent,
        env=os.environ | {"PYTHONPATH": f"{HOMEWORK}{os.pathsep}{HOMEWORK.parent}"},
        capture_output=True,
        text=True,
        check=True,
    )
    made, way = run.stdout.split()
    assert os.path.samefile(made, python)
    assert ".." not in made
    assert way == "bare"


# --- reading


@pytest.mark.parametrize(
    ("said", "name", "wing"),
    [
        ({"imports": ["torch"]}, "", "torch"),
        ({"imports": ["torch.nn", "course_lib.torch"]}, "", "torch"),
        ({"imports": ["jax.numpy", "flax.nnx"]}, "", "nnx"),
        ({"imports": ["course_lib.nnx"]}, "", "nnx"),
        ({"imports": ["jax", "torch"], "WING": "nnx"}, "", "nnx"),
        ({"imports": []}, "attention-nnx.ipynb", "nnx"),
    ],
)
def test_the_framework_is_what_is_imported_or_said(said, name, wing):
    assert find_wing(said, name) == wing


@pytest.mark.parametrize("imports", [[], ["torch", "jax"], ["my_torch"]])
def test_a_submission_must_say_its_framework(imports):
    with pytest.raises(ValueError, match="written in one framework"):
        find_wing({"imports": imports})


def test_a_cell_is_named_as_its_author_sees_it():
    assert cells.Cell(3, "# first\n\n  x = 1\ny = 2").name == 'cell 3 ("x = 1")'


NOTEBOOK = trial.notebook("%time x = 1\n!ls\ny = (7\n  % (4))", "z?")
OLD = {
    **{"metadata": {"name": ""}, "nbformat": 3, "nbformat_minor": 0},
    "worksheets": [
        {
            "cells": [
                {"cell_type": "code", "language": "python", "input": "x = 1"}
                | {"outputs": [], "collapsed": False}
            ]
        }
    ],
}


@pytest.mark.parametrize(
    ("name", "raw", "words"),
    [
        ("a.ipynb", NOTEBOOK.encode(), ("% (4)", "'time', 'x = 1'", "system('ls')")),
        ("a.IPYNB", NOTEBOOK.encode("utf-16"), ("'pinfo', 'z'",)),
        ("a.ipynb", b"\xef\xbb\xbf" + NOTEBOOK.encode(), ("% (4)",)),
        ("a.ipynb", json.dumps(OLD).encode(), ("x = 1",)),
        ("a.py", "é = 1".encode("utf-16"), ("é = 1",)),
        ("a.py", "# coding: latin-1\né = 1".encode("latin-1"), ("é = 1",)),
        ("a.py", b"\xe9 = 1", ("é = 1",)),
    ],
)
def test_a_submission_is_read_whatever_wrote_it(name, raw, words):
    text = "\n".join(cell.code for cell in cells.read(name, raw))
    for word in words:
        assert word in text


def test_what_a_newer_python_wrote_and_this_one_cannot_read_is_not_marked():
    made = json.loads(trial.notebook("x = 1", "type Rows = = list"))
    for version, newer in (("3.99.1", True), ("3.11.0", False), ("", False)):
        made["metadata"]["language_info"] = {"name": "python", "version": version}
        if not newer:
            assert len(cells.read("a.ipynb", json.dumps(made).encode())) == 2
            continue
        with pytest.raises(ValueError, match=r"3.99.1, and cell 2 .* no code"):
            cells.read("a.ipynb", json.dumps(made).encode())
    made["cells"].pop()
    for nothing in (None, "python"):
        made["metadata"]["language_info"] = nothing
        assert cells.read("a.ipynb", json.dumps(made).encode())
    made["metadata"]["language_info"] = {"version": "3.99.1"}
    assert cells.read("a.ipynb", json.dumps(made).encode())


def test_a_script_from_colab_is_python():
    (cell,) = cells.read("a.py", b"!pip install einops\nx = 1\n")
    assert "system('pip install einops')" in cell.code


def test_a_file_is_appended_to_and_run_with_options(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ran = []
    shell = cells.Shell(ran.append)
    shell.run_cell_magic("writefile", "part.py", "a = 1\n")
    shell.run_cell_magic("writefile", "-a part.py", "b = 2\n")
    shell.run_line_magic("run", "-i part.py")
    assert ran == ["a = 1\nb = 2\n"]


@pytest.mark.parametrize("raw", [b"{", b"[" * 10**5, b'{"nbformat": 4}', b"\0\1"])
def test_what_is_no_notebook_is_said_to_be_none(raw):
    with pytest.raises(ValueError, match="it is no notebook"):
        cells.read("a.ipynb", raw)


def test_one_row_a_student_the_latest_counts(tmp_path):
    for n, name in enumerate(("ada.ipynb", "Ada.py", "ada (1).ipynb", "bo.IPYNB")):
        (tmp_path / name).write_text("")
        os.utime(tmp_path / name, (n, n))
    (tmp_path / "._ada.ipynb").write_text("")
    (tmp_path / "..ipynb").write_text("")
    (tmp_path / "ghost").mkdir()
    os.symlink("/etc/passwd", tmp_path / "ghost" / "link.ipynb")
    # A helper that was saved later isn't what was handed in, and browsers add .txt.
    (tmp_path / "cy").mkdir()
    for n, name in enumerate(("work.ipynb.txt", "helpers.py")):
        (tmp_path / "cy" / name).write_text("")
        os.utime(tmp_path / "cy" / name, (n, n))
    (tmp_path / "di.ipynb.json").write_text("")
    dot, ada, bo, cy, di, ghost = find(tmp_path)
    assert (di.student, di.path.name) == ("di", "di.ipynb.json")
    assert dot.path.name == "..ipynb"
    assert cy.path.name == "work.ipynb.txt"
    assert [path.name for path in cy.helpers] == ["helpers.py"]
    assert ada.path.name == "ada (1).ipynb"
    assert [path.name for path in ada.others] == ["ada.ipynb"]
    assert "several files are theirs: Ada.py, ada (1).ipynb" in ada.flags[0]
    assert bo.flags == cy.flags == ()
    assert bo.student == "bo"
    assert ghost.path is None
    assert ghost.notes[0] == "link.ipynb is a link."


def test_a_link_to_a_classmates_folder_is_no_submission(tmp_path):
    (tmp_path / "ada").mkdir()
    (tmp_path / "ada" / "mine.ipynb").write_text("")
    (tmp_path / "eve").symlink_to("ada")
    (tmp_path / "eva.ipynb").symlink_to("ada/mine.ipynb")
    (tmp_path / "evi").mkdir()
    (tmp_path / "evi" / "deep").symlink_to("../ada")
    os.mkfifo(tmp_path / "pipe.ipynb")
    rows = {one.student: one for one in find(tmp_path)}
    assert rows["ada"].path is not None
    for name in ("eve", "eva", "evi"):
        assert rows[name].path is None
        assert "is a link." in rows[name].notes[0]
    assert "is no file" in rows["pipe"].notes[0]


def test_a_folder_without_bottom_and_one_without_end_stop_nobody(tmp_path, monkeypatch):
    (tmp_path / "bo.py").write_text("")
    (tmp_path / "deep").mkdir()
    (tmp_path / "many").mkdir()
    for n in range(2100):
        (tmp_path / "many" / f"{n}.txt").write_text("")
    monkeypatch.chdir(tmp_path / "deep")
    try:
        for _ in range(1500):
            os.mkdir("d")
            os.chdir("d")
        bo, deep, many = find(tmp_path)
    finally:  # too deep for pytest to clear away
        while Path.cwd() != tmp_path / "deep":
            os.chdir("..")
            os.rmdir("d")
    assert bo.path is not None
    assert deep.path is None
    assert "more than 20 folders deep" in deep.notes[0]
    assert many.path is None
    assert "more than 2000 files" in many.notes[0]


def test_a_name_is_one_line_and_nobody_elses(tmp_path):
    persian = "علی\u200cرضا"
    names = ("ada\n- bo: 0", "b\x1b[2J", "Voß", "Voss", "ADA", "e\u0301", "\u202eda")
    names += (persian,)
    for name in names:
        (tmp_path / f"{name}.py").write_text("")
    rows = [one.student for one in find(tmp_path)]
    assert sorted(rows) == sorted(
        ["ada\\n- bo: 0", "b\\x1b[2J", "Voß", "Voss", "ADA", "é", "\\u202eda", persian]
    )


def test_a_roster_joins_files_and_names_who_handed_in_nothing(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "lovelace_17.ipynb").write_text("")
    roster = tmp_path / "roster.csv"
    roster.write_text("file,id,name\nLovelace_17.ipynb,s1,Ada L.\nno,s2,Bo\n", "utf-8")
    first, second = find(tmp_path / "in", read_roster(roster))
    assert (first.student, first.name) == ("s1", "Ada L.")
    assert (second.student, second.path) == ("s2", None)
    assert second.notes == ("nothing was handed in.",)
    (tmp_path / "in" / "eve.ipynb").write_text("")
    found = find(tmp_path / "in", read_roster(roster))
    (eve,) = (one for one in found if one.student == "eve")
    (tmp_path / "in" / "no.ipynb.txt").write_text("")  # as a browser saves it
    (bo,) = (o for o in find(tmp_path / "in", read_roster(roster)) if o.student == "s2")
    assert bo.path.name == "no.ipynb.txt"
    assert eve.notes == ("the roster has no line for it.",)
    roster.write_text("name\nAda\n")
    with pytest.raises(ValueError, match="columns file and id"):
        read_roster(roster)
    for second in ("ada.ipynb,s2", "bo,S1", ",s2", "bo,"):
        roster.write_text(f"file,id\nada,s1\n{second}\n")
        with pytest.raises(ValueError, match=r"no other line has: got .* in line 3"):
            read_roster(roster)


def test_dots_in_a_name_are_no_ending(tmp_path):
    (tmp_path / "in" / "bo.li").mkdir(parents=True)
    for name in ("ada.lovelace.ipynb", "ada.king.IPYNB", "cy.png"):
        (tmp_path / "in" / name).write_text("")
    names = [one.student for one in find(tmp_path / "in")]
    assert names == ["ada.king", "ada.lovelace", "bo.li", "cy"]
    roster = tmp_path / "roster.csv"
    lines = ["file,id", "ada.lovelace,s1", "ada.king.ipynb,s2", "bo.li,s3", "cy,s4"]
    roster.write_text("\n".join(lines))
    names = [one.student for one in find(tmp_path / "in", read_roster(roster))]
    assert names == ["s1", "s2", "s3", "s4"]


def test_a_roster_may_say_how_a_file_begins(tmp_path):
    """As Canvas and Moodle name what they give out."""
    (tmp_path / "in").mkdir()
    for name in ("lovelaceada_17_4_homework-1.ipynb", "lovelaceada2_18_5_x.ipynb"):
        (tmp_path / "in" / name).write_text("")
    (tmp_path / "in" / "Bo Li_901_assignsubmission_file").mkdir()
    roster = tmp_path / "roster.csv"
    roster.write_text("file,id\nlovelaceada_*,s1\nlovelaceada*,s2\nBo Li_*,s3\n")
    assert [one.student for one in find(tmp_path / "in", read_roster(roster))] == [
        *("s1", "s2", "s3")
    ]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
@pytest.mark.parametrize("apart", [",", ";", "\t"])
def test_a_roster_is_read_as_spreadsheets_save_it(tmp_path, encoding, apart):
    text = 'file; id ;name\r\nada;s1;"José, A."\r\n;;\r\n'.replace(";", apart)
    (tmp_path / "roster.csv").write_bytes(text.encode(encoding))
    assert read_roster(tmp_path / "roster.csv") == {"ada": ("s1", "José, A.", {})}


# --- what is kept


def test_a_file_is_replaced_as_a_whole(tmp_path):
    replace_file(tmp_path / "deep" / "x", "one")
    replace_file(tmp_path / "deep" / "x", "two")
    assert (tmp_path / "deep" / "x").read_text() == "two"
    assert len(list((tmp_path / "deep").iterdir())) == 1
    assert strict({"a": (float("nan"), 1.0)}) == {"a": [None, 1.0]}


class Told(WAYS["bare"]):
    """A sandbox that is told what to say."""

    ran, trouble = 0, "no"

    def run(self, room, job, seconds):
        Told.ran += 1
        ((job, _),) = wire.frames(job)
        if job["do"] == "read":
            said = {"imports": ["torch"], "uses": {}}
            read = wire.frame({"cells": ["x"], "said": said})
            return Ended(wire.frame({"ready": True}) + read, "")
        raw = wire.frame({"ready": True}) + wire.frame({"loaded": True})
        for part in job["parts"]:
            n = len(part["task"]["dict"]["cases"])
            for case in range(n):
                header = {"part": part["part"], "case": case}
                raw += wire.frame(header | {"trouble": Told.trouble})
        return Ended(raw, "")


@pytest.fixture
def told(tmp_path, monkeypatch):
    """Marks three files as it is told, and says how many sandboxes that took."""
    monkeypatch.setattr("marker.mark.furnish", lambda folder: folder)
    monkeypatch.setattr("grade.choose", lambda way: Told())
    (tmp_path / "in").mkdir()
    for name in ("ada", "bo", "cy"):
        (tmp_path / "in" / f"{name}.py").write_text(name)

    def mark(seed=3, out="out", found=None, isolation=None, **more):
        Told.ran = 0
        paper = Assignment.of(trial.paper())
        found = found or find(tmp_path / "in")
        way = isolation or Told()
        rows = grade(paper, found, tmp_path / out, way, seed=seed, **more)
        return rows, Told.ran

    return mark


def test_what_was_marked_is_marked_again_if_something_has_changed(
    tmp_path, told, monkeypatch
):
    found = find(tmp_path / "in")
    once, one = told(found=found[:1])
    rows, ran = told()
    assert rows[:1] == once
    assert ran == 2 * one
    assert told() == (rows, 0)
    assert told(seed=4)[1] == told(limits=Limits(seconds=1))[1] == 3 * one
    assert told(again=["ada"])[1] == one
    (tmp_path / "in" / "ada.py").write_text("other")
    assert told()[1] == one
    (tmp_path / "in" / "ada.py").rename(tmp_path / "in" / "ada.PY")
    assert told()[1] == one
    monkeypatch.setattr("grade.digest", lambda: "a repaired exercise")
    assert told()[1] == 3 * one


def test_one_student_is_marked_again_by_id_or_by_file(tmp_path, told, monkeypatch):
    (tmp_path / "a.json").write_text(json.dumps(trial.paper()))
    (tmp_path / "roster.csv").write_text("file,id,name\nada,s1,Ada L.\nbo,s2,Bo\n")
    paths = [*map(str, (tmp_path / "a.json", tmp_path / "in")), "--out", str(tmp_path)]
    paths += ["--roster", str(tmp_path / "roster.csv")]

    def said():
        rows = json.loads((tmp_path / "marks.json").read_text())["submissions"]
        return [row["parts"][0]["report"]["message"] for row in rows]

    monkeypatch.setattr(Told, "trouble", "first")
    main(paths)
    assert ["first" in text for text in said()] == [True] * 3
    for number, name in enumerate(("S1", "Ada", "ada l.")):
        monkeypatch.setattr(Told, "trouble", f"again {number}")
        main([*paths, "--student", name])
        # cy isn't in the roster, and comes first in the order of the ids.
        assert [f"again {number}" in text for text in said()] == [False, True, False]
    with pytest.raises(SystemExit):
        main([*paths, "--student", "nobody"])


def test_one_clock_runs_for_all_that_is_done_with_a_submission(told, monkeypatch):
    """However often it is read and run, ten minutes of a class are the most."""
    now, given = [0.0], []

    def run(self, room, job, times):
        given.append(times.whole)
        now[0] += 400
        return Told.run(self, room, job, times)

    monkeypatch.setattr("marker.mark.time", SimpleNamespace(monotonic=lambda: now[0]))
    rows, _ = told(isolation=type("Slow", (Told,), {"run": run})())
    assert len(given) == 6  # each of three is read, and run once
    assert given[1::2] == [200] * 3
    for one in rows:
        assert "it took more than 10 minutes in all" in one["message"]
        assert tables.points(one) is None
        assert tables.flags(one) == ["not graded"]


def test_a_flagged_answer_has_no_points_until_a_person_looked(told, monkeypatch):
    report = Report("attention", "torch", (), "", flag="above what can be known")
    monkeypatch.setattr(Marking, "report", lambda self, outcomes, notes: report)
    rows, _ = told()
    assert [part["points"] for part in rows[0]["parts"]] == [None, None]


# --- what is written


def row(student, *points, flag="", **more):
    parts = [
        {
            "answer": part["answer"],
            "exercise": part["exercise"],
            "points": given,
            "out_of": part["points"],
            "note": "",
            "report": {"message": "=1+1", "passed": False, "flag": flag, "score": None},
        }
        for part, given in zip([*trial.PARTS, trial.OPEN], points, strict=False)
    ]
    return {
        **{"student": student, "name": student, "file": "f", "wing": "torch"},
        **{"isolation": "bubblewrap", "marked": bool(points), "known": None},
        **{"message": "", "notes": [], "odd": [], "parts": parts},
    } | more


def test_tables_hold_what_they_should_and_no_formula(tmp_path):
    paper = Assignment.of(trial.paper(challenge=True))
    rows = [row("ada", 6.0, 4.0, 0.0), row("=bad", None, 4.0, 0.0, flag="look")]
    rows += [row("cy")]
    rows[0]["parts"][2]["report"]["score"] = {"value": -0.25}
    tables.write(rows, paper, tmp_path / "out")
    text = (tmp_path / "out" / "marks.csv").read_text("utf-8")
    table = {r["student"]: r for r in csv.DictReader(text.splitlines())}
    assert table["ada"]["points"] == "10.0"
    assert table["ada"]["out_of"] == "18"
    assert table["ada"]["predict_score"] == "-0.25"
    assert "attend: =1+1" in table["ada"]["messages"]
    assert table["'=bad"]["points"] == ""
    assert "look" in table["'=bad"]["flags"]
    assert table["cy"]["points"] == table["cy"]["attend"] == ""
    assert "not graded" in table["cy"]["flags"]
    note = (tmp_path / "out" / "feedback" / "ada.md").read_text("utf-8")
    assert note.startswith("# Trial: ada\n")
    assert "**10 of 18 points** are given below." in note
    assert "## attend: 6 of 6" in note
    assert "cy" not in note
    (bad,) = (tmp_path / "out" / "feedback").glob("_bad*.md")
    assert "## attend: not yet graded of 6" in bad.read_text("utf-8")
    data = json.loads((tmp_path / "out" / "marks.json").read_text("utf-8"))
    assert data["submissions"] == rows


def test_every_student_has_a_file_of_feedback_whatever_the_name(tmp_path):
    students = ["ad!a", "ad?a", "ad_a", "AD?A", "x" * 249, "x" * 250, "..", "Voß", "="]
    students.append(tables._file_names(students)["ad?a"])  # who knows how it is made
    rows = [row(name, 6.0, 4.0) for name in students]
    tables.write(rows, Assignment.of(trial.paper()), tmp_path)
    files = list((tmp_path / "feedback").iterdir())
    assert len({file.name.lower() for file in files}) == len(files) == len(students)
    for kept in ("ad_a", students[-1]):
        file = tmp_path / "feedback" / f"{kept}.md"
        assert file.read_text().startswith(f"# Trial: {kept}\n")


def test_what_a_person_has_decided_stays_and_is_said(tmp_path):
    paper = Assignment.of(trial.paper())
    rows = [row("ada", 6.0, None, flag="look"), row("cy"), row("bo", 6.0, 4.0)]
    rows[2]["parts"][0]["report"]["called"] = ["torch.softmax"]
    lines = [
        "student;question;points;why",
        "ADA;head;3,5;read with care",
        "ada;attend;6;",
    ]
    lines += [
        "cy;attend;2;by hand",
        "cy;head;0;",
        "eve;head;1;",
        "ada;head;99;too much",
    ]
    (tmp_path / "decisions.csv").write_text("\n".join(lines))
    wrong = tables.decide(rows, paper, tmp_path)
    assert [text.partition(" has ")[2] for text in wrong] == [
        "eve, head, 1, .",
        "ada, head, 99, too much.",
    ]
    ada, cy, bo = rows
    assert [tables.points(one) for one in rows] == [9.5, 2, 10]
    assert tables.flags(ada) == tables.flags(cy) == []
    assert tables.flags(bo) == ["attend: it calls torch.softmax"]
    note = tables.feedback(ada, paper)
    assert "## head: 3.5 of 4" in note
    assert "Decided: read with care." in note


def test_canvas_and_moodle_get_the_graded_students_of_the_roster(tmp_path):
    paper = Assignment.of(trial.paper())
    ada = row("s1", 6.0, 4.0, known={"ID": "17", "Section": "A", "team": "x"})
    rows = [ada, row("s2", 6.0, None, known={}), row("eve", 6.0, 4.0)]
    rows.append(row("s3", 1.0, 0.0, known={}, name="Bo Li"))
    tables.write(rows, paper, tmp_path)
    canvas = list(csv.reader((tmp_path / "canvas.csv").read_text().splitlines()))
    assert canvas == [
        ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "Trial"],
        ["    Points Possible", "", "", "", "", "10"],
        ["s1", "17", "", "s1", "A", "10.0"],
        ["Bo Li", "", "", "s3", "", "1.0"],
    ]
    moodle = list(csv.reader((tmp_path / "moodle.csv").read_text().splitlines()))
    assert moodle == [["ID number", "Trial"], ["s1", "10.0"], ["s3", "1.0"]]


def accepted_by_canvas(header):
    """What `GradebookImporter#header?` asks of the first row.

    github.com/instructure/canvas-lms, lib/gradebook_importer.rb: names and ids first,
    and Section behind the last column that says who a student is.
    """
    if "Student" not in header[0] or "ID" not in header[1]:
        return False
    who = 3
    if "SIS Login ID" in header[2]:
        who = 4
    elif "SIS User ID" in header[2] and "SIS Login ID" in header[3]:
        who = 5 + ("Integration ID" in header[4])
        who += "Root Account" in header[who - 1]
    return "Section" in header[who - 1] and len(header) > who


@pytest.mark.parametrize("slug", SLUGS)
def test_the_importers_of_canvas_and_moodle_take_what_is_written(tmp_path, slug):
    """By their code, which is the only exact text on what they take.

    Canvas: lib/gradebook_importer.rb, as above. Moodle: lib/csvlib.class.php and
    grade/import/csv/classes/load_data.php in github.com/moodle/moodle; in words
    https://docs.moodle.org/en/Grade_import.
    """
    text = (HOMEWORK / f"{slug}.md").read_text("utf-8")
    title = re.search(r"^# (.*)", text, re.MULTILINE)[1]
    paper = dataclasses.replace(Assignment.of(trial.paper()), title=title)
    rows = [row("s1", 6.0, 4.0, known={"SIS User ID": "u7"}), row("eve", 6.0, 4.0)]
    rows += [row("s2", 6.0, None, known={}), row("s3", 1.0, 0.5, known={}, name="Bo")]
    tables.write(rows, paper, tmp_path)
    files = [(tmp_path / f"{name}.csv").read_text() for name in ("canvas", "moodle")]
    canvas, moodle = (list(csv.reader(text.splitlines())) for text in files)

    assert accepted_by_canvas(canvas[0])
    for name in ("", " Name", "name"):
        assert not accepted_by_canvas([name, *canvas[0][1:]])
    assert not accepted_by_canvas(canvas[0][:4] + canvas[0][5:])
    # A column of such a name counts as one that Canvas computes, and is dropped.
    computed = "(Current|Final) (Score|Points|Grade)|Override (Score|Grade|Status)"
    assert not re.search(computed, title)
    assert "Points Possible" in canvas[1][0]
    for line in canvas[2:]:
        assert any(line[1:4])  # found by an id, and not by the name alone
    assert [line[5] for line in canvas[2:]] == ["10.0", "1.5"]

    # One line of another length, one unknown or empty id, and nothing is imported; an
    # empty mark or "-" takes one away; above 100 nothing passes by default.
    assert {len(line) for line in moodle} == {2}
    assert [line[0] for line in moodle[1:]] == ["s1", "s3"]
    assert all(0 <= float(line[1]) <= 100 for line in moodle[1:])


def test_no_cell_is_longer_than_a_spreadsheet_takes():
    (cells,) = csv.reader([tables.as_csv([["x" * 10**6, "ada"]])])
    assert len(cells[0]) < 32_767


@pytest.mark.parametrize("text", ["=1+1", " +1", "@x", "＝1", "\t=1", "-2"])
def test_no_cell_begins_a_formula_in_any_language(text):
    (cells,) = csv.reader([tables.as_csv([[text, "ada"]])])
    assert cells[0].startswith("'")


def test_a_spreadsheet_that_separates_by_semicolons_finds_no_formula_either():
    line = tables.as_csv([["ada;=1+1", 3.5, None, 'say "x"', -0.5, "علی\u200cرضا"]])
    assert line == '"ada;=1+1",3.5,"","say ""x""",-0.5,"علی\u200cرضا"\n'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"title": "x", "parts": []}', "must have a title, a seed and parts"),
        ('{"title": "x", "seed": 1, "parts": [{"exercise": ""}]}', "must have a title"),
        (
            '{"title": "", "seed": 1,'
            ' "parts": [{"exercise": "a", "answer": "f", "points": 1}]}',
            "exercise must be one of",
        ),
    ],
)
def test_an_assignment_that_makes_no_sense_is_refused(tmp_path, text, message):
    (tmp_path / "assignment.json").write_text(text)
    with pytest.raises(ValueError, match=message):
        Assignment.read(tmp_path / "assignment.json")


def test_the_command_marks_as_it_is_told(monkeypatch, tmp_path, capsys):
    (tmp_path / "a.json").write_text(json.dumps(trial.paper()))
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "ada.py").write_text("")
    asked = []
    monkeypatch.setattr("grade.grade", lambda *a, **k: asked.append((a, k)) or [])
    paths = [
        str(tmp_path / "a.json"),
        str(tmp_path / "in"),
        "--out",
        str(tmp_path / "o"),
    ]
    options = ["--bare", "--jobs", "5", "--seconds", "7", "--megabytes", "13"]
    main([*paths, *options, "--explore-seconds", "11", "--student", "ADA"])
    monkeypatch.setattr("os.geteuid", lambda: 1000, raising=False)
    roster = tmp_path / "roster.csv"
    roster.write_text("file,id\nbo,s2\n", "utf-8")
    capsys.readouterr()
    main([*paths, "--bare", "--roster", str(roster)])
    said = capsys.readouterr().out
    assert "Not in the roster: ada.\n" in said
    assert "you are root" not in said
    monkeypatch.setattr("os.geteuid", lambda: 0, raising=False)
    main([*paths, "--bare"])
    assert "you are root" in capsys.readouterr().out
    asked.pop()
    (_, first), (given, last) = asked
    assert first["again"] == ["ada"]
    assert first["jobs"] == 5
    assert first["limits"] == Limits(seconds=7, explore_seconds=11, megabytes=13)
    assert last["seed"] == first["seed"] == trial.paper()["seed"]
    assert given[3].name == "bare"


def test_no_command_and_no_environment_tells_the_seed(tmp_path):
    for way in WAYS.values():
        made = way()
        line = made.command(tmp_path, tmp_path, "name")
        assert not any("seed=" in word or "--seed" in word for word in line)
        told = way.environment(made, tmp_path / "x", tmp_path)
        assert not any("seed" in name.lower() for name in told)


# --- otter's plugin


class Results:
    """Of otter's, what the plugin touches."""

    def __init__(self):
        self.test_files, self.scores, self.output = {"attend": 1, "head": 1}, {}, ""
        self.cases = {
            name: [SimpleNamespace(passed=False, message="of an empty notebook")]
            for name in self.test_files
        }

    def get_result(self, name):
        return SimpleNamespace(test_case_results=self.cases[name])

    def update_score(self, name, points):
        self.scores[name] = points

    def set_output(self, text):
        self.output = text


def test_otter_gives_no_mark_where_there_is_none():
    with warnings.catch_warnings(action="ignore"):
        pytest.importorskip("otter.plugins")
        from marker.otter_plugin import Sandboxed
    plugin, results = object.__new__(Sandboxed), Results()
    plugin.row, plugin.text = row("ada", 6.0, 2.5), "well"
    plugin.after_grading(results)
    assert (results.scores, results.output) == ({"attend": 6.0, "head": 2.5}, "well")
    for part in plugin.row["parts"]:
        (case,) = results.cases[part["answer"]]
        report = part["report"]
        assert (case.passed, case.message) == (report["passed"], report["message"])
    plugin.row = row("ada", 6.0, None)
    plugin.row["parts"][1]["report"]["flag"] = "above what can be known"
    with pytest.raises(RuntimeError, match="above what can be known"):
        plugin.after_grading(Results())
    plugin.row = row("ada", message="It can't be graded")
    with pytest.raises(RuntimeError, match="can't be graded"):
        plugin.after_grading(Results())
