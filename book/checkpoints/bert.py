"""Pre-train BERT to the end, as the chapter begins to, and hold its contests.

    python book/checkpoints/bert.py               # into course_lib/data/trained
    python book/checkpoints/bert.py some/folder   # into another folder

The chapter makes the first `LIVE` steps of this run in front of the reader. The command
makes all of it, with PyTorch on one thread, in about four minutes: `RUN`, whose rate
falls with the root of the steps, and then `COOL`, in which it falls to zero. Then the
page's cells run as they stand there, up to the function that lets methods compete for
labels, which is called for each of `DRAWS`; and the function of an exercise trains on
two recipes from each of `STARTS`, another five minutes. The file, bert.safetensors,
holds the weights and, as JSON in its metadata, how the loss went and what was found.
"""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from page_cells import run_cell, run_cells
from store import run_command, store

import course_lib.torch as ct
from course_lib import data
from course_lib.config import BERTConfig, TrainConfig
from course_lib.training.batches import in_turn

T, BATCH, N_TEST, SPREAD, LIVE = 16, 64, 1000, 3, 200
PAGE, LAST = "architectures/bert.md", "def compete("  # in the last cell that is needed
SIZES, DRAWS = (16, 64, 256), range(10, 26)
STARTS = (0, 2, 3)  # (1, 0) would draw some of the test texts, whose seed is 1
MODEL = BERTConfig(
    vocab_size=data.grammar().vocab_size,
    max_len=T + 3,
    d_model=64,
    n_layers=2,
    n_heads=4,
)
RUN = TrainConfig(
    steps=8000,
    learning_rate=4e-3,
    schedule="inverse_sqrt",
    warmup=200,
    evaluate_every=50,
)
COOL = TrainConfig(
    steps=4000,
    learning_rate=RUN.learning_rate * (RUN.warmup / RUN.steps) ** 0.5,
    schedule="cosine",
    evaluate_every=50,
)


def batch(step: int) -> tuple[np.ndarray, ...]:
    """New texts for every step, so none is ever read twice."""
    return data.masked_segments(BATCH, T, seed=(0, step))[1]


def loss(model, ids, types, targets):
    """Surprise at the hidden words alone: a sum, and their number."""
    return ct.cross_entropy_sum(model(ids, token_types=types), targets)


def start(config: BERTConfig) -> dict[str, np.ndarray]:
    """BERT's start, three times as wide: it was made for models that are wider."""
    torch.manual_seed(0)
    fresh = ct.get_weights(ct.BERTForMaskedLM(config))
    return {name: SPREAD * a if a.ndim > 1 else a for name, a in fresh.items()}


def train(run: TrainConfig, cool: TrainConfig):
    """The whole run.

    Args:
        run: The first part.
        cool: The second; its batches follow on those of the first.

    Returns:
        The model, and how the loss went: of the test texts at `eval_steps`, and of the
        first `LIVE` batches.
    """
    model = ct.BERTForMaskedLM(MODEL)
    ct.set_weights(model, start(MODEL))
    test = in_turn(*data.masked_segments(N_TEST, T, seed=1)[1], batch_size=250)

    def judge(model):
        return ct.mean_loss(model, test, loss)

    first = ct.fit(model, batch, loss, config=run, evaluate=judge)
    last = ct.fit(
        model, lambda i: batch(run.steps + i), loss, config=cool, evaluate=judge
    )
    return model, {
        "model": asdict(MODEL),
        "run": asdict(run),
        "cool": asdict(cool),
        "losses": first.losses[:LIVE],
        "eval_steps": first.eval_steps + [run.steps + i for i in last.eval_steps],
        "evals": first.evals["loss"] + last.evals["loss"],
    }


def task(weights: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """Run the page's cells up to `compete`; return their names.

    Args:
        weights: The trained model's: fine-tuning begins with its encoder.
    """
    page = run_cells(PAGE, LAST, without=("nnx", "claims"))
    run_cell(PAGE, "def by_recipe(", page)
    mine = page["renamed"](weights).items()
    page["encoder"] = {name: a for name, a in mine if name.startswith("bert.")}
    return page


def contests(page: Mapping[str, Any]) -> dict[str, Any]:
    """What each method makes of each draw of labels, and each recipe of each start.

    Returns:
        Accuracies as method, number of labels, draw; and losses as recipe, start, and
        where [MASK] or the word itself is shown.
    """
    found: dict[str, dict[int, list[float]]] = {}
    for n in SIZES:
        for seed in DRAWS:
            for name, mark in page["compete"](n, seed).items():
                found.setdefault(name, {}).setdefault(n, []).append(mark)
    recipes = {
        name: [page["by_recipe"](shown, seed) for seed in STARTS]
        for name, shown in page["RECIPES"].items()
    }
    return {"contest": found, "recipes": recipes}


def main(folder: Path) -> None:
    """Train and write the file."""
    torch.set_num_threads(1)
    model, history = train(RUN, COOL)
    history |= contests(task(ct.get_weights(model)))
    store(model, history, folder / "bert.safetensors")


if __name__ == "__main__":
    run_command(main)
