"""The stored weights that the page on rewards begins with: those of the command."""

import dataclasses

import numpy as np
import pytest
from book_scripts import as_stored, cell, stored_run

from course_lib import data
from course_lib.config import GPTConfig

pytest.importorskip("torch")
pytest.importorskip("jax")  # the page's first cell imports both


@pytest.fixture(scope="module")
def history():
    return stored_run(data.trained("rewards"))


def test_the_file_is_of_the_command(command, history):
    assert history["model"] == as_stored(command.MODEL)
    assert history["run"] == as_stored(command.RUN)
    assert history["eval_steps"][-1] == command.RUN.steps


def test_the_page_loads_that_model_in_double_precision(command):
    names = {"GPTConfig": GPTConfig, "ct": command.ct, "data": data, "WIDTH": 4}
    exec(cell("rewards", "config = GPTConfig("), names)
    assert names["config"] == command.MODEL
    for name, weights in command.ct.get_weights(names["base"]).items():
        assert weights.dtype == np.float64, name
        assert (weights != weights.astype(np.float32)).any(), name


def test_the_first_steps_are_those_of_the_file(command, history):
    # The warm-up is that of the whole run, and only a constant rate may end in it. To
    # seven digits: another processor differs in the ninth.
    few = dataclasses.replace(
        command.RUN, steps=3, schedule="constant", evaluate_every=3
    )
    _, again = command.train(few)
    np.testing.assert_allclose(again["losses"], history["losses"][:3], rtol=1e-7)


def test_the_weights_have_the_loss_that_the_file_says(command, history):
    model = command.ct.GPT(command.MODEL).double()
    command.ct.load_weights(model, data.trained("rewards"))
    page = command.task()
    with command.torch.no_grad():
        ids = command.torch.from_numpy(page["examples"](command.N_TEST, seed=1))
        found = -page["log_prob"](model, ids).mean()
    assert abs(float(found) - history["evals"][-1]) < 1e-9


@pytest.mark.slow
def test_the_command_makes_the_file_again(command, history, tmp_path):
    """On another processor rounding grows over the steps: not to the last digit."""
    command.main(tmp_path)
    again = stored_run(tmp_path / "rewards.safetensors")
    np.testing.assert_allclose(again["losses"], history["losses"], rtol=1e-6)
    assert abs(again["evals"][-1] - history["evals"][-1]) < 0.03
