"""The stored weights of BERT, of the run that the chapter begins; and its contests."""

import dataclasses

import numpy as np
import pytest
from book_scripts import as_stored, cell, stored_run
from safetensors.numpy import load_file

from course_lib import data
from course_lib.config import BERTConfig, TrainConfig

pytest.importorskip("torch")
pytest.importorskip("jax")  # the page's first cell imports both
pytest.importorskip("sklearn")


@pytest.fixture(scope="module")
def history():
    return stored_run(data.trained("bert"))


@pytest.fixture(scope="module")
def page(command):
    return command.task(load_file(data.trained("bert")))


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


def test_the_file_has_every_draw_and_every_start(command, page, history):
    draws = len(command.DRAWS)
    for name, found in history["contest"].items():
        sizes = ["256"] if name == "the same for longer" else map(str, command.SIZES)
        assert {n: len(marks) for n, marks in found.items()} == dict.fromkeys(
            sizes, draws
        ), name
    assert set(history["recipes"]) == set(page["RECIPES"])
    for found in history["recipes"].values():
        assert np.array(found).shape == (len(command.STARTS), 2)
        assert len(np.unique(found)) == 2 * len(command.STARTS)  # no two runs are one


# An accuracy is a count of a thousand pairs, some of which another processor may judge
# otherwise; draws are several hundredths apart.
@pytest.mark.parametrize(("n", "draw"), [(16, 3), (64, 7)])
def test_a_draw_comes_out_as_the_file_says(command, page, history, n, draw):
    again = page["compete"](n, command.DRAWS[draw])
    assert len(again) == 4
    for name, mark in again.items():
        assert abs(mark - history["contest"][name][str(n)][draw]) < 0.03, name


@pytest.mark.slow
def test_longer_training_comes_out_as_the_file_says(command, page, history):
    again = page["compete"](256, command.DRAWS[2])
    assert len(again) == 5
    for name, mark in again.items():
        assert abs(mark - history["contest"][name]["256"][2]) < 0.05, name


@pytest.mark.slow
def test_a_recipe_comes_out_as_the_file_says(command, page, history):
    for name, shown in page["RECIPES"].items():
        again = page["by_recipe"](shown, command.STARTS[1])
        np.testing.assert_allclose(again, history["recipes"][name][1], atol=0.1)


@pytest.mark.slow
def test_the_command_trains_the_model_again(command, history):
    """On another processor rounding grows over 12,000 steps: not to the last digit."""
    _, again = command.train(command.RUN, command.COOL)
    np.testing.assert_allclose(again["losses"], history["losses"], atol=0.1)
    assert abs(again["evals"][-1] - history["evals"][-1]) < 0.02
