"""Train the GPT that the page on rewards begins with: it imitates clerks who add.

    python book/checkpoints/rewards.py               # into course_lib/data/trained
    python book/checkpoints/rewards.py some/folder   # into another folder

The page's cells run as they stand there, up to the log-probability of an answer; then
the model is trained in double precision, with PyTorch on one thread, in some seconds.
The file, rewards.safetensors, holds the weights and, as JSON in its metadata, how the
loss went.
"""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from page_cells import run_cells
from store import run_command, store

import course_lib.torch as ct
from course_lib.config import GPTConfig, TrainConfig
from course_lib.training import Batches

LAST = "def log_prob("  # in the last of the page's cells that is needed
BATCH, N_TEST = 128, 2000
MODEL = GPTConfig(vocab_size=12, max_len=7, d_model=32, n_layers=2, n_heads=4)
RUN = TrainConfig(
    steps=250, learning_rate=0.01, schedule="cosine", warmup=20, evaluate_every=50
)


def task() -> dict[str, Any]:
    """Run the page's cells up to `log_prob`; return their names."""
    return run_cells("architectures/rewards.md", LAST)


def train(run: TrainConfig):
    """The whole run: the model, and how the loss went."""
    page = task()
    n_shown = BATCH * RUN.steps
    batches = Batches(page["examples"](n_shown, seed=0), batch_size=BATCH, seed=0)
    test = torch.from_numpy(page["examples"](N_TEST, seed=1))
    torch.manual_seed(0)
    model = ct.GPT(MODEL).double()

    def loss(model, ids):
        return -page["log_prob"](model, ids).mean()

    def judge(model):
        with torch.no_grad():
            return float(loss(model, test))

    history = ct.fit(model, batches, loss, config=run, evaluate=judge)
    return model, {
        "model": asdict(MODEL),
        "run": asdict(run),
        "losses": history.losses[:10],
        "eval_steps": history.eval_steps,
        "evals": history.evals["loss"],
    }


def main(folder: Path) -> None:
    """Train and write the file."""
    torch.set_num_threads(1)
    model, history = train(RUN)
    store(model, history, folder / "rewards.safetensors")


if __name__ == "__main__":
    run_command(main)
