"""Train the GPT that the page on rewards begins with: it imitates clerks who add.

    python book/checkpoints/rewards.py               # into course_lib/data/trained
    python book/checkpoints/rewards.py some/folder   # into another folder

The page's cells run as they stand there, up to the log-probability of an answer; then
the model is trained in double precision, with PyTorch on one thread, in some seconds.
The file, rewards.safetensors, holds the weights and, as JSON in its metadata, how the
loss went.
"""

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import jupytext
import torch
from safetensors.numpy import save_file

import course_lib.torch as ct
from course_lib.config import GPTConfig, TrainConfig
from course_lib.training import Batches

ROOT = Path(__file__).resolve().parents[2]
LAST = "def log_prob("  # in the last of the page's cells that is needed
BATCH, N_TEST = 128, 2000
MODEL = GPTConfig(vocab_size=12, max_len=7, d_model=32, n_layers=2, n_heads=4)
RUN = TrainConfig(
    steps=250, learning_rate=0.01, schedule="cosine", warmup=20, evaluate_every=50
)


def task() -> dict[str, Any]:
    """Run the page's cells up to `log_prob`; return their names."""
    page = jupytext.read(ROOT / "book" / "architectures" / "rewards.md", fmt="md:myst")
    names: dict[str, Any] = {}
    for cell in page.cells:
        tags = cell.metadata.get("tags", [])
        if cell.cell_type != "code" or {"nnx", "colab-setup"} & set(tags):
            continue
        exec(cell.source, names)
        if LAST in cell.source:
            return names
    raise ValueError(f"a cell of the page must judge an answer: none says {LAST!r}.")


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
    save_file(
        ct.get_weights(model),
        folder / "rewards.safetensors",
        {"format": "course_lib weights 1", "history": json.dumps(history)},
    )


if __name__ == "__main__":
    target = ROOT / "course_lib" / "data" / "trained"
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else target)
