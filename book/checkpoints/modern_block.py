"""Where the race on the page about today's block ends, from sixteen starts each.

    python book/checkpoints/modern_block.py               # into course_lib/data/trained
    python book/checkpoints/modern_block.py some/folder   # into another folder

The page's cells run as they stand there, up to the function that trains a variant;
then it trains each one, and each of the six changes taken from the model that has them
all, at both rates: 448 trainings, some ten minutes. Three of them train four times as
long from four starts, at the lower rate. The file, modern-block.safetensors, holds for
each variant how far above the floor it ended: rate, start; of the longer ones, start.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from page_cells import run_cells
from safetensors.numpy import save_file
from store import run_command

from course_lib.config import GPTConfig

LAST = "def excess("  # in the last of the page's cells that is needed
RATES, STARTS = (0.01, 0.03), range(16)
LONGER, LONG_STARTS, LONG = ("GPT-2", "RoPE", "all six"), range(4), 480


def task() -> dict[str, Any]:
    """Run the page's cells up to `excess`; return their names."""
    return run_cells("architectures/modern-block.md", LAST)


def all_variants(page: Mapping[str, Any]) -> dict[str, GPTConfig]:
    """The page's variants, and what is left of the last one without each change."""
    old, today = (page["variants"][name] for name in ("GPT-2", "all six"))
    without = {
        f"without {name}": replace(today, **{f: getattr(old, f) for f in fields})
        for name, fields in page["CHANGES"].items()
    }
    return page["variants"] | without


def main(folder: Path) -> None:
    """Train and write the file."""
    torch.set_num_threads(1)
    page = task()
    ends = {
        name: np.array(
            [[page["excess"](config, seed, rate) for seed in STARTS] for rate in RATES]
        )
        for name, config in all_variants(page).items()
    }
    for name in LONGER:
        config = page["variants"][name]
        again = [page["excess"](config, seed, steps=LONG) for seed in LONG_STARTS]
        ends[f"{name}, {LONG} steps"] = np.array(again)
    save_file(ends, folder / "modern-block.safetensors")


if __name__ == "__main__":
    run_command(main)
