"""The stored sweeps of the page on forecasting: as its command finds them."""

from typing import Any

import jax
import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("flax")
pytest.importorskip("statsmodels")


@pytest.fixture(scope="module", autouse=True)
def as_on_the_page():
    """Random numbers are drawn in 32 bits, not in the 64 of the other tests."""
    jax.config.update("jax_enable_x64", False)
    yield
    jax.config.update("jax_enable_x64", True)


@pytest.fixture(scope="module")
def page(command, as_on_the_page):
    return command.task()


def test_the_file_has_every_training_of_every_sweep(command, page, stored):
    starts = len(command.RACE_STARTS)
    shapes: dict[str, Any] = {
        "settings": (4, len(command.SETTING_STARTS), page["AHEAD"], 4)
    }
    shapes["histories"] = (len(page["lessons"]), len(command.DRAWS))
    for kind in ("PyTorch", "NNX"):
        variants = len(page["variants"]), len(command.ABLATION_STARTS)
        shapes[f"ablation, {kind}"] = variants
        shapes[f"race, {kind}"] = (starts, len(page["at"]), page["AHEAD"])
    shapes["race, 50 steps"] = shapes["race, PyTorch"]
    assert {name: found.shape for name, found in stored.items()} == shapes
    for name in ("ablation, PyTorch", "ablation, NNX", "histories"):
        assert len(np.unique(stored[name])) == stored[name].size  # no two runs are one
    for name in ("race, PyTorch", "race, NNX"):
        assert len(np.unique(stored[name], axis=0)) == starts


# Some that the page doesn't run again.
def test_an_ablation_ends_where_the_file_says(page, stored):
    name = "one patch"
    place = list(page["variants"]).index(name), 5
    for kind, train in (("PyTorch", "train_and_test"), ("NNX", "jtrain_and_test")):
        found = page[train](name, place[1])
        assert abs(found - stored[f"ablation, {kind}"][place]) < 0.02


def test_a_setting_and_a_lesson_end_where_the_file_says(command, page, stored):
    found = command.tried(page, page["tried"][1], 3)
    assert np.abs(found - stored["settings"][1, 3]).mean() < 0.02
    found = page["learn_from"](100, command.DRAWS[4])
    assert abs(found - stored["histories"][2, 4]) < 0.02


@pytest.mark.parametrize("kind", ["PyTorch", "NNX"])
def test_forecasts_made_again_are_those_of_the_file(command, page, stored, kind):
    fit = page["transformer" if kind == "PyTorch" else "jtransformer"]
    found = page["look_back"](fit(7, *command.CHOSEN), page["at"][:16], 16)
    gap = found.forecasts[..., page["jobless"]] - stored[f"race, {kind}"][7, :16]
    assert np.abs(gap).max() < 0.1
