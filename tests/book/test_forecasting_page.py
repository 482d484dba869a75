"""The page on forecasting calls Chronos, which it doesn't run: here its cell runs.

Once with a stand-in that answers as the package documents, and once with the package
itself, where it is installed, and a tiny model with random weights.
"""

import re
import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
import torch
from book_scripts import page

from course_lib import baselines, data

AT, HORIZON, JOBLESS = range(150, 154), 8, 2


def shown() -> str:
    """The code that the page shows."""
    (code,) = re.findall(r"```python\n(.*?)```", page("forecasting"), re.DOTALL)
    return code


def raced(code: str) -> baselines.Backtest:
    """Run it among the names of the page; return its backtest."""
    runs = []

    def race(method):
        y = data.macro().values
        runs.append(baselines.backtest(method, y, AT, HORIZON))
        return runs[0]

    walk = baselines.backtest(baselines.random_walk, data.macro().values, AT, HORIZON)
    exec(code, {"race": race, "walk": walk, "jobless": JOBLESS})
    return runs[0]


class RandomWalk:
    """Answers as a pipeline of Chronos-2: lists of tensors, a group each."""

    def predict_quantiles(self, inputs, prediction_length):
        last = [torch.as_tensor(group)[:, -1:] for group in inputs]
        median = [at.expand(-1, prediction_length) for at in last]
        return [m[..., None].expand(-1, -1, 9) for m in median], median


def test_its_cell_is_a_method_of_the_race(monkeypatch, capsys):
    chronos = ModuleType("chronos")
    loader = SimpleNamespace(from_pretrained=lambda name, device_map: RandomWalk())
    monkeypatch.setattr(chronos, "BaseChronosPipeline", loader, raising=False)
    monkeypatch.setitem(sys.modules, "chronos", chronos)
    run = raced(shown())
    assert run.forecasts.shape == (len(AT), HORIZON, 4)
    y = data.macro().values
    np.testing.assert_allclose(run.forecasts[:, 3], y[list(AT)], rtol=1e-6)
    assert abs(float(capsys.readouterr().out) - 1) < 1e-6


@pytest.mark.slow  # where the package is installed, which it isn't at the gate
def test_its_cell_calls_the_package(tmp_path):
    chronos2 = pytest.importorskip("chronos.chronos2")
    levels = [n / 10 for n in range(1, 10)]
    config = chronos2.config.Chronos2CoreConfig(
        d_model=16, d_kv=8, d_ff=32, num_layers=1, num_heads=2,
        chronos_config={
            "context_length": 64, "input_patch_size": 8, "input_patch_stride": 8,
            "output_patch_size": 8, "max_output_patches": 2, "quantiles": levels,
            "use_reg_token": True,
        },
    )  # fmt: skip
    config.architectures = ["Chronos2Model"]
    config.chronos_pipeline_class = "Chronos2Pipeline"
    chronos2.Chronos2Model(config).save_pretrained(tmp_path)
    code = shown().replace("amazon/chronos-2", str(tmp_path))
    run = raced(code)
    assert run.forecasts.shape == (len(AT), HORIZON, 4)
    assert np.isfinite(run.forecasts).all()
