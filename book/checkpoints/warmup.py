"""Train the models of the page on depth over a grid of settings, for its live figure.

    python book/checkpoints/warmup.py               # into book/_static/explore/weights
    python book/checkpoints/warmup.py some/folder   # into another folder

The page's cells run as they stand there, up to its model in NNX: language, batches,
schedule, and a model of six blocks. It is trained for 200 steps with each of two places
of the norm, three lengths of warm-up and six rates, from three starts, in about five
minutes on one core. The file, warmup.js, is a script. It holds the three losses that
are known beforehand, each run's loss on the held-out sentences at its end and, in
thousandths as 16-bit numbers in base64, the loss of the batch at each step. Another
machine rounds otherwise, and its runs drift away from these.
"""

import base64
import itertools
from pathlib import Path
from typing import Any

import numpy as np
from page_cells import run_cells
from store import SCRIPTS, run_command, write_script

import course_lib.nnx as cn

LAST = "class JReader("  # what the last cell defines
GRID = {
    "norm": ("pre", "post"),
    "warmup": (0, 20, 100),
    "rate": (0.001, 0.003, 0.01, 0.03, 0.1, 0.3),
    "start": (0, 1, 2),
}


def page() -> dict[str, Any]:
    """Run the page's cells up to its model; return their names."""
    return run_cells("transformer/depth.md", LAST, without=())


def train(names: dict[str, Any], norm: str, start: int, config: Any) -> Any:
    """One run: the loss of each step's batch, and that on the held-out sentences."""
    model = names["JReader"](norm, rngs=names["nnx"].Rngs(start))
    history = cn.fit(model, names["batches"], names["jnext_word"], config=config)
    return history.losses, names["jloss"](model)


def main(folder: Path) -> None:
    """Train and write the file."""
    names = page()
    runs = [
        train(names, norm, start, names["schedule"](warmup, rate))
        for norm, warmup, rate, start in itertools.product(*GRID.values())
    ]
    curves, ends = zip(*runs, strict=True)
    losses = np.rint(1000 * np.array(curves)).astype("<u2")
    known = ("unigram", "bigram", "entropy")
    given = GRID | {
        "known": {name: round(float(names[name]), 4) for name in known},
        "ends": [round(end, 4) for end in ends],
        "losses": base64.b64encode(losses.tobytes()).decode(),
    }
    write_script("warmup", given, folder)


if __name__ == "__main__":
    run_command(main, SCRIPTS)
