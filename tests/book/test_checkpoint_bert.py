"""The stored weights of BERT: the run that the chapter begins, and no other."""

import dataclasses

import numpy as np
import pytest
from book_scripts import as_stored, cell, load, stored_run

from course_lib import data
from course_lib.config import BERTConfig, TrainConfig

pytest.importorskip("torch")


@pytest.fixture(scope="module")
def command():
    return load("bert", "checkpoints")


@pytest.fixture(scope="module")
def history():
    return stored_run(data.trained("bert"))


def test_the_file_is_of_the_command(command, history):
    assert history["model"] == as_stored(command.MODEL)
    assert history["run"] == as_stored(command.RUN)
    assert history["cool"] == as_stored(command.COOL)
    assert len(history["losses"]) == command.LIVE
    assert history["eval_steps"][-1] == command.RUN.steps + command.COOL.steps


def test_the_chapter_begins_the_run_of_the_command(command):
    names = {
        "BERTConfig": BERTConfig,
        "TrainConfig": TrainConfig,
        "T": command.T,
        "ct": command.ct,
        "data": data,
        "dataclasses": dataclasses,
        "in_turn": lambda *_, **__: [],
        "language": data.grammar(),
        "np": np,
        "test_rows": (),
        "wide_start": lambda *_: {},
    }
    exec(cell("bert", "reader = BERTConfig("), names)
    assert names["reader"] == command.MODEL
    assert names["whole"] == command.RUN
    assert names["LIVE"] == command.LIVE
    for mine, theirs in zip(names["gaps"](3), command.batch(3), strict=True):
        assert (mine == theirs).all()


def test_the_first_steps_are_those_of_the_file(command, history):
    model = command.ct.BERTForMaskedLM(command.MODEL)
    command.ct.set_weights(model, command.start(command.MODEL))
    few = dataclasses.replace(command.RUN, steps=3, evaluate_every=None)
    run = command.ct.fit(model, command.batch, command.loss, config=few)
    np.testing.assert_allclose(run.losses, history["losses"][:3], rtol=1e-4)


def test_the_weights_have_the_loss_that_the_file_says(wing, command, history):
    rows = data.masked_segments(command.N_TEST, command.T, seed=1)[1]
    model = wing.make(wing.lib.BERTForMaskedLM, command.MODEL)
    wing.lib.load_weights(model, data.trained("bert"))

    def loss(model, ids, types, targets):
        return wing.lib.cross_entropy_sum(model(ids, token_types=types), targets)

    found = wing.lib.mean_loss(model, [rows], loss)
    assert abs(found - history["evals"][-1]) < 1e-4


@pytest.mark.slow
def test_the_command_makes_the_file_again(command, history, tmp_path):
    """On another processor rounding grows over 12,000 steps: not to the last digit."""
    command.main(tmp_path)
    again = stored_run(tmp_path / "bert.safetensors")
    np.testing.assert_allclose(again["losses"], history["losses"], atol=0.1)
    assert abs(again["evals"][-1] - history["evals"][-1]) < 0.02
