"""How much data a head needs, for the page on learned peers.

    python book/checkpoints/peers.py               # into course_lib/data/trained
    python book/checkpoints/peers.py some/folder   # into another folder

The page's cells run as they stand there, up to its table. Then five economies are
drawn, and from each the first 5, 10, … 160 quarters are learned from: by least squares
and by boosted trees on hand-made averages, by the logit that knows the features, and by
a head in each framework. How long heads and trees train is chosen among three, on the
last fifth of what they learn from.
The file, peers.safetensors, holds R² on the same 80 later quarters: economy, size.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from page_cells import run_cells
from safetensors.numpy import save_file
from sklearn.ensemble import HistGradientBoostingRegressor
from store import run_command

import course_lib.nnx as cn
import course_lib.torch as ct
from course_lib import data
from course_lib.baselines import conditional_logit

ECONOMIES, SIZES, STEPS = range(5), (5, 10, 20, 40, 80, 160), (80, 320, 1280)
TREES = (50, 150, 450)
Quarters = Sequence[tuple[np.ndarray, np.ndarray]]


def heads(page: dict[str, Any]) -> dict[str, Callable[[Quarters, int], Callable]]:
    """For each framework, what trains the page's head and returns its score."""

    def in_torch(train: Quarters, steps: int) -> Callable[[Quarters], float]:
        torch.manual_seed(0)
        model = page["PeerForecast"](n_features=9)
        batches = (list(train) * steps)[:steps]
        ct.fit(model, batches, page["loss"], learning_rate=0.05)
        return lambda quarters: page["r2"](model, quarters)

    def in_nnx(train: Quarters, steps: int) -> Callable[[Quarters], float]:
        model = page["JPeerForecast"](n_features=9, rngs=page["nnx"].Rngs(0))
        batches = (list(train) * steps)[:steps]
        cn.fit(model, batches, page["jloss"], learning_rate=0.05)
        return lambda quarters: page["jr2"](model, quarters)

    return {"torch": in_torch, "nnx": in_nnx}


def tuned(fit: Callable, train: Quarters, test: Quarters) -> float:
    """A head that trains as long as the last fifth of its quarters likes best."""
    cut = len(train) * 4 // 5
    steps = max(STEPS, key=lambda steps: fit(train[:cut], steps)(train[cut:]))
    return fit(train, steps)(test)


def by_trees(design: np.ndarray, y: np.ndarray, size: int) -> float:
    """Boosted trees, as many as the last fifth likes best; their score later on."""

    def fit(n: int, last: int) -> HistGradientBoostingRegressor:
        trees = HistGradientBoostingRegressor(
            max_iter=n, learning_rate=0.05, max_leaf_nodes=8, random_state=0
        )
        width = design.shape[-1]
        return trees.fit(design[:last].reshape(-1, width), y[:last].ravel())

    def score(trees: HistGradientBoostingRegressor, rows: slice) -> float:
        x, truth = design[rows], y[rows].ravel()
        return data.r_squared(truth, trees.predict(x.reshape(len(truth), -1)))

    cut = size * 4 // 5
    best = max(TREES, key=lambda n: score(fit(n, cut), slice(cut, size)))
    return score(fit(best, size), slice(160, None))


def main(folder: Path) -> None:
    """Train and write the file."""
    torch.set_num_threads(1)
    page = run_cells("similarity/peers.md", "jtable = rows", without=())
    found = {name: [] for name in ("averages", "trees", "torch", "nnx", "logit")}
    for seed in ECONOMIES:
        economy = data.economy(seed=seed, n_quarters=240).largest_first
        panel, later = page["as_panel"](economy), economy[160:]
        design = page["designs"](economy)["and large firms lead"]
        for size in SIZES:
            forecast = page["by_regression"](design, economy, size)
            score = data.r_squared(later.next_return, forecast)
            found["averages"].append(score)
            found["trees"].append(by_trees(design, economy.next_return, size))
            a = economy[:size]
            logit = conditional_logit(a.inputs, a.pairs, a.last_return, a.next_return)
            forecast = logit.predict(later.inputs, later.pairs, later.last_return)
            found["logit"].append(data.r_squared(later.next_return, forecast))
            quarters = page["to_quarters"](panel, page["columns"], last=size - 1)
            for name, fit in heads(page).items():
                found[name].append(tuned(fit, quarters[:size], quarters[160:]))
    shape = (len(ECONOMIES), len(SIZES))
    tables = {name: np.array(r2s).reshape(shape) for name, r2s in found.items()}
    save_file(tables | {"quarters": np.array(SIZES)}, folder / "peers.safetensors")


if __name__ == "__main__":
    run_command(main)
