"""The eight ViTs whose tables a page reads: those that its own lines train."""

import numpy as np
import pytest
from book_scripts import as_stored, cell, stored_run

from course_lib import data

pytest.importorskip("torch")
pytest.importorskip("jax")  # the page's first cell imports both

FILE = "vit-in-depth"


@pytest.fixture(scope="module")
def page(command):
    return command.task()


@pytest.fixture(scope="module")
def history():
    return stored_run(data.trained(FILE))


@pytest.fixture(scope="module")
def stored(page):
    """The models as the page loads them, without the trainings below."""
    lines, below, _ = cell(FILE, "stored = nn.ModuleDict()").partition("\n\n")
    assert below
    names = dict(page)
    exec(lines, names)
    assert names["vits"] == list(names["stored"]["still"])
    assert names["patient"] == list(names["stored"]["patient"])
    assert names["moving"] == list(names["stored"]["moving"])
    return names["stored"]


def test_the_page_loads_as_many_of_each_run_as_it_says(page, stored, history):
    assert history["model"] == as_stored(page["config"])
    sizes = {name: n for name, (n, _) in history["runs"].items()}
    assert {name: len(models) for name, models in stored.items()} == sizes


def test_the_models_misread_what_the_file_says(command, page, stored, history):
    again = command.errors(page, stored)
    assert again.keys() == history["errors"].keys()
    for name, found in again.items():  # a tie may round the other way: one image
        np.testing.assert_allclose(found, history["errors"][name], atol=0.2)


@pytest.mark.parametrize(("name", "place"), [("still", 3), ("patient", 1)])
def test_the_runs_of_still_pictures_are_told_apart(stored, name, place):
    """No run was stored under the name of another, nor a split under another's."""
    tables = [m.positions.table.weight for models in stored.values() for m in models]
    mine = stored[name][place].positions.table.weight
    assert sum(bool((mine == table).all()) for table in tables) == 1


def test_the_runs_are_those_of_the_page(command, page, history):
    assert history["runs"] == command.runs(page)


def test_the_first_steps_are_those_of_the_page(command, page, history):
    again = command.losses(page, command.train(page, steps=command.FEW))
    assert again.keys() == history["first"].keys()
    for name, found in again.items():
        np.testing.assert_allclose(found, history["first"][name], rtol=1e-4)


@pytest.mark.slow
def test_the_command_makes_the_file_again(command, history, tmp_path):
    """On another processor rounding grows over the steps: not to the last digit."""
    command.main(tmp_path)
    again = stored_run(tmp_path / f"{FILE}.safetensors")
    for name, errors in history["errors"].items():
        np.testing.assert_allclose(again["errors"][name], errors, atol=5)
