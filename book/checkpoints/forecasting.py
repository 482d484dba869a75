"""What the page on forecasting has no time to train: its sweeps, from many starts.

    python book/checkpoints/forecasting.py               # into course_lib/data/trained
    python book/checkpoints/forecasting.py some/folder   # into another folder

The page's own functions train, as they stand there; four minutes. The file,
forecasting.safetensors, holds

    ablation, PyTorch    and NNX: test error by variant and start
    settings             error against the random walk's on the earlier origins, by
                         setting, start, quarters ahead and series (PyTorch)
    race, PyTorch        and NNX: forecasts of unemployment, by start, origin and
                         quarters ahead
    race, 50 steps       the same for the setting that is best at unemployment alone on
                         the earlier origins (PyTorch)
    histories            error against the random walk's in the economy that is a VAR,
                         by number of histories and draw (PyTorch)
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from page_cells import run_cell
from safetensors.numpy import save_file
from store import run_command

CELLS = (  # words of each of the page's cells that is needed
    "from dataclasses import",
    "class Forecaster(",
    "class JForecaster(",
    "P, H = 32, 16",
    "def as_float32(",
    "def squared_error(",
    "def jsquared_error(",
    "cycle = waves |",
    "variants = {",
    "def silence(",
    "def jsilence(",
    "PAST = AHEAD = ",
    "def train(",
    "def jtrain(",
    "def origins(",
    "def fit_var(",
    "def learn_from(",
)
ABLATION_STARTS = SETTING_STARTS = range(8)
RACE_STARTS = range(12)
DRAWS = range(2, 14)  # 1 draws the histories that all are tested on
CHOSEN = (200, 0.3)  # steps and dropout in the race
RUNNER_UP = (50, 0.3)


def task() -> dict[str, Any]:
    """Run the cells of the page that define what is trained here; return the names."""
    names: dict[str, Any] = {}
    for words in CELLS:
        run_cell("architectures/forecasting.md", words, names)
    return names


def tried(page: Mapping[str, Any], setting: tuple[int, float], seed: int) -> np.ndarray:
    """Errors on the earlier origins against the random walk's: quarters, series."""
    walk = page["look_back"](page["baselines"].random_walk, page["earlier"])
    fit = page["transformer"](seed, *setting)
    return page["look_back"](fit, page["earlier"], 16).relative_to(walk)


def race(
    page: Mapping[str, Any], kind: str, seed: int, setting: tuple[int, float] = CHOSEN
) -> np.ndarray:
    """Forecasts of unemployment from one start: origin, quarters ahead."""
    fit = page["transformer" if kind == "PyTorch" else "jtransformer"]
    made = page["look_back"](fit(seed, *setting), page["at"], 16)
    return made.forecasts[..., page["jobless"]]


def main(folder: Path) -> None:
    """Train and write the file."""
    torch.set_num_threads(1)
    page = task()
    by_kind = {"PyTorch": page["train_and_test"], "NNX": page["jtrain_and_test"]}
    found: dict[str, Any] = {
        f"ablation, {kind}": [
            [train(name, seed) for seed in ABLATION_STARTS] for name in page["variants"]
        ]
        for kind, train in by_kind.items()
    }
    found["settings"] = [
        [tried(page, setting, seed) for seed in SETTING_STARTS]
        for setting in page["tried"]
    ]
    for kind in by_kind:
        found[f"race, {kind}"] = [race(page, kind, seed) for seed in RACE_STARTS]
    found["race, 50 steps"] = [
        race(page, "PyTorch", seed, RUNNER_UP) for seed in RACE_STARTS
    ]
    found["histories"] = [
        [page["learn_from"](n, seed) for seed in DRAWS] for n in page["lessons"]
    ]
    arrays = {name: np.array(values, np.float32) for name, values in found.items()}
    save_file(arrays, folder / "forecasting.safetensors")


if __name__ == "__main__":
    run_command(main)
