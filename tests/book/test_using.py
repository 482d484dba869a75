"""The page on using the package: its files and its commands, run as it says."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from small_books import ROOT

PAGE = (ROOT / "book/appendices/using.md").read_text("utf-8")
FILES = ROOT / "book/appendices/using"
COMMANDS = re.findall(r"^```bash\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
(TEXT, TRAIN, KILL, AGAIN, WRITE, TORCHRUN, MESH) = COMMANDS
BIN = str(Path(sys.executable).parent)
ENVIRONMENT = os.environ | {"PATH": f"{BIN}:{os.environ['PATH']}", "COURSE_QUIET": "1"}
# A run of its own, small enough for a test: the files are the page's but for this.
FEWER = ("steps=200", "steps=24"), ("warmup=20", "warmup=4")
OFTEN = ("evaluate_every=50", "evaluate_every=12"), ("checkpoint_every=20",) * 2


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """An empty folder with the page's files and the text that its command writes."""
    made = tmp_path_factory.mktemp("using")
    for path in FILES.glob("*.py"):
        shutil.copy(path, made)
    model = (made / "my_model.py").read_text("utf-8")
    for old, new in (*FEWER, *OFTEN):
        assert old in model
        model = model.replace(old, new.replace("=20", "=2"))
    (made / "my_model.py").write_text(model, "utf-8")
    shell(TEXT, made)
    return made


def shell(commands, folder):
    """What the commands print; they must all succeed."""
    run = subprocess.run(
        ["bash", "-euc", commands],
        cwd=folder,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


def in_nnx(commands):
    return commands.replace("train.py", "train_nnx.py")


def test_every_file_of_the_page_is_shown_and_none_is_left_over():
    shown = set(re.findall(r"\{literalinclude\} using/(\S+)", PAGE))
    assert shown == {path.name for path in FILES.glob("*.py")}


def killed_after_a_checkpoint(script, folder):
    """The page's `kill -9`, sent as soon as there is something to lose."""
    process = subprocess.Popen(
        [sys.executable, script],
        cwd=folder,
        env=ENVIRONMENT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        for _ in range(2400):
            if (folder / "run.safetensors").exists() or process.poll() is not None:
                break
            time.sleep(0.05)
    finally:
        process.send_signal(signal.SIGKILL)
    assert process.wait() in (0, -signal.SIGKILL)  # a fast machine may be done
    assert (folder / "run.safetensors").exists()


@pytest.mark.parametrize("framework", [str, in_nnx], ids=["torch", "nnx"])
def test_a_killed_run_ends_as_one_that_was_not(folder, framework):
    assert KILL.splitlines()[::3] == ["rm run.safetensors", "kill -9 $!"]
    (folder / "run.safetensors").unlink(missing_ok=True)
    unbroken = shell(framework(TRAIN), folder)
    assert "steps 24" in unbroken
    (folder / "run.safetensors").unlink()
    killed_after_a_checkpoint(framework("train.py"), folder)
    assert shell(framework(AGAIN), folder) == unbroken


def test_both_frameworks_write_the_same_text(folder):
    if not (folder / "run.safetensors").exists():
        shell(TRAIN, folder)
    first, second = (shell(line, folder) for line in WRITE.splitlines())
    assert first == second
    assert first.startswith("It was")
    assert len(first) > len("It was\n")


@pytest.mark.parametrize("commands", [TORCHRUN, MESH], ids=["torchrun", "mesh"])
def test_two_processes_learn_what_one_learns(folder, commands):
    alone = TRAIN if "torchrun" in commands else in_nnx(TRAIN)
    (folder / "run.safetensors").unlink(missing_ok=True)
    one = shell(alone, folder)
    two = shell(commands.replace("29512", "29517"), folder)
    results = [
        re.findall(r"^(?:steps|held out) .*", text, re.MULTILINE) for text in (one, two)
    ]
    assert [len(lines) for lines in results] == [2, 2]  # one process speaks
    ours, theirs = (
        [float(n) for n in re.findall(r"\d+\.?\d*", " ".join(lines))]
        for lines in results
    )
    assert theirs == pytest.approx(ours, rel=2e-3)
