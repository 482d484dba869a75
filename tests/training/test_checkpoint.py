"""Checkpoints: runs that go on exactly, in either wing, from files that are whole."""

import dataclasses
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
from tiny import (
    VOCAB,
    T,
    assert_weights,
    classes,
    nano_model,
    summed_loss,
    tiny_data,
    tiny_model,
    tiny_weights,
)
from wings import assert_close

from course_lib.config import TrainConfig
from course_lib.training.batches import Batches, Windows, order_of
from course_lib.training.checkpoint import (
    check_place,
    load_arrays,
    load_run,
    save_arrays,
)

safetensors = pytest.importorskip("safetensors.numpy")

CONFIG = TrainConfig(steps=7, learning_rate=0.02, warmup=3, accumulate=2, chunk=3)


def data(seed=2):
    return Batches(*tiny_data(), batch_size=12, seed=seed)


def run(wing, path, steps=7, *, model=None, dropout=0.0, batches=None, **settings):
    """Train a model, with checkpoints in `path`."""
    config = {
        name: settings.pop(name)
        for name in list(settings)
        if name in {field.name for field in dataclasses.fields(TrainConfig)}
    }
    model = nano_model(wing, dropout) if model is None else model
    history = wing.lib.fit(
        model,
        data() if batches is None else batches,
        summed_loss(wing),
        config=dataclasses.replace(CONFIG, steps=steps, **config),
        checkpoint=path,
        **settings,
    )
    return model, history


def test_a_run_goes_on_as_if_it_had_never_stopped(wing, tmp_path):
    path = tmp_path / "run.safetensors"
    unbroken, fresh = (
        tiny_model(wing, 0.3),
        wing.make(classes(wing.name)[1], 0.3, seed=9),
    )
    _, whole = run(wing, tmp_path / "other.safetensors", model=unbroken)
    run(wing, path, steps=4, model=tiny_model(wing, 0.3))
    # A model that was made otherwise: all that matters is in the file.
    wing.cast(fresh, "float64")
    _, resumed = run(wing, path, model=fresh, resume=True)
    assert resumed == whole  # each loss, rate and length, bit for bit
    assert_weights(wing, fresh, unbroken)
    first, second = load_run(path), load_run(tmp_path / "other.safetensors")
    for part in ("weights", "exp_avg", "exp_avg_sq", "private"):
        ours, theirs = getattr(first, part), getattr(second, part)
        assert ours.keys() == theirs.keys()
        assert all((ours[name] == theirs[name]).all() for name in ours)


def test_the_dropout_of_a_resumed_run_is_the_next_not_the_first(wing, tmp_path):
    path = tmp_path / "run.safetensors"
    still = {"learning_rate": 1e-300, "weight_decay": 0.0}
    batches = [tiny_data(12)]
    run(wing, path, steps=2, dropout=0.5, batches=batches, **still)
    _, history = run(
        wing, path, steps=4, dropout=0.5, batches=batches, resume=True, **still
    )
    assert len(set(history.losses)) == 4


def test_the_best_weights_and_the_patience_survive(wing, tmp_path):
    path = tmp_path / "run.safetensors"
    answers, seen = [3.0, 1.0, 2.0, 4.0, 5.0, 6.0, 7.0], []

    def evaluate(model):
        seen.append(wing.lib.get_weights(model))
        return answers[len(seen) - 1]

    early = {"evaluate_every": 1, "patience": 4, "evaluate": evaluate}
    run(wing, path, steps=3, **early)
    model, history = run(wing, path, steps=50, resume=True, **early)
    assert history.steps == 6
    assert history.evals["loss"] == answers[:6]
    assert_weights(wing, model, seen[1])
    other = nano_model(wing)
    wing.lib.load_weights(other, path)  # the best ones, not the last
    assert_weights(wing, other, seen[1])


def counting_class(wing):
    """The small model with a number that is no parameter: 5, and 1 for each call."""
    Nano, _ = classes(wing.name)
    if wing.name == "torch":
        import torch

        class Counting(Nano):
            def __init__(self):
                super().__init__()
                self.register_buffer("calls", torch.tensor(5.0))

            def forward(self, ids):
                self.calls += 1
                return super().forward(ids)

        return Counting
    from flax import nnx

    class Counting(Nano):
        def __init__(self, *, rngs):
            super().__init__(rngs=rngs)
            self.calls = nnx.BatchStat(np.array(5.0))

        def __call__(self, ids):
            self.calls[...] += 1
            return super().__call__(ids)

    return Counting


def test_what_a_model_keeps_besides_its_weights_survives(wing, tmp_path):
    path, Counting = tmp_path / "run.safetensors", counting_class(wing)
    for steps in (4, 7):
        model = wing.cast(wing.make(Counting), "float64")
        model, _ = run(wing, path, steps=steps, model=model, resume=steps > 4)
        kept = model.calls if wing.name == "torch" else model.calls[...]
        assert int(kept) == 5 + CONFIG.accumulate * steps


def normed_class(wing):
    """Batch norm, whose running means are no parameters."""
    if wing.name == "torch":
        import torch

        return lambda: torch.nn.BatchNorm1d(2)
    from flax import nnx

    class Normed(nnx.Module):
        def __init__(self, *, rngs):
            self.norm = nnx.BatchNorm(2, momentum=0.9, rngs=rngs)

        def __call__(self, x):
            return self.norm(x)

    return Normed


def running_mean(wing, model):
    if wing.name == "torch":
        return model.running_mean.numpy().copy()
    return np.array(model.norm.mean[...])


def test_running_means_are_saved_loaded_and_put_back(wing, tmp_path):
    path, Normed = tmp_path / "w.safetensors", normed_class(wing)
    model, other, seen = wing.make(Normed), wing.make(Normed), []
    x = np.random.default_rng(0).normal(9, 3, (8, 2)).astype("float32")

    def evaluate(model):
        seen.append(running_mean(wing, model))
        return [3.0, 1.0, 2.0, 2.0][len(seen) - 1]

    wing.lib.fit(
        model,
        [x],
        lambda model, x: ((model(x) - 1) ** 2).mean(),
        config=TrainConfig(steps=20, evaluate_every=2, patience=2),
        evaluate=evaluate,
        checkpoint=tmp_path / "run.safetensors",
    )
    assert (seen[-1] != seen[1]).all()
    np.testing.assert_array_equal(running_mean(wing, model), seen[1])
    wing.lib.save_weights(model, path)
    for file in (path, tmp_path / "run.safetensors"):
        wing.lib.load_weights(other, file)
        np.testing.assert_array_equal(running_mean(wing, other), seen[1])


@pytest.mark.usefixtures("converts_small_floats")
def test_weights_of_16_bits_are_saved_exactly(wing, tmp_path):
    model, other = (nano_model(wing, dtype="bfloat16") for _ in range(2))
    wing.lib.set_weights(
        other, {n: 0 * w for n, w in wing.lib.get_weights(other).items()}
    )
    wing.lib.save_weights(model, tmp_path / "w.safetensors")
    wing.lib.load_weights(other, tmp_path / "w.safetensors")
    assert_weights(wing, other, model)


@pytest.mark.parametrize("direction", [1, -1])
def test_a_run_goes_on_in_the_other_wing(both, tmp_path, direction):
    here, there = both[::direction]
    path = tmp_path / "run.safetensors"
    _, whole = run(here, tmp_path / "other.safetensors", model=tiny_model(here))
    run(here, path, steps=4, model=tiny_model(here))
    before = load_run(path)
    model, resumed = run(there, path, model=tiny_model(there), resume=True)
    assert resumed.losses[:4] == whole.losses[:4]
    assert_close(resumed.losses, whole.losses)
    assert_close(resumed.grad_norms, whole.grad_norms)
    assert resumed.learning_rates == whole.learning_rates
    assert load_run(path).wing == there.name != before.wing
    ends = load_run(path), load_run(tmp_path / "other.safetensors")
    for part in ("weights", "exp_avg", "exp_avg_sq"):
        ours, theirs = (getattr(end, part) for end in ends)
        assert ours.keys() == theirs.keys() == there.lib.get_weights(model).keys()
        for name in ours:
            assert_close(ours[name], theirs[name])
    # Only its own framework can train this model, and it is what the file holds.
    for name, values in there.lib.get_weights(model).items():
        np.testing.assert_array_equal(values, ends[0].weights[name])


@pytest.mark.parametrize("direction", [1, -1])
def test_in_the_other_wing_dropout_starts_a_stream_of_its_own(
    both, tmp_path, direction
):
    here, there = both[::direction]
    path = tmp_path / "run.safetensors"
    same = {"batches": [tiny_data(12)], "learning_rate": 1e-300, "weight_decay": 0.0}
    run(here, path, steps=2, dropout=0.5, **same)
    _, first = run(there, tmp_path / "first.safetensors", steps=2, dropout=0.5, **same)
    ends = []
    for seed in (0, 9):
        copy = tmp_path / "copy.safetensors"
        copy.write_bytes(path.read_bytes())
        model = there.make(classes(there.name)[0], 0.5, seed=seed)
        model = there.cast(model, "float64")
        _, history = run(there, copy, steps=4, model=model, resume=True, **same)
        ends.append(history.losses)
    assert ends[0] == ends[1]  # from the run's seed and the step, not the model's
    assert len({*ends[0], *first.losses}) == 6


@pytest.mark.parametrize("direction", [1, -1])
def test_weights_cross_without_a_rounding(both, tmp_path, direction):
    here, there = both[::direction]
    path = tmp_path / "weights.safetensors"
    first, second = (nano_model(w, dtype="float32") for w in (here, there))
    weights = {n: w + 1 for n, w in here.lib.get_weights(first).items()}
    here.lib.set_weights(first, weights)
    here.lib.save_weights(first, path)
    there.lib.load_weights(second, path)
    assert_weights(there, second, here.lib.get_weights(first))
    # Anybody's safetensors reads them, under their own names.
    assert safetensors.load_file(path).keys() == weights.keys()


def test_checkpoints_are_written_when_they_are_due(wing, tmp_path, monkeypatch):
    from course_lib.training import checkpoint as checkpoints

    steps, save = [], checkpoints.save_run

    def record(path, checkpoint):
        steps.append(checkpoint.history.steps)
        save(path, checkpoint)

    monkeypatch.setattr(checkpoints, "save_run", record)
    run(wing, tmp_path / "run.safetensors", checkpoint_every=2)
    assert steps == [2, 4, 6, 7]


def test_an_interrupted_run_leaves_its_newest_weights_in_the_model(wing, tmp_path):
    path = tmp_path / "run.safetensors"

    def stop(model):
        raise KeyboardInterrupt

    model = nano_model(wing)
    with pytest.raises(KeyboardInterrupt):
        run(wing, path, model=model, evaluate_every=5, evaluate=stop)
    finished, _ = run(wing, path, steps=5)
    assert_weights(wing, model, finished)


# What is refused


def test_a_run_that_changed_is_refused_with_every_difference(wing, tmp_path):
    path = tmp_path / "run.safetensors"
    run(wing, path, steps=2)
    with pytest.raises(
        ValueError,
        match=r"learning_rate \(saved 0.02, now 0.5\), clip .*order of the data",
    ):
        run(wing, path, learning_rate=0.5, clip=None, batches=data(seed=3), resume=True)
    run(wing, path, steps=3, chunk=1, checkpoint_every=1, resume=True)


@pytest.mark.parametrize(
    ("schedule", "steps"), [("cosine", 7), ("linear", 7), ("constant", 4)]
)
def test_a_length_that_the_run_cannot_have_is_refused(wing, tmp_path, schedule, steps):
    path = tmp_path / "run.safetensors"
    run(wing, path, steps=5, schedule=schedule)
    with pytest.raises(ValueError, match=rf"steps \(saved 5, now {steps}\)"):
        run(wing, path, steps=steps, schedule=schedule, resume=True)


def test_a_file_that_is_no_run_is_refused_in_the_same_words(wing, tmp_path):
    missing, pickle, half, damaged, weights, foreign = (
        tmp_path / name
        for name in ("missing", "pickle", "half", "damaged", "weights", "foreign")
    )
    pickle.write_bytes(b"\x80\x04\x95 not safetensors at all")
    run(wing, half, steps=1)
    whole = bytearray(half.read_bytes())
    half.write_bytes(whole[:-9])
    whole[-5] ^= 16
    damaged.write_bytes(whole)
    model = nano_model(wing)
    before = wing.lib.get_weights(model)
    wing.lib.save_weights(model, weights)
    safetensors.save_file({"w": np.ones(3)}, foreign)
    for path, message in (
        (missing, "there must be a file to read: .*missing"),
        (pickle, "must be a safetensors file, and whole"),
        (half, "must be a safetensors file, and whole"),
        (damaged, "its checksum is another"),
        (weights, "must hold a training run.*course_lib weights 1.*load_weights"),
        (foreign, "must hold a training run.*another kind"),
    ):
        with pytest.raises(ValueError, match=message):
            run(wing, path, model=model, resume=True)
    for path, message in (
        (damaged, "its checksum is another"),
        (foreign, r"Not expected: w\. "),
    ):
        with pytest.raises(ValueError, match=message):
            wing.lib.load_weights(model, path)
    assert_weights(wing, model, before)


def test_a_file_without_one_of_its_parts_is_refused_by_name(wing, tmp_path):
    path = tmp_path / "run.safetensors"
    run(wing, path, steps=1)
    with safetensors.safe_open(path, framework="numpy") as file:
        about = {k: v for k, v in file.metadata().items() if k != "sha256"}
        arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    for gone in ("history.losses", "weights.head.bias", "exp_avg_sq.head.bias"):
        rest = {name: array for name, array in arrays.items() if name != gone}
        safetensors.save_file(rest, path, about)
        with pytest.raises(ValueError, match=gone.removeprefix("weights.")[-9:]):
            run(wing, path, steps=2, resume=True)


def test_weights_of_another_model_are_refused_and_change_nothing(wing, tmp_path):
    path = tmp_path / "run.safetensors"
    run(wing, path, steps=1)
    other = wing.make(wing.lib.MultiHeadAttention, 14, 7)
    before = wing.lib.get_weights(other)
    with pytest.raises(ValueError, match=r"Missing: k_proj\.bias.*Not expected: emb"):
        wing.lib.load_weights(other, path)
    with pytest.raises(ValueError, match=r"Missing: k_proj\.bias.*Not expected: emb"):
        wing.lib.fit(
            other,
            data(),
            summed_loss(wing),
            config=dataclasses.replace(CONFIG, steps=2),
            checkpoint=path,
            resume=True,
        )
    assert_weights(wing, other, before)


def never(step):
    raise AssertionError("training has begun")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("no/folder/run", "needs a folder that exists.*mkdir"),
        ("", "a checkpoint is a file: got .*, a folder"),
        ("file/run", "needs a folder that exists"),
    ],
)
def test_a_checkpoint_that_cannot_be_is_refused_before_training(
    wing, tmp_path, name, message
):
    (tmp_path / "file").touch()
    with pytest.raises(ValueError, match=message):
        run(wing, tmp_path / name, batches=never)
    with pytest.raises(ValueError, match=message):
        wing.lib.save_weights(nano_model(wing), tmp_path / name)


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="no /proc")
def test_a_folder_that_cannot_be_written_to_is_found_before_training(wing):
    with pytest.raises(OSError, match=r"folder that can be written to: /proc cannot"):
        run(wing, "/proc/run.safetensors", batches=never)


def test_without_safetensors_no_training_begins(wing, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "safetensors", None)
    with pytest.raises(ImportError, match="Checkpoints need safetensors"):
        run(wing, tmp_path / "run", batches=never)


# Files


def test_every_changed_byte_of_a_file_is_noticed(tmp_path):
    path = tmp_path / "weights"
    save_arrays(path, tiny_weights())
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


def test_files_of_other_tools_have_no_checksum_and_are_read(wing, tmp_path):
    known = wing.lib.get_weights(nano_model(wing))
    weights = {name: np.ascontiguousarray(w + 1) for name, w in known.items()}
    safetensors.save_file(weights, tmp_path / "foreign", {"format": "pt"})
    model = nano_model(wing)
    wing.lib.load_weights(model, tmp_path / "foreign")
    assert_weights(wing, model, weights)


@pytest.mark.parametrize("kind", ["batches", "windows", "list"])
def test_other_data_has_another_order(kind):
    def order(change):
        ids, targets = tiny_data(12)
        ids[5, 1] = (ids[5, 1] + change) % VOCAB
        if kind == "batches":
            return order_of(Batches(ids, targets, batch_size=6, seed=2))
        if kind == "windows":
            return order_of(Windows(ids.ravel(), length=T - 1, batch_size=6, seed=2))
        return order_of([(ids[:6], targets[:6]), (ids[6:], targets[6:])])

    assert order(0) == order(0)
    assert {name for name, x in order(0).items() if x != order(1)[name]} == {"data"}


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
    model = nano_model(wing)
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
    whole, _ = run(wing, tmp_path / "other", steps=4)
    assert_weights(wing, model, whole)  # what was learned is still in the model
    assert run(wing, path, steps=4, resume=True)[1].steps == 4


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
