"""The page on using the package: its files and its commands, run as it says."""

import os
import re
import runpy
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from small_books import ROOT

from course_lib.training import Windows

PAGE = (ROOT / "book/appendices/using.md").read_text("utf-8")
FILES = ROOT / "book/appendices/using"
PRINTED = re.findall(r"^```text\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
COMMANDS = re.findall(r"^```bash\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
(TEXT, TRAIN, KILL, AGAIN, WRITE, TORCHRUN, MESH) = COMMANDS
BIN = str(Path(sys.executable).parent)
ENVIRONMENT = os.environ | {"PATH": f"{BIN}:{os.environ['PATH']}", "COURSE_QUIET": "1"}
# Runs small enough for a test, here and in processes: the files are the page's but for
# these numbers.
FEW = {"steps": 4, "warmup": 1, "evaluate_every": 2, "checkpoint_every": 2}
MORE = {"steps": 24, "warmup": 4, "evaluate_every": 12, "checkpoint_every": 2}


def files(folder, numbers):
    """Write the page's files and the text that its first command writes."""
    for path in FILES.glob("*.py"):
        shutil.copy(path, folder)
    model = (folder / "my_model.py").read_text("utf-8")
    for name, number in numbers.items():
        model, found = re.subn(rf"\b{name}=\d+", f"{name}={number}", model)
        assert found == 1
    (folder / "my_model.py").write_text(model, "utf-8")
    shell(TEXT, folder)
    return folder


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


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    """The folder of the page's files, from which this process runs its commands."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(files(tmp_path_factory.mktemp("here"), FEW))
        patch.syspath_prepend(os.getcwd())
        yield Path.cwd()
        sys.modules.pop("my_model", None)


@pytest.fixture
def run(here, monkeypatch, capsys):
    """What a command of the page prints, run as Python would run it."""

    def printed(command):
        python, script, *arguments = shlex.split(command)
        assert python == "python"
        monkeypatch.setattr("sys.argv", [script, *arguments])
        runpy.run_path(script, run_name="__main__")
        return capsys.readouterr().out

    return printed


def test_a_run_that_is_cut_off_ends_as_one_that_was_not(here, run, monkeypatch):
    whole = run(TRAIN)
    for shown in PRINTED[:2]:  # in the form that the page shows
        assert re.sub(r"\d+", "0", whole) == re.sub(r"\d+", "0", shown)
    (here / "run.safetensors").unlink()

    def batch(windows, step, given=Windows.__call__):
        if step == 3:
            raise KeyboardInterrupt
        return given(windows, step)

    with monkeypatch.context() as patch:
        patch.setattr(Windows, "__call__", batch)
        with pytest.raises(KeyboardInterrupt):
            run(TRAIN)
    assert run(AGAIN) == whole


def test_both_frameworks_learn_and_write_the_same_text(here, run):
    (here / "run.safetensors").unlink(missing_ok=True)
    assert run(in_nnx(TRAIN)).startswith("steps 4, loss ")
    first, second = map(run, WRITE.splitlines())
    assert first == second
    assert first.startswith("It was")
    assert len(first) > 80  # tokens of one character or more: past what is read at once


def test_the_tokenizer_and_the_sizes_stay_those_of_the_weights(here, run):
    """An edited text has another vocabulary, in which the ids would mean nothing."""
    (here / "run.safetensors").unlink(missing_ok=True)
    run(TRAIN)
    command, text = WRITE.splitlines()[0], here / "my_text.txt"
    written, whole = run(command), text.read_text("utf-8")
    try:
        text.write_text(whole.replace("e", "ee"), "utf-8")
        sys.modules.pop("my_model", None)
        with pytest.raises(ValueError, match=r"order.*data"):
            run(TRAIN)
        assert run(command) == written
        text.write_text("Too short.", "utf-8")
        sys.modules.pop("my_model", None)
        with pytest.raises(SystemExit, match="650 tokens or more"):
            run(TRAIN)
    finally:
        text.write_text(whole, "utf-8")
        sys.modules.pop("my_model", None)


def test_a_published_model_writes_as_the_page_says(wing, tmp_path, capsys):
    tokenizers = pytest.importorskip("tokenizers")
    transformers = pytest.importorskip("transformers")
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    (code,) = (block for block in blocks if f'"{wing.name}"' in block)
    letters = {letter: i for i, letter in enumerate(sorted(set("The central bank")))}
    made = tokenizers.Tokenizer(tokenizers.models.BPE(letters, []))
    made.decoder = tokenizers.decoders.Fuse()
    made.save(str(tmp_path / "tokenizer.json"))
    sizes = {"n_positions": 64, "n_embd": 8, "n_layer": 1, "n_head": 2}
    ends = {"bos_token_id": 0, "eos_token_id": None}
    config = transformers.GPT2Config(vocab_size=len(letters), **sizes, **ends)
    transformers.GPT2LMHeadModel(config).save_pretrained(tmp_path)
    exec(code.replace("openai-community/gpt2", str(tmp_path)), {})
    written = capsys.readouterr().out
    assert len(written) == 30
    assert set(written) <= set(letters)


# The same with processes of their own, as a reader starts and ends them.


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return files(tmp_path_factory.mktemp("using"), MORE)


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


@pytest.mark.slow
@pytest.mark.parametrize("framework", [str, in_nnx], ids=["torch", "nnx"])
def test_what_the_page_shows_is_what_comes_out(tmp_path, framework):
    """Up to a processor's rounding, which 200 steps hand on."""
    shown = PRINTED[framework is in_nnx]
    got = shell(framework(TRAIN), files(tmp_path, {}))
    numbers = [np.array(re.findall(r"\d+\.?\d*", t), float) for t in (got, shown)]
    np.testing.assert_allclose(*numbers, rtol=0.1)  # a perplexity is an exponential
    assert shell(WRITE, tmp_path).startswith("It was")


@pytest.mark.slow
@pytest.mark.parametrize("framework", [str, in_nnx], ids=["torch", "nnx"])
def test_a_killed_run_ends_as_one_that_was_not(folder, framework):
    assert KILL.splitlines()[::3] == ["rm run.safetensors", "kill -9 $!"]
    (folder / "run.safetensors").unlink(missing_ok=True)
    unbroken = shell(framework(TRAIN), folder)
    assert "steps 24" in unbroken
    (folder / "run.safetensors").unlink()
    killed_after_a_checkpoint(framework("train.py"), folder)
    assert shell(framework(AGAIN), folder) == unbroken


@pytest.mark.slow
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


def test_the_code_of_the_first_page_trains_and_writes(capsys):
    page = (ROOT / "book/intro.md").read_text("utf-8")
    (code,) = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    assert code.count("range(400)") == 1
    exec(code.replace("range(400)", "range(20)"), {})
    assert len(capsys.readouterr().out.split()) == 12  # as many tokens as it says
