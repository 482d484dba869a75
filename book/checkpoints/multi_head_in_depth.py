"""Where the page on many heads, in depth, gets to from 6,144 starts, good and bad.

    python book/checkpoints/multi_head_in_depth.py               # into the package
    python book/checkpoints/multi_head_in_depth.py some/folder   # into another folder

The page's cells run as they stand there, up to its trainer in PyTorch, which then
trains 512 models for each kind of start and number of heads: some minutes. The file,
multi-head-in-depth.safetensors, holds their R² by the name of the start: heads, seed.
"""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from page_cells import run_cells
from safetensors.numpy import save_file
from store import run_command

LAST = "def train(build, seeds"  # in the last of the page's cells that is needed
# How the parameters are drawn, and how they are trained then.
STARTS = {
    "ordinary": ({}, {}),
    "strong": ({"strength": 6.0}, {}),
    "times 1.5": ({}, {"factor": 1.5}),
    "times 3": ({}, {"factor": 3.0}),
}
HEADS = (2, 4, 8)
SEEDS = range(512)
TOGETHER = 128  # so many are trained at once


def task() -> dict[str, Any]:
    """Run the page's cells up to its trainer; return their names."""
    return run_cells("similarity/multi-head-in-depth.md", LAST)


def train(page: Mapping[str, Any], name: str, heads: int, seeds: range) -> np.ndarray:
    """Train one model for each seed; return their R²."""
    drawn, how = STARTS[name]
    build = partial(page["StockModel"], heads, **drawn)
    parts = [seeds[i : i + TOGETHER] for i in range(0, len(seeds), TOGETHER)]
    return np.concatenate([page["train"](build, s, **how)[0] for s in parts])


def main(folder: Path) -> None:
    """Train and write the file."""
    page = task()
    reached = {
        name: np.stack([train(page, name, heads, SEEDS) for heads in HEADS])
        for name in STARTS
    }
    metadata = {"rows": ", ".join(f"{heads} heads" for heads in HEADS)}
    save_file(reached, folder / "multi-head-in-depth.safetensors", metadata)


if __name__ == "__main__":
    run_command(main)
