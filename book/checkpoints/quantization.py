"""Train the GPT that the chapter on quantization rounds.

    python book/checkpoints/quantization.py               # into course_lib/data/trained
    python book/checkpoints/quantization.py some/folder   # into another folder

Bytes of English, the prose of Python's documentation, with PyTorch on one thread in
about five minutes. The file, quantization.safetensors, holds the weights and, as JSON
in its metadata, how the loss went.
"""

from dataclasses import asdict
from pathlib import Path

import numpy as np
import torch
from store import run_command, store

import course_lib.torch as ct
from course_lib import data
from course_lib.config import GPTConfig, TrainConfig
from course_lib.training import Windows, in_turn

T, BATCH = 64, 16
MODEL = GPTConfig(
    vocab_size=256,
    max_len=T,
    d_model=64,
    n_layers=4,
    n_heads=4,
    position="rotary",
    dropout=0.1,
)
RUN = TrainConfig(
    steps=1800,
    learning_rate=5e-3,
    schedule="cosine",
    warmup=100,
    weight_decay=0.1,
    evaluate_every=250,
)


def text(part: str) -> np.ndarray:
    """The bytes of "train" or of "held_out"."""
    return np.frombuffer(getattr(data.english(), part).encode(), np.uint8).astype(int)


def rows() -> np.ndarray:
    """The held-out text in windows of T + 1 bytes, each with one that was a target."""
    ids = text("held_out")
    starts = np.arange(0, len(ids) - T, T)
    return ids[starts[:, None] + np.arange(T + 1)]


def loss(model, rows):
    """Surprise at the next byte: a sum, and the number of bytes."""
    return ct.cross_entropy_sum(model(rows[:, :-1]), rows[:, 1:])


def train(run: TrainConfig):
    """The whole run: the model, and how the loss went."""
    torch.manual_seed(0)
    model = ct.GPT(MODEL)
    batches = Windows(text("train"), length=T, batch_size=BATCH, seed=0)
    test = in_turn(rows(), batch_size=100)

    def judge(model):
        return ct.mean_loss(model, test, loss)

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
    store(model, history, folder / "quantization.safetensors")


if __name__ == "__main__":
    run_command(main)
