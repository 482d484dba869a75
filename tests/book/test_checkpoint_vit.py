"""The stored weights of ViT: the run that the page describes, and no other."""

import dataclasses

import numpy as np
import pytest
from book_scripts import as_stored, cell, stored_run

from course_lib import data
from course_lib.config import ViTConfig

torch = pytest.importorskip("torch")


@pytest.fixture(scope="module")
def history():
    return stored_run(data.trained("vit"))


@pytest.fixture(scope="module")
def config(command, history):
    """How the stored run was trained."""
    rate = command.best(history["rates"]["ViT"])
    return command.settings(command.LONG, rate)


@pytest.fixture(scope="module")
def page(command):
    """What the page's cells with the data and the networks define."""
    names = {
        "ViTConfig": ViTConfig,
        "ct": command.ct,
        "data": data,
        "dataclasses": dataclasses,
        "nn": torch.nn,
        "np": np,
        "torch": torch,
        "digits": None,
        "standardized": type,  # whatever: only the functions are wanted
    }
    for words in ("def drawn_images(", "def small_cnn(", "def shifted(", "class ViT("):
        exec(cell("vit", words).removeprefix(":tags: [torch]"), names)
    return names


def sizes(model):
    return [tuple(p.shape) for p in model.parameters()]


def test_the_file_is_of_the_command(command, history, config):
    assert history["model"] == as_stored(command.MODEL)
    assert history["run"] == as_stored(config)
    assert len(history["losses"]) == command.FIRST
    assert history["eval_steps"][-1] == config.steps


def test_the_rates_were_chosen_inside_their_ranges(command, history):
    for name, tried in command.RATES.items():
        assert list(history["rates"][name]) == [f"{rate:g}" for rate in tried]
        assert min(tried) < command.best(history["rates"][name]) < max(tried)


def test_the_race_is_complete(command, history):
    assert [(row["model"], row["images"], row["start"]) for row in history["race"]] == [
        (name, command.BATCH * steps, start)
        for name in command.BUILD
        for steps in command.BUDGETS[name]
        for start in command.STARTS
    ]


def test_the_digits_table_is_complete(command, history):
    for rows in history["digits"].values():
        for what in ("plain", "shifts"):
            cells = np.array(rows[what]["errors"])
            assert cells.shape == (len(command.N_TRAIN), len(command.SPLITS))
    for name in command.NETWORKS:
        for what in ("plain, longer", "shifts, longer"):
            longer = history["digits"][name][what]
            assert longer["options"] == command.LONGER
            shape = (len(command.N_TRAIN), len(command.SPLITS))
            assert np.array(longer["errors"]).shape == shape


def test_the_page_describes_the_run_of_the_command(command, page):
    shown, labels = page["test_images"], page["test_labels"]
    stored = command.images(command.N_TEST, command.TEST)
    np.testing.assert_array_equal(shown, stored[0])
    np.testing.assert_array_equal(labels, stored[1])
    for size, n_classes in ((command.SIZE, 4), (8, 10)):
        theirs = command.cnn(size, n_classes)
        assert sizes(page["small_cnn"](size, n_classes)) == sizes(theirs)
    ours, theirs = page["ViT"](8, 2, 1, 10), command.digit_vit()
    assert sorted(sizes(ours)) == sorted(sizes(theirs))


def test_the_page_shifts_as_the_command_does(command, page, rng):
    images = rng.standard_normal((7, 1, 8, 8))
    mine, theirs = (
        shifted(images, np.random.default_rng(3))
        for shifted in (page["shifted"], command.shifted)
    )
    np.testing.assert_array_equal(mine, theirs)
    assert mine.shape == images.shape


def test_the_first_steps_are_those_of_the_file(command, history, config):
    torch.manual_seed(0)
    model = command.vit()
    few = dataclasses.replace(config, steps=3, schedule="constant", evaluate_every=None)
    run = command.ct.fit(model, command.batch, command.loss, config=few)
    np.testing.assert_allclose(run.losses, history["losses"][:3], rtol=1e-3)


def test_the_weights_name_the_shapes(wing, command, history):
    model = wing.make(wing.lib.ViT, command.MODEL)
    wing.lib.load_weights(model, data.trained("vit"))
    images, labels = command.images(command.N_TEST, command.TEST)
    wing.cast(model, "float32")
    guesses = wing.numpy(model(wing.array(images))).argmax(-1)
    wrong = (guesses != labels).mean()
    assert wrong < 0.01
    assert abs(wrong - history["evals"]["errors"][-1]) < 0.002


@pytest.mark.slow
def test_the_command_makes_the_run(command, history, config):
    """The stored run, minutes long; loss to 0.02 nats, errors to one in a hundred."""
    torch.set_num_threads(1)
    _, again = command.train(command.vit, config)
    assert again.eval_steps == history["eval_steps"]
    for name, tolerance in (("loss", 0.02), ("errors", 0.01)):
        found, stored = again.evals[name][-1], history["evals"][name][-1]
        assert found == pytest.approx(stored, abs=tolerance)
