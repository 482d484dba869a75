"""Where AdamW and Muon end on the page on depth, at four rates and two lengths.

    python book/checkpoints/depth.py               # into course_lib/data/trained
    python book/checkpoints/depth.py some/folder   # into another folder

The page's cells run as they stand there, as many as its function that trains one run
needs; then it trains all of them, 64, in some three minutes. The file,
depth.safetensors, holds for each optimizer the loss on held-out sentences: length,
rate, start.
"""

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import torch
from page_cells import run_cell, run_cells
from safetensors.numpy import save_file
from store import run_command

PAGE, FIRST = "transformer/depth.md", "class Reader("  # its cells up to the model
THEN = ("def orthogonal(", "def race(")  # and those that train it otherwise
LENGTHS, RATES, STARTS = (50, 200), (0.003, 0.01, 0.03, 0.1), range(4)
KINDS = ("AdamW", "Muon")


def task() -> dict[str, Any]:
    """Run the page's cells that `race` needs; return their names."""
    names = run_cells(PAGE, FIRST)
    for words in THEN:
        run_cell(PAGE, words, names)
    return names


def main(folder: Path) -> None:
    """Train and write the file."""
    torch.set_num_threads(1)
    page = task()
    size, words = page["BATCH"], page["WORDS"] + 1
    texts = page["language"].sample(max(LENGTHS) * size, words, seed=1)
    batches = texts.reshape(-1, size, words)
    ends = {
        kind: np.array(
            [
                page["race"](kind, rate, batches[:length], start)
                for length, rate, start in itertools.product(LENGTHS, RATES, STARTS)
            ]
        ).reshape(len(LENGTHS), len(RATES), len(STARTS))
        for kind in KINDS
    }
    save_file(ends, folder / "depth.safetensors")


if __name__ == "__main__":
    run_command(main)
