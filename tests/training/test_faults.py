"""Faults: divergence, ids out of range, full disks, damaged files, kills."""

import dataclasses
import math
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
from models import MODELS
from tiny import PAD, VOCAB, T, summed_loss, tiny_data, tiny_gpt, tiny_model

from course_lib.checks import checking_values
from course_lib.config import TrainConfig
from course_lib.training import Batches, TrainingStopped, Windows
from course_lib.training.checkpoint import load_arrays, load_run, save_arrays

safetensors = pytest.importorskip("safetensors.numpy")


def weighted_loss(wing):
    """A loss whose third array weighs it: NaN and infinity come in there."""

    def loss(model, ids, targets, weight):
        total, count = summed_loss(wing)(model, ids, targets)
        return total * weight.sum(), count

    return loss


def batches_with(bad: dict[int, float]):
    """One batch a step, with these weights at these steps and 1 elsewhere."""
    ids, targets = tiny_data(12)

    def batch(step):
        weight = np.zeros(12)
        weight[0] = bad.get(step, 1.0)
        return ids, targets, weight

    return batch


def diverge(wing, model, *, bad, loss=None, resume=False, checkpoint=None, **config):
    settings = {"steps": 40, "learning_rate": 0.02, "chunk": 8, **config}
    return wing.lib.fit(
        model,
        batches_with(bad),
        weighted_loss(wing) if loss is None else loss,
        config=TrainConfig(**settings),
        checkpoint=checkpoint,
        resume=resume,
    )


def same(wing, first, second) -> bool:
    first, second = wing.lib.get_weights(first), wing.lib.get_weights(second)
    return all((w == second[name]).all() for name, w in first.items())


# Divergence


@pytest.mark.parametrize("chunk", [1, 8, 50])
@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_step_that_diverges_changes_nothing_and_ends_the_run(wing, chunk, value):
    model, short = tiny_model(wing, 0.3), tiny_model(wing, 0.3)
    said = r"after 21 of 40 steps: the loss of step 21 was (nan|inf)\. .*before that"
    with pytest.warns(TrainingStopped, match=said):
        history = diverge(wing, model, bad={21: value, 22: value}, chunk=chunk)
    assert history.steps == 22
    assert history.diverged
    assert history.stopped.startswith("the loss of step 21 was ")
    # Bit for bit the model of a run that ends before that step.
    good = diverge(wing, short, bad={}, steps=21, chunk=chunk)
    assert history.losses[:-1] == good.losses
    assert same(wing, model, short)


def test_a_gradient_that_diverges_ends_the_run_too(wing):
    if wing.name == "torch":
        from torch import sqrt
    else:
        from jax.numpy import sqrt

    def loss(model, ids, targets, weight):
        total, count = summed_loss(wing)(model, ids, targets)
        root = sqrt(((weight.sum() - 1) * total) ** 2)  # 0, and its slope 0 / 0
        return total + root, count

    model, start = tiny_model(wing), tiny_model(wing)
    with pytest.warns(TrainingStopped, match=r"the gradient's norm of step 0 was nan"):
        history = diverge(wing, model, bad={}, loss=loss)
    assert math.isfinite(history.losses[0])
    assert same(wing, model, start)


def test_a_run_that_diverges_never_touches_the_good_checkpoint(wing, tmp_path):
    path = tmp_path / "run.safetensors"
    model, whole = tiny_model(wing, 0.3), tiny_model(wing, 0.3)
    with pytest.warns(TrainingStopped, match=r"run\.safetensors was not written again"):
        diverge(wing, model, bad={29: math.nan}, checkpoint=path, checkpoint_every=5)
    assert load_run(path).history.steps == 25
    assert all(np.isfinite(w).all() for w in load_run(path).weights.values())
    # Once the cause is gone, the run goes on as if nothing had been.
    resumed = diverge(
        wing, model, bad={}, checkpoint=path, checkpoint_every=5, resume=True
    )
    unbroken = diverge(wing, whole, bad={}, checkpoint=tmp_path / "b", resume=False)
    assert resumed == unbroken
    assert resumed.stopped == ""
    assert same(wing, model, whole)


def test_with_early_stopping_a_diverged_model_gets_its_best_weights(wing):
    answers, seen = iter([2.0, 1.0, 3.0, 4.0]), []

    def evaluate(model):
        seen.append(wing.lib.get_weights(model))
        return next(answers)

    model = tiny_model(wing)
    config = TrainConfig(steps=40, evaluate_every=5, patience=9, learning_rate=0.02)
    with pytest.warns(TrainingStopped, match="the weights of its best evaluation"):
        wing.lib.fit(
            model,
            batches_with({17: math.nan}),
            weighted_loss(wing),
            config=config,
            evaluate=evaluate,
        )
    for name, w in wing.lib.get_weights(model).items():
        assert (w == seen[1][name]).all()


def test_a_run_that_does_not_diverge_warns_of_nothing(wing):
    assert not diverge(wing, tiny_model(wing), bad={}, steps=3).diverged


@pytest.mark.usefixtures("converts_small_floats")
def test_weights_in_half_precision_are_refused_with_the_way_out(wing):
    model = tiny_model(wing, dtype="float16")
    with pytest.raises(ValueError, match=r'float16.*precision="bfloat16"'):
        wing.lib.fit(model, [tiny_data(6)], summed_loss(wing))


@pytest.mark.parametrize(
    ("where", "bad", "message"),
    [
        ("ids", VOCAB, r"ids must lie between 0 and 10, .*got 11 at \[2, 3\]"),
        ("ids", -1, r"ids must lie between 0 and 10, .*got -1 at \[2, 3\]"),
        ("targets", VOCAB, r"targets must lie .*ignore_index=-100: got 11 at \[2, 3\]"),
        ("targets", -1, r"targets must lie .*ignore_index=-100: got -1 at \[2, 3\]"),
    ],
)
@pytest.mark.parametrize("step", [0, 4])
def test_an_id_out_of_range_gets_the_same_words(wing, where, bad, message, step):
    ids, targets = tiny_data(6)
    assert (targets == PAD).any()  # which stays allowed
    broken = {"ids": ids.copy(), "targets": targets.copy()}
    broken[where][2, 3] = bad
    model = tiny_gpt(wing)
    batches = [(ids, targets)] * step + [(broken["ids"], broken["targets"])]
    with pytest.raises(ValueError, match=message):
        wing.lib.fit(model, batches, summed_loss(wing), config=TrainConfig(steps=9))
    # The model has not learned from it.
    assert all(np.isfinite(w).all() for w in wing.lib.get_weights(model).values())


@pytest.mark.parametrize(
    ("name", "place", "called"),
    [
        ("BERTForClassification", 0, "ids"),
        ("Seq2Seq", 0, "source"),
        ("Seq2Seq", 1, "t"),
    ],
)
def test_every_model_of_tokens_says_which_id_is_out_of_range(wing, name, place, called):
    model, draw = MODELS[name], np.random.default_rng(3)
    built, inputs = model.build(wing), model.draw(draw)
    inputs[place][1, 2] = -1
    with (
        checking_values(),
        pytest.raises(
            ValueError,
            match=rf"{called}\w* must lie between 0 and 12, .*-1 at \[1, 2\]",
        ),
    ):
        model.call(wing, built, inputs)
    if wing.name == "nnx":  # compiled code cannot raise an error: a number is spoiled
        assert np.isnan(wing.numpy(model.call(wing, built, inputs))).any()


# Before the first step


def run(wing, path, steps=3, batches=None, model=None, **settings):
    model = tiny_model(wing) if model is None else model
    batches = [tiny_data(6)] if batches is None else batches
    config = TrainConfig(steps=steps, learning_rate=0.02)
    return wing.lib.fit(
        model, batches, summed_loss(wing), config=config, checkpoint=path, **settings
    )


def never(step):
    raise AssertionError("training has begun")


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        ("no/folder/run", ValueError, "needs a folder that exists"),
        ("", ValueError, "a checkpoint is a file: got .*, a folder"),
        ("file/run", ValueError, "needs a folder that exists"),
    ],
)
def test_a_checkpoint_that_cannot_be_is_refused_before_training(
    wing, tmp_path, name, error, message
):
    (tmp_path / "file").touch()
    with pytest.raises(error, match=message):
        run(wing, tmp_path / name, batches=never)


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="no /proc")
def test_a_folder_that_cannot_be_written_to_is_found_before_training(wing):
    with pytest.raises(OSError, match=r"folder that can be written to: /proc cannot"):
        run(wing, "/proc/run.safetensors", batches=never)


def test_without_safetensors_no_training_begins(wing, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "safetensors", None)
    with pytest.raises(ImportError, match="Checkpoints need safetensors"):
        run(wing, tmp_path / "run", batches=never)


# Files


def test_every_changed_byte_of_a_file_is_noticed(wing, tmp_path):
    path = tmp_path / "weights"
    wing.lib.save_weights(tiny_model(wing), path)
    whole, arrays = path.read_bytes(), load_arrays(path)
    draw, noticed = np.random.default_rng(3), []
    for place in [*range(8), *draw.integers(8, len(whole), 200)]:
        broken = bytearray(whole)
        broken[place] ^= 1 << draw.integers(8)
        path.write_bytes(broken)
        try:
            got = load_arrays(path)
        except ValueError as error:
            noticed.append(str(error))
        else:  # one space for another
            assert got.keys() == arrays.keys()
            assert all((got[name] == arrays[name]).all() for name in got)
    rule = re.compile("its checksum is another|must be a safetensors file, and whole")
    assert len(noticed) > 195
    assert all(map(rule.search, noticed))


def test_a_damaged_run_is_refused_and_the_model_left_alone(wing, tmp_path):
    path = tmp_path / "run"
    run(wing, path)
    damaged = bytearray(path.read_bytes())
    damaged[-5] ^= 16
    path.write_bytes(damaged)
    model, before = tiny_model(wing), tiny_model(wing)
    with pytest.raises(ValueError, match="its checksum is another"):
        run(wing, path, steps=5, model=model, resume=True)
    with pytest.raises(ValueError, match="its checksum is another"):
        wing.lib.load_weights(model, path)
    assert same(wing, model, before)


def test_files_of_other_tools_have_no_checksum_and_are_read(wing, tmp_path):
    known = wing.lib.get_weights(tiny_model(wing))
    weights = {name: np.ascontiguousarray(w + 1) for name, w in known.items()}
    safetensors.save_file(weights, tmp_path / "foreign", {"format": "pt"})
    model = tiny_model(wing)
    wing.lib.load_weights(model, tmp_path / "foreign")
    for name, w in wing.lib.get_weights(model).items():
        assert (w == weights[name]).all()


@pytest.mark.parametrize("kind", ["batches", "windows", "list"])
def test_a_run_is_not_resumed_on_other_data(wing, tmp_path, kind):
    def batches(change):
        ids, targets = tiny_data(12)
        ids[5, 1] = (ids[5, 1] + change) % VOCAB
        if kind == "batches":
            return Batches(ids, targets, batch_size=6, seed=2)
        if kind == "windows":
            return Windows(ids.ravel(), length=T - 1, batch_size=6, seed=2)
        return [(ids[:6], targets[:6]), (ids[6:], targets[6:])]

    def loss(model, ids, targets=None):
        targets = ids if targets is None else targets
        return wing.lib.cross_entropy_sum(model(ids), targets)

    path, config = tmp_path / "run", TrainConfig(steps=2)
    wing.lib.fit(tiny_model(wing), batches(0), loss, config=config, checkpoint=path)
    more = dataclasses.replace(config, steps=3)
    for change, refused in ((1, True), (0, False)):
        arguments = tiny_model(wing), batches(change), loss
        keywords = {"config": more, "checkpoint": path, "resume": True}
        if refused:
            with pytest.raises(ValueError, match=r"order of the data .*'data': "):
                wing.lib.fit(*arguments, **keywords)
        else:
            assert wing.lib.fit(*arguments, **keywords).steps == 3


def test_data_is_hashed_once_and_only_for_a_checkpoint(wing, tmp_path, monkeypatch):
    from course_lib.training import batches as module

    seen, hashed = [], module.fingerprint
    monkeypatch.setattr(module, "fingerprint", lambda *a: seen.append(a) or hashed(*a))
    batches = Batches(*tiny_data(), batch_size=12)
    run(wing, None, batches=batches)
    assert seen == []
    for path in (tmp_path / "a", tmp_path / "b"):
        run(wing, path, batches=batches)
    assert len(seen) == 1


@pytest.mark.skipif(os.name != "posix", reason="no file modes")
@pytest.mark.parametrize("umask", [0o022, 0o077, 0o002])
def test_a_file_has_the_mode_that_open_would_give_it(tmp_path, umask):
    before = os.umask(umask)
    try:
        save_arrays(tmp_path / "new", {"w": np.ones(3)})
        (tmp_path / "plain").touch()
        (tmp_path / "old").touch(mode=0o640)
        (tmp_path / "old").chmod(0o640)
        save_arrays(tmp_path / "old", {"w": np.ones(3)})
    finally:
        os.umask(before)
    modes = {p.name: p.stat().st_mode & 0o777 for p in tmp_path.iterdir()}
    assert modes == {"new": modes["plain"], "plain": 0o666 & ~umask, "old": 0o640}


def test_a_link_leads_to_the_file_that_is_written(tmp_path):
    (tmp_path / "far").mkdir()
    (tmp_path / "near").symlink_to(tmp_path / "far" / "run")
    save_arrays(tmp_path / "near", {"w": np.ones(3)})
    assert (tmp_path / "near").is_symlink()
    assert load_arrays(tmp_path / "far" / "run")["w"].sum() == 3


def test_a_full_disk_loses_neither_the_old_file_nor_the_model(wing, tmp_path):
    resource = pytest.importorskip("resource")
    path = tmp_path / "run"
    run(wing, path, steps=2)
    before, size = path.read_bytes(), path.stat().st_size
    model, whole = tiny_model(wing), tiny_model(wing)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    # No file may grow past half of a checkpoint: the write fails in its middle.
    resource.setrlimit(resource.RLIMIT_FSIZE, (size // 2, limits[1]))
    try:
        with pytest.raises(OSError, match=r"could not be written: .*as it was"):
            run(wing, path, steps=4, model=model, resume=True)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == [path.name]
    run(wing, tmp_path / "other", steps=4, model=whole)
    assert same(wing, model, whole)  # what was learned is still in the model
    assert run(wing, path, steps=4, resume=True).steps == 4


WRITER = """
import sys, numpy as np
from course_lib.training.checkpoint import save_arrays
for i in range(60):
    save_arrays(sys.argv[1], {"w": np.full(50_000, float(sys.argv[2]))})
"""


def test_of_two_processes_that_write_one_file_each_writes_it_whole(tmp_path):
    path = tmp_path / "weights"
    save_arrays(path, {"w": np.zeros(50_000)})
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(path), number])
        for number in ("1", "2")
    ]
    seen = set()
    try:
        while any(writer.poll() is None for writer in writers):
            w = load_arrays(path)["w"]
            assert (w == w[0]).all()
            seen.add(float(w[0]))
    finally:
        for writer in writers:
            writer.kill()
            writer.wait()
    assert [writer.returncode for writer in writers] == [0, 0]
    assert {1.0, 2.0} <= seen | {float(load_arrays(path)["w"][0])}
    assert os.listdir(tmp_path) == [path.name]


def test_what_a_killed_process_left_is_cleared_away_by_a_later_run(
    tmp_path, monkeypatch
):
    from course_lib.training.checkpoint import check_place

    made, folder_of = [], tempfile.TemporaryDirectory
    monkeypatch.setattr(
        tempfile,
        "TemporaryDirectory",
        lambda **where: made.append(folder_of(**where)) or made[-1],
    )
    old, new, other = (
        tmp_path / name for name in (".run.half.old", ".run.half.new", ".no.half.old")
    )
    for folder in (old, new, other):
        folder.mkdir()
        (folder / "half").touch()
        if folder.name.endswith("old"):
            os.utime(folder, (0, 0))
    check_place(tmp_path / "run")
    assert sorted(p.name for p in tmp_path.iterdir()) == [other.name, new.name]
    assert all(Path(half.name).name.startswith(".run.half.") for half in made)
    assert made


# Kills


@pytest.mark.slow
def test_fifty_kills_at_random_moments_lose_nothing(wing, tmp_path):
    worker = Path(__file__).with_name("killed_worker.py")
    paths = [str(worker.parent.parent), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    result = subprocess.run(
        [sys.executable, str(worker), wing.name, str(tmp_path), "50"],
        env={**environment, "OMP_NUM_THREADS": "1", "COURSE_QUIET": "1"},
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert result.returncode == 0, result.stderr[-3000:]
    killed, whole = load_run(tmp_path / "killed"), load_run(tmp_path / "whole")
    assert killed.history == whole.history  # each loss, rate and norm, bit for bit
    for part in ("weights", "exp_avg", "exp_avg_sq", "private"):
        ours, theirs = getattr(killed, part), getattr(whole, part)
        assert ours.keys() == theirs.keys()
        assert all((ours[name] == theirs[name]).all() for name in ours)
