"""Checkpoints: runs that go on exactly, in either wing, from files that are whole."""

import dataclasses
import os

import numpy as np
import pytest
from tiny import summed_loss, tiny_class, tiny_data, tiny_model
from wings import assert_close

from course_lib.config import TrainConfig
from course_lib.training.batches import Batches
from course_lib.training.checkpoint import load_run

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
    model = tiny_model(wing, dropout) if model is None else model
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
    unbroken, whole = run(wing, tmp_path / "other.safetensors", dropout=0.3)
    run(wing, path, steps=4, dropout=0.3)
    # A model that was made otherwise: all that matters is in the file.
    fresh = wing.make(type(unbroken), 0.3, seed=9)
    fresh, resumed = run(
        wing, path, model=wing.cast(fresh, "float64"), dropout=0.3, resume=True
    )
    assert resumed == whole  # each loss, rate and length, bit for bit
    weights = wing.lib.get_weights(unbroken)
    for name, w in wing.lib.get_weights(fresh).items():
        assert (w == weights[name]).all()
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
    for name, w in wing.lib.get_weights(model).items():
        assert (w == seen[1][name]).all()
    other = tiny_model(wing)
    wing.lib.load_weights(other, path)  # the best ones, not the last
    for name, w in wing.lib.get_weights(other).items():
        assert (w == seen[1][name]).all()


def counting_class(wing):
    """The small model with a number that is no parameter: 5, and 1 for each call."""
    Tiny = tiny_class(wing.name)
    if wing.name == "torch":
        import torch

        class Counting(Tiny):
            def __init__(self):
                super().__init__()
                self.register_buffer("calls", torch.tensor(5.0))

            def forward(self, ids):
                self.calls += 1
                return super().forward(ids)

        return Counting
    from flax import nnx

    class Counting(Tiny):
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


@pytest.mark.parametrize("direction", [1, -1])
def test_a_run_goes_on_in_the_other_wing(both, tmp_path, direction):
    here, there = both[::direction]
    path = tmp_path / "run.safetensors"
    _, whole = run(here, tmp_path / "other.safetensors")
    run(here, path, steps=4)
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
        assert ours.keys() == theirs.keys() == model_paths(there, model)
        for name in ours:
            assert_close(ours[name], theirs[name])
    # Only its own framework can train this model, and it is what the file holds.
    for name, values in there.lib.get_weights(model).items():
        np.testing.assert_array_equal(values, ends[0].weights[name])


def model_paths(wing, model):
    return wing.lib.get_weights(model).keys()


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
        model = there.make(tiny_class(there.name), 0.5, seed=seed)
        model = there.cast(model, "float64")
        _, history = run(there, copy, steps=4, model=model, resume=True, **same)
        ends.append(history.losses)
    assert ends[0] == ends[1]  # from the run's seed and the step, not the model's
    assert len({*ends[0], *first.losses}) == 6


@pytest.mark.parametrize("direction", [1, -1])
def test_weights_cross_without_a_rounding(both, tmp_path, direction):
    here, there = both[::direction]
    path = tmp_path / "weights.safetensors"
    first, second = (tiny_model(w, dtype="float32") for w in (here, there))
    weights = {n: w + 1 for n, w in here.lib.get_weights(first).items()}
    here.lib.set_weights(first, weights)
    here.lib.save_weights(first, path)
    there.lib.load_weights(second, path)
    for name, w in there.lib.get_weights(second).items():
        assert (w == here.lib.get_weights(first)[name]).all()
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


def test_an_interrupted_write_leaves_the_last_whole_file(wing, tmp_path, monkeypatch):
    path = tmp_path / "run.safetensors"
    run(wing, path, steps=2)
    before = path.read_bytes()

    def power_cut(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", power_cut)
        with pytest.raises(KeyboardInterrupt):
            run(wing, path, steps=4, resume=True)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == [path.name]  # and nothing half done beside it
    run(wing, path, steps=4, resume=True)


def test_an_interrupted_run_leaves_its_newest_weights_in_the_model(wing, tmp_path):
    path = tmp_path / "run.safetensors"

    def stop(model):
        raise KeyboardInterrupt

    model = tiny_model(wing)
    with pytest.raises(KeyboardInterrupt):
        run(wing, path, model=model, evaluate_every=5, evaluate=stop)
    finished, _ = run(wing, path, steps=5)
    weights = wing.lib.get_weights(finished)
    for name, w in wing.lib.get_weights(model).items():
        assert (w == weights[name]).all()


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


def test_the_length_of_a_cosine_is_part_of_the_run(wing, tmp_path):
    path = tmp_path / "run.safetensors"
    run(wing, path, steps=5, schedule="cosine")
    with pytest.raises(ValueError, match=r"steps \(saved 5, now 7\)"):
        run(wing, path, steps=7, schedule="cosine", resume=True)


def test_a_file_that_is_no_run_is_refused_in_the_same_words(wing, tmp_path):
    missing, pickle, half, weights, foreign = (
        tmp_path / name for name in ("missing", "pickle", "half", "weights", "foreign")
    )
    pickle.write_bytes(b"\x80\x04\x95 not safetensors at all")
    run(wing, half, steps=1)
    half.write_bytes(half.read_bytes()[:-9])
    wing.lib.save_weights(tiny_model(wing), weights)
    safetensors.save_file({"w": np.ones(3)}, foreign)
    for path, message in (
        (missing, "there must be a file to read: .*missing"),
        (pickle, "must be a safetensors file, and whole"),
        (half, "must be a safetensors file, and whole"),
        (weights, "must hold a training run.*course_lib weights 1.*load_weights"),
        (foreign, "must hold a training run.*another kind"),
    ):
        with pytest.raises(ValueError, match=message):
            run(wing, path, resume=True)
    with pytest.raises(ValueError, match=r"Not expected: w\. "):
        wing.lib.load_weights(tiny_model(wing), foreign)
    with pytest.raises(ValueError, match=r"needs a folder that exists.*mkdir"):
        wing.lib.save_weights(tiny_model(wing), tmp_path / "no" / "folder")


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
    with pytest.raises(ValueError, match=r"Missing: k_proj\.bias.*Not expected: att"):
        wing.lib.load_weights(other, path)
    with pytest.raises(ValueError, match=r"Missing: k_proj\.bias.*Not expected: att"):
        wing.lib.fit(
            other,
            data(),
            summed_loss(wing),
            config=dataclasses.replace(CONFIG, steps=2),
            checkpoint=path,
            resume=True,
        )
    for name, w in wing.lib.get_weights(other).items():
        assert (w == before[name]).all()
