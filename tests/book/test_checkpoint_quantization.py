"""The stored weights that the chapter on quantization rounds: those of the command."""

import dataclasses

import numpy as np
import pytest
from book_scripts import as_stored, cell, stored_run

from course_lib import data
from course_lib.config import GPTConfig

pytest.importorskip("torch")


@pytest.fixture(scope="module")
def history():
    return stored_run(data.trained("quantization"))


def test_the_file_is_of_the_command(command, history):
    assert history["model"] == as_stored(command.MODEL)
    assert history["run"] == as_stored(command.RUN)
    assert history["eval_steps"][-1] == command.RUN.steps


def test_the_chapter_loads_that_model_and_judges_it_on_that_text(command):
    names = {"GPTConfig": GPTConfig, "ct": command.ct, "data": data, "np": np}
    names |= {"torch": command.torch, "layers": lambda model: []}
    code = cell("quantization", "config = GPTConfig(")
    exec(code.removeprefix(":tags: [hide-input]"), names)
    assert names["config"] == command.MODEL
    np.testing.assert_array_equal(names["rows"].numpy(), command.rows())


def test_the_first_steps_are_those_of_the_file(command, history):
    # The warm-up is that of the whole run, and only a constant rate may end in it.
    few = dataclasses.replace(
        command.RUN, steps=3, schedule="constant", evaluate_every=3
    )
    _, again = command.train(few)
    np.testing.assert_allclose(again["losses"], history["losses"][:3], rtol=1e-4)


def test_the_weights_have_the_loss_that_the_file_says(wing, command, history):
    model = wing.make(wing.lib.GPT, command.MODEL)
    wing.lib.load_weights(model, data.trained("quantization"))

    def loss(model, rows):
        return wing.lib.cross_entropy_sum(model(rows[:, :-1]), rows[:, 1:])

    found = wing.lib.mean_loss(model, [(command.rows(),)], loss)
    assert abs(found - history["evals"][-1]) < 1e-4


@pytest.mark.slow
def test_the_command_makes_the_file_again(command, history, tmp_path):
    """On another processor rounding grows over the steps: not to the last digit."""
    command.main(tmp_path)
    again = stored_run(tmp_path / "quantization.safetensors")
    np.testing.assert_allclose(again["losses"], history["losses"], atol=0.1)
    assert abs(again["evals"][-1] - history["evals"][-1]) < 0.03
