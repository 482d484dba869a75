"""A trial class: the marks that are expected are the marks that are given.

Here a part of it, under bubblewrap where it starts and in a bare process; all of it
with `pytest -m slow` or `python tests/homework/trial.py`.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import psutil
import pytest
import trial
from marker.assignment import Assignment
from marker.handed_in import HandedIn, find
from marker.isolation import WAYS, Times, choose
from marker.mark import Limits, Marker
from sandbox import calls

LIMITS = {"seconds": 20, "explore_seconds": 10, "megabytes": 600}


def class_of(way, tmp_path_factory, *, quick):
    pytest.importorskip("torch")
    pytest.importorskip("flax")
    why = WAYS[way]().missing()
    if why:
        pytest.skip(f"not tried: {why}")
    names = [n for n in trial.names(quick=quick) if trial.expected(trial.CLASS[n], way)]
    folder = tmp_path_factory.mktemp("trial")
    return folder, trial.mark(folder, way, names, **LIMITS)


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """A part of the class, marked in isolation."""
    return class_of("bubblewrap", tmp_path_factory, quick=True)


def compare(name, rows, way):
    got = trial.points(rows[name], trial.CLASS[name])
    assert trial.as_expected(name, rows[name], way), (got, trial.said(rows[name]))


@pytest.mark.parametrize("name", trial.names(quick=True))
def test_the_marks_expected_are_the_marks_given(name, graded):
    compare(name, graded[1], "bubblewrap")


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_the_whole_class_gets_the_marks_expected(way, tmp_path_factory):
    _, rows = class_of(way, tmp_path_factory, quick=False)
    for name in rows:
        compare(name, rows, way)


def test_of_a_folder_the_notebook_with_the_answers_counts_and_scripts_help(tmp_path):
    """Named as a browser saves it, beside one that was opened later and left blank."""
    pytest.importorskip("torch")
    mine = "import torch\nfrom parts.layers import attend\n" + trial.HEAD
    files = {
        "parts/layers.py": trial.ATTEND,
        "work-torch.ipynb.json": trial.notebook(mine),
        "a-longer-name-torch.ipynb": trial.notebook(trial.BLANK),
    }
    for n, (name, text) in enumerate(files.items(), start=1):
        path = tmp_path / "in" / "ada" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        os.utime(path, (n, n))
    way = choose("bare" if WAYS["bubblewrap"]().missing() else "bubblewrap")
    (one,) = find(tmp_path / "in")
    with Marker(Assignment.of(trial.paper()), way, 7, Limits(**LIMITS)) as marker:
        row = marker.mark(one)
    assert [part["points"] for part in row["parts"]] == trial.FULL, row
    assert row["file"] == "work-torch.ipynb.json"
    assert "counts, the latest with most answers; not a-longer" in row["notes"][0]


def test_no_message_breaks_json_csv_or_an_encoding(graded):
    folder, _ = graded
    marks = folder / "challenge-False" / "trial-marks"
    for path in marks.rglob("*"):
        if path.is_file():
            path.read_bytes().decode("utf-8")

    def refuse(constant):
        raise AssertionError(constant)

    json.loads((marks / "marks.json").read_text("utf-8"), parse_constant=refuse)


def test_the_appendix_has_what_a_bare_process_admits():
    other = {n for n, c in trial.CLASS.items() if c.bare is not None}
    assert other == trial.ADMITTED.keys()
    book = pathlib.Path(__file__).resolve().parents[2] / "book"
    page = (book / "appendices" / "homework.md").read_text("utf-8")
    assert trial.table() in page
    assert f"{len(trial.CLASS)} submissions" in page


def test_without_isolation_marks_say_so(tmp_path, capsys, monkeypatch):
    pytest.importorskip("torch")
    sleeps = 'import subprocess\nsubprocess.Popen(["sleep", "86397"])'
    case = trial.Case(trial.notebook(sleeps, trial.ATTEND, trial.HEAD), trial.FULL)
    monkeypatch.setitem(trial.CLASS, "sleeps", case)
    rows = trial.mark(tmp_path, "bare", ["sleeps", "forges_all"], **LIMITS)
    for name in rows:
        compare(name, rows, "bare")
    # Nothing goes on that a submission started in its session.
    running = (p.info["cmdline"] for p in psutil.process_iter(["cmdline"]))
    assert ["sleep", "86397"] not in running
    assert "sleeps: 10 (not isolated)" in capsys.readouterr().out
    marks = tmp_path / "challenge-False" / "trial-marks" / "marks.csv"
    assert marks.read_text("utf-8").count('"bare"') == 2


def test_a_sandbox_sees_neither_the_class_nor_the_network(tmp_path):
    """What the program inside finds, whatever it tries."""
    isolation = WAYS["bubblewrap"]()
    if isolation.missing():
        pytest.skip(f"not tried: {isolation.missing()}")
    (tmp_path / "secret").write_text("1964")
    room = tmp_path / "room"
    (room / "sandbox").mkdir(parents=True)
    (room / "sandbox" / "__init__.py").touch()
    shutil.copy(pathlib.Path(calls.__file__), room / "sandbox")
    (room / "sandbox" / "__main__.py").write_text(
        f"""
import ctypes, glob, json, os, socket, pathlib
from sandbox import calls
def opened(path):
    try: os.close(os.open(path, os.O_WRONLY))
    except OSError: return False
    return True
def tried(f):
    try: return str(f())
    except OSError as error: return type(error).__name__
def user():
    if ctypes.CDLL(None).unshare(0x10000000) < 0: raise PermissionError
def fill(folder):
    new = pathlib.Path(folder, "new")
    try: new.write_bytes(bytes(3 * 10**8))
    finally: new.unlink(missing_ok=True)
print(json.dumps({{
    "secret": tried(lambda: open({str(tmp_path / "secret")!r}).read()),
    "filter": calls.refuse(),
    "administrator": tried(user),
    "memory": tried(lambda: os.memfd_create("x")),
    "machines": tried(lambda: socket.socket(40, socket.SOCK_STREAM)),
    "processes": len([p for p in os.listdir("/proc") if p.isdigit()]),
    "network": tried(lambda: socket.create_connection(("127.0.0.1", 22), 1)),
    "interfaces": [name for _, name in socket.if_nameindex()],
    "room": tried(lambda: open({str(room / "new")!r}, "w")),
    "library": tried(lambda: open(json.__file__, "a")),
    "settings": [p for p in glob.glob("/proc/sys/*/*") if opened(p)],
    "devices": tried(lambda: fill("/dev")),
    "scratch": [tried(lambda: fill(f)) for f in (".", "/tmp", "/dev/shm")],
    "home": os.listdir(os.path.expanduser("~")),
    "environment": sorted(os.environ),
    "user": os.getuid(),
    "capabilities": [x.split()[1] for x in open("/proc/self/status") if "CapEff" in x],
}}))
"""
    )
    found = json.loads(isolation.run(room, b"", Times(60, 60, 60)).raw)
    assert found["secret"] == "FileNotFoundError"
    assert found["filter"]
    for refused in ("administrator", "memory", "machines"):
        assert found[refused] == "PermissionError"
    assert found["processes"] <= 3
    assert found["network"] in ("ConnectionRefusedError", "OSError")
    assert found["interfaces"] == ["lo"]
    for kept in ("room", "library", "devices"):
        assert found[kept] in ("OSError", "PermissionError")
    assert found["scratch"] == ["OSError"] * 3  # full
    assert found["settings"] == found["home"] == []
    assert "PATH" in found["environment"]
    assert not {"USERNAME", "SSH_AUTH_SOCK", "LOGNAME"} & set(found["environment"])
    assert found["user"] == 1000
    assert set(found["capabilities"][0]) == {"0"}


def test_a_way_that_is_missing_is_refused_with_a_way_out(monkeypatch):
    monkeypatch.setattr(WAYS["bubblewrap"], "missing", lambda self: "it is not there")
    with pytest.raises(ValueError, match=r"it is not there. .*--bare"):
        choose()
    assert choose("bare").name == "bare"
    with pytest.raises(ValueError, match="must be one of bubblewrap, container, bare"):
        choose("chroot")


@pytest.mark.parametrize(
    ("says", "hint"),
    [
        ("bwrap: Unknown option --disable-userns", "0.8 or newer is due"),
        ("bwrap: setting up uid map: Permission denied", "Ubuntu it needs a profile"),
    ],
)
def test_a_bubblewrap_that_does_not_start_says_what_helps(
    says, hint, tmp_path, monkeypatch
):
    (tmp_path / "bwrap").write_text(f'#!/bin/sh\necho "{says}" >&2\nexit 1\n')
    (tmp_path / "bwrap").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    with pytest.raises(ValueError, match=hint) as error:
        choose()
    assert says in str(error.value)


def test_where_bubblewrap_cannot_deny_namespaces_the_filter_does(tmp_path, monkeypatch):
    (tmp_path / "bwrap").write_text(
        '#!/bin/sh\ncase "$*" in *--disable-userns*)\n'
        'echo "bwrap: cannot open /proc/sys/user/max_user_namespaces: denied" >&2\n'
        "exit 1;; esac\n"
    )
    (tmp_path / "bwrap").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    line = choose().command(tmp_path, tmp_path, "name")
    assert "--unshare-user" in line
    assert "--disable-userns" not in line
    monkeypatch.setattr(calls, "library", lambda: None)
    with pytest.raises(ValueError, match="apt install libseccomp2"):
        choose()


@pytest.mark.parametrize(
    ("words", "longest"), [(0, 0.9), (1, 0.7), (3, 0.5), (10**9, 2)]
)
def test_a_sandbox_that_says_nothing_is_not_waited_for(words, longest, monkeypatch):
    """Nor is one that says something for ever."""
    from marker import isolation

    monkeypatch.setattr(isolation, "START", 0.9)
    code = f"""
import time
for _ in range({words}):
    print(1, flush=True)
    time.sleep(0.3)
time.sleep(60)
"""
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    try:
        ended = isolation._watch(process, Times(2, 0.7, 0.5), 10**6)
    finally:
        process.stdout.close()
    assert ended.how.startswith(f"{isolation.TOO_LONG} {longest} s")


def test_statements_that_explore_have_the_time_of_loading():
    """Its whole, and no more: such a word starts no clock of its own."""
    from marker import isolation

    code = """
import time
print('{"ready": true}', flush=True)
for _ in range(2):
    time.sleep(0.6)
    print('{"explores": 1}', flush=True)
time.sleep(2)
print('{"loaded": true}', flush=True)
time.sleep(60)
"""
    for load, longest in ((12, 0.5), (1.5, 1.5)):
        process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
        try:
            ended = isolation._watch(process, Times(20, load, 0.5), 10**6)
        finally:
            process.stdout.close()
        assert ended.how.startswith(f"{isolation.TOO_LONG} {longest} s")
        assert (b"loaded" in ended.raw) == (load == 12)


def test_memory_and_number_are_counted_of_all_that_a_process_started():
    from marker.isolation import THREADS, _too_much, _usage

    code = "import os\nx = bytearray(10**8)\nos.fork()\nwhile True: pass"
    process = subprocess.Popen([sys.executable, "-c", code])
    try:
        while (usage := _usage(process.pid))[0] < 2 or usage[2] < 2 * 10**8:
            assert process.poll() is None
        assert usage[:2] == (2, 2)
        assert _too_much(process.pid, 200).startswith("took more than 200 MB")
        assert _too_much(process.pid, 2000) == ""
    finally:
        for one in [*psutil.Process(process.pid).children(), process]:
            one.kill()
        process.wait()
    code = "import threading\ngate = threading.Event()\n"
    code += f"for _ in range({THREADS}): threading.Thread(target=gate.wait).start()"
    process = subprocess.Popen([sys.executable, "-c", code])
    try:
        while not (said := _too_much(process.pid, 10**6)):
            assert process.poll() is None
        assert f"{THREADS} threads" in said
    finally:
        process.kill()
        process.wait()


def test_a_container_has_no_network_no_rights_and_limits(tmp_path):
    """The command is built everywhere; it runs where an engine and its image are."""
    made = WAYS["container"]()
    made.engine = "podman"
    line = " ".join(made.command(tmp_path / "room", tmp_path, "a-name"))
    for option in (
        "--network none",
        "--read-only",
        "--cap-drop ALL",
        "--memory 6000m",
        "--pids-limit",
        "--user 65534",
        "no-new-privileges",
        f"{tmp_path}/room:/room:ro",
        "PYTHONPATH=/room",
    ):
        assert option in line
    assert str(tmp_path) not in line.replace(f"{tmp_path}/room:/room", "")


def test_an_error_of_the_marker_is_the_message_of_one_row(tmp_path, monkeypatch):
    from marker import mark
    from marker.assignment import Assignment

    def broken(self, path):
        raise RecursionError("\ud800")

    monkeypatch.setattr(mark.Submission, "_read", broken)
    paper = Assignment.of(trial.paper())
    (tmp_path / "ada.py").write_text("")
    with mark.Marker(paper, choose("bare"), 3, mark.Limits()) as marker:
        row = marker.mark(HandedIn("ada", "Ada", tmp_path / "ada.py"))
    assert "the marker failed: RecursionError: \\ud800" in row["message"]
    assert not row["marked"]
    assert row["parts"] == []
