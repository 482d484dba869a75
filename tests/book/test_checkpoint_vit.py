"""The stored weights of ViT: the run that the chapter begins, and no other."""

import dataclasses
import math

import numpy as np
import pytest
from book_scripts import as_stored, cell, load, stored_run

from course_lib import data
from course_lib.config import TrainConfig, ViTConfig

torch = pytest.importorskip("torch")


@pytest.fixture(scope="module")
def command():
    return load("vit", "checkpoints")


@pytest.fixture(scope="module")
def history():
    return stored_run(data.trained("vit"))


@pytest.fixture(scope="module")
def chapter(command):
    """What the chapter's cells with the data and the settings define."""
    names = {
        "TrainConfig": TrainConfig,
        "ViTConfig": ViTConfig,
        "ct": command.ct,
        "data": data,
        "dataclasses": dataclasses,
        "math": math,
        "torch": torch,
    }
    for words in ("def drawn_images(", "sharp = ViTConfig("):
        exec(cell("vit", words), names)
    return names


def test_the_file_is_of_the_command(command, history):
    assert history["model"] == as_stored(command.MODEL)
    assert history["run"] == as_stored(command.RUN)
    assert history["cool"] == as_stored(command.COOL)
    assert len(history["losses"]) == command.LIVE
    assert history["eval_steps"][-1] == command.RUN.steps + command.COOL.steps


def test_the_chapter_begins_the_run_of_the_command(command, chapter):
    assert chapter["sharp"] == command.MODEL
    assert chapter["whole"] == command.RUN
    assert chapter["LIVE"] == command.LIVE
    for mine, theirs in zip(chapter["batch"](3), command.batch(3), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    test = chapter["test_images"], chapter["test_labels"]
    for mine, theirs in zip(test, command.images(command.N_TEST, 1), strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_the_first_steps_are_those_of_the_file(command, chapter, history):
    model = command.ct.ViT(command.MODEL)
    command.ct.set_weights(model, chapter["start"])
    few = dataclasses.replace(command.RUN, steps=3, evaluate_every=None)
    run = command.ct.fit(model, command.batch, command.loss, config=few)
    np.testing.assert_allclose(run.losses, history["losses"][:3], rtol=1e-3)


def test_the_weights_name_the_shapes(wing, command, history):
    model = wing.make(wing.lib.ViT, command.MODEL)
    wing.lib.load_weights(model, data.trained("vit"))
    images, labels = command.images(command.N_TEST, 1)
    wing.cast(model, "float32")
    guesses = wing.numpy(model(wing.array(images))).argmax(-1)
    wrong = (guesses != labels).mean()
    assert wrong < 0.01
    assert abs(wrong - history["evals"]["errors"][-1]) < 0.002


@pytest.mark.slow
def test_the_command_makes_the_file(command, history, tmp_path):
    """All of it, minutes long; loss to 0.02 nats, errors to one image in a hundred."""
    command.main(tmp_path)
    again = stored_run(tmp_path / "vit.safetensors")
    assert again["eval_steps"] == history["eval_steps"]
    for name, tolerance in (("loss", 0.02), ("errors", 0.01)):
        found, stored = again["evals"][name][-1], history["evals"][name][-1]
        assert found == pytest.approx(stored, abs=tolerance)
