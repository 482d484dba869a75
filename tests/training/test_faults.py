"""Faults: divergence, and ids out of range."""

import itertools
import json
import math
from dataclasses import asdict

import numpy as np
import pytest
from models import MODELS
from tiny import (
    PAD,
    VOCAB,
    assert_weights,
    nano_model,
    summed_loss,
    tiny_data,
    tiny_gpt,
)
from wings import ALL as ALL_WINGS
from wings import WINGS, get_wing

from course_lib.checks import checking_values
from course_lib.config import GPTConfig, TrainConfig
from course_lib.training import TrainingStopped
from course_lib.training.checkpoint import load_run

pytest.importorskip("safetensors")


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


# Divergence


@pytest.mark.parametrize(
    ("chunk", "value"), [(1, math.nan), (8, math.inf), (50, math.nan)]
)
def test_a_step_that_diverges_changes_nothing_and_ends_the_run(wing, chunk, value):
    model, short = nano_model(wing, 0.3), nano_model(wing, 0.3)
    said = r"after 21 of 40 steps: the loss of step 21 was (nan|inf)\. .*before that"
    with pytest.warns(TrainingStopped, match=said):
        history = diverge(wing, model, bad={21: value, 22: value}, chunk=chunk)
    assert history.steps == 22
    assert history.diverged
    assert history.stopped.startswith("the loss of step 21 was ")
    # Bit for bit the model of a run that ends before that step.
    good = diverge(wing, short, bad={}, steps=21, chunk=chunk)
    assert history.losses[:-1] == good.losses
    assert_weights(wing, model, short)


def test_a_gradient_that_diverges_ends_the_run_too(wing):
    if wing.name == "torch":
        from torch import sqrt
    else:
        from jax.numpy import sqrt

    def loss(model, ids, targets, weight):
        total, count = summed_loss(wing)(model, ids, targets)
        root = sqrt(((weight.sum() - 1) * total) ** 2)  # 0, and its slope 0 / 0
        return total + root, count

    model, start = nano_model(wing), nano_model(wing)
    with pytest.warns(TrainingStopped, match=r"the gradient's norm of step 0 was nan"):
        history = diverge(wing, model, bad={}, loss=loss)
    assert math.isfinite(history.losses[0])
    assert_weights(wing, model, start)


def test_a_run_that_diverges_never_touches_the_good_checkpoint(wing, tmp_path):
    path = tmp_path / "run.safetensors"
    model, whole = nano_model(wing, 0.3), nano_model(wing, 0.3)
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
    assert_weights(wing, model, whole)


def test_with_early_stopping_a_diverged_model_gets_its_best_weights(wing):
    answers, seen = iter([2.0, 1.0, 3.0, 4.0]), []

    def evaluate(model):
        seen.append(wing.lib.get_weights(model))
        return next(answers)

    model = nano_model(wing)
    config = TrainConfig(steps=40, evaluate_every=5, patience=9, learning_rate=0.02)
    with pytest.warns(TrainingStopped, match="the weights of its best evaluation"):
        wing.lib.fit(
            model,
            batches_with({17: math.nan}),
            weighted_loss(wing),
            config=config,
            evaluate=evaluate,
        )
    assert_weights(wing, model, seen[1])


def test_a_run_that_does_not_diverge_warns_of_nothing(wing):
    assert not diverge(wing, nano_model(wing), bad={}, steps=3).diverged


@pytest.mark.usefixtures("converts_small_floats")
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_weights_in_half_precision_are_refused_with_the_way_out(wing, dtype):
    model = nano_model(wing, dtype=dtype)
    said = rf'got \S+ in {dtype}\..*precision="bfloat16"'
    with pytest.raises(ValueError, match=said):
        wing.lib.fit(model, [tiny_data(6)], summed_loss(wing))


def test_weights_in_16_bits_may_rest_beside_those_that_are_trained():
    torch, lib = pytest.importorskip("torch"), pytest.importorskip("course_lib.torch")
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Linear(3, 1))
    model[0].half().requires_grad_(False)

    def loss(model, x):
        return model[1](model[0](x.half()).float()).mean()

    lib.fit(model, [np.ones((4, 2))], loss, config=TrainConfig(steps=1))


def test_whole_numbers_cannot_be_trained():
    nnx, lib = pytest.importorskip("flax.nnx"), pytest.importorskip("course_lib.nnx")
    layer = lib.QuantizedLinear(nnx.Linear(2, 3, rngs=nnx.Rngs(0)))
    with pytest.raises(
        ValueError, match=r"got codes in int8\. A quantized model writes"
    ):
        lib.fit(layer, [np.ones((4, 2))], lambda model, x: model(x).mean())


# Kinds of numbers


IDS = ["uint8", "int8", "uint16", "int16", "int32", "uint32", "uint64"]


@pytest.mark.parametrize("dtype", IDS)
def test_ids_of_any_whole_numbers_train_alike(dtype):
    wing, (ids, targets) = get_wing("torch"), tiny_data(6)
    ids, targets = (np.where(a < 0, 0, a) for a in (ids, targets))
    expected = wing.lib.fit(
        nano_model(wing),
        [(ids, targets)],
        summed_loss(wing),
        config=TrainConfig(steps=2),
    )
    batch = (ids.astype(dtype), targets.astype(dtype))
    model = nano_model(wing)
    found = wing.lib.fit(model, [batch], summed_loss(wing), config=TrainConfig(steps=2))
    assert found.losses == expected.losses
    mean = wing.lib.mean_loss(model, [batch], summed_loss(wing))
    assert mean == wing.lib.mean_loss(model, [(ids, targets)], summed_loss(wing))


@pytest.mark.parametrize("dtype", ["float16", "float64"])
def test_a_series_of_any_fractions_is_cast_to_the_weights(dtype):
    wing = get_wing("torch")
    series = np.arange(12.0).reshape(4, 3)
    losses = []
    for x in (series.astype("float32"), series.astype(dtype)):
        layer = wing.make(wing.lib.linear, 3, 1)
        batches, loss = [x], lambda model, x: (model(x) ** 2).mean()
        config = TrainConfig(steps=3)
        losses.append(wing.lib.fit(layer, batches, loss, config=config).losses)
        wing.lib.mean_loss(layer, batches, loss)
    assert losses[0] == losses[1]


@pytest.mark.parametrize("dtype", IDS)
def test_a_table_is_looked_up_with_ids_of_any_whole_numbers(dtype):
    wing = get_wing("torch")
    table = wing.make(wing.lib.Embedding, VOCAB, 3)
    ids = np.array([[1, 2]])
    got = wing.numpy(table(wing.array(ids.astype(dtype))))
    np.testing.assert_array_equal(got, wing.numpy(table(wing.array(ids))))


def test_numpys_numbers_make_the_same_configuration():
    whole, fraction = {"steps": 3, "seed": 1}, {"learning_rate": 0.5, "eps": 0.25}
    numpys = {k: np.int64(v) for k, v in whole.items()}
    numpys |= {k: np.float32(v) for k, v in fraction.items()}
    config = TrainConfig(**numpys, betas=(np.float32(0.5), np.float64(0.75)))
    assert config == TrainConfig(**whole, **fraction, betas=(0.5, 0.75))
    json.dumps(asdict(config))
    sizes = {"vocab_size": 5, "max_len": 7, "d_model": 6, "n_layers": 1, "n_heads": 3}
    numpys = {k: np.int32(v) for k, v in sizes.items()}
    config = GPTConfig(**numpys, norm_eps=np.float32(0.5))
    assert config == GPTConfig(**sizes, norm_eps=0.5)
    json.dumps(asdict(config))
    with pytest.raises(ValueError, match=r"n_heads must be a whole number.* got 0"):
        GPTConfig(**numpys | {"n_heads": np.int64(0)})


ALLOWED = {"ids": "between 0 and 10, ", "targets": ".*ignore_index=-100: "}
MISTAKES = [
    (name, where, bad, step)
    for name in WINGS
    for where, bad, step in itertools.product(ALLOWED, (VOCAB, -1), (0, 4))
    if name == "torch" or ALL_WINGS or (bad, step) == (VOCAB, 4)
]


@pytest.mark.parametrize(("name", "where", "bad", "step"), MISTAKES)
def test_an_id_out_of_range_gets_the_same_words(name, where, bad, step):
    wing, (ids, targets) = get_wing(name), tiny_data(6)
    assert (targets == PAD).any()  # which stays allowed
    broken = {"ids": ids.copy(), "targets": targets.copy()}
    broken[where][2, 3] = bad
    model = tiny_gpt(wing, n_layers=1)
    batches = [(ids, targets)] * step + [(broken["ids"], broken["targets"])]
    words = rf"{where} must lie {ALLOWED[where]}.*got {bad} at \[2, 3\]"
    with pytest.raises(ValueError, match=words):
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
    built, inputs = model.build(wing, n_layers=1), model.draw(draw)
    inputs[place][1, 2] = -1
    with (
        checking_values(),
        pytest.raises(
            ValueError,
            match=rf"{called}\w* must lie between 0 and 12, .*-1 at \[1, 2\]",
        ),
    ):
        model.call(wing, built, inputs)
    with pytest.raises(ValueError, match=r"ids must lie between 0 and 12, .*\[1, 2\]"):
        model.call(wing, built, inputs)  # its table looks, too


def test_ids_of_numpy_are_named_in_pytorch(no_hook):
    torch_wing = get_wing("torch")
    table = torch_wing.make(torch_wing.lib.Embedding, 5, 3)
    with pytest.raises(ValueError, match=r"ids must be a torch.Tensor: got numpy"):
        table(np.array([[1, 2]]))


def test_in_compiled_code_an_id_out_of_range_spoils_a_number():
    """It can't raise an error."""
    nnx = pytest.importorskip("flax.nnx")
    table = get_wing("nnx").make(get_wing("nnx").lib.Embedding, 5, 3)
    rows = nnx.jit(lambda table, ids: table(ids))(table, np.array([[4, 5], [-1, 0]]))
    np.testing.assert_array_equal(np.isnan(rows[..., 0]), [[0, 1], [1, 0]])
