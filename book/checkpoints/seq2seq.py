"""What Bahdanau's network writes on the page about encoder and decoder, in NNX.

    python book/checkpoints/seq2seq.py               # into course_lib/data/trained
    python book/checkpoints/seq2seq.py some/folder   # into another folder

The page's cells run as they stand there, up to its training; then the network of the
page on recurrence in depth is trained on the same batches from three starts, some
minutes. The file,
seq2seq.safetensors, holds its translations of the page's 700 numbers as ids: start,
number, token.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from page_cells import run_cell, run_cells
from safetensors.numpy import save_file
from store import run_command

import course_lib.nnx as cn

LAST = "def arrays("  # in the last of the page's cells that is needed
RATE = 0.02  # best of 0.003, 0.006, 0.01, 0.02
WIDTH = 32  # then it is nearly as large as the page's model
STARTS = range(3)


def task() -> dict[str, Any]:
    """Run the page's cells up to its training; return their names."""
    return run_cells("architectures/seq2seq.md", LAST, without=())


def network(n_words: int, seed: int) -> nnx.Module:
    """Build the network of the page on recurrence in depth."""
    names: dict[str, Any] = {"cn": cn, "jax": jax, "jnp": jnp, "nnx": nnx}
    run_cell("transformer/recurrence-in-depth.md", "class JBahdanau", names)
    return names["JBahdanau"](n_words, WIDTH, rngs=nnx.Rngs(seed))


def write(page: Mapping[str, Any], seed: int) -> np.ndarray:
    """Train the network from one start, and let it write: ids, padded at the end."""
    pad, end, task = page["PAD"], page["END"], page["task"]

    def loss(model, source, reads, writes):
        logits, _ = model(source, reads, source != pad)
        return cn.cross_entropy(logits, writes, ignore_index=pad)

    @nnx.jit
    def likeliest(model, source, target):
        return model(source, target, source != pad)[0].argmax(axis=-1)

    order = page["Batches"](
        *page["arrays"](task.train.sources, task.train.targets), batch_size=32
    )
    model = network(page["N"], seed)
    batches = [order(step) for step in range(400)]
    cn.fit(model, batches, loss, learning_rate=RATE)
    sources = [*task.random.sources, *task.combinations.sources]
    ids = jnp.asarray(page["to_ids"](sources, page["S"]))
    rows = np.full((len(sources), page["T"] + 2), page["START"])
    for t in range(page["T"] + 1):
        rows[:, t + 1] = likeliest(model, ids, jnp.asarray(rows[:, :-1]))[:, t]
    ended = np.cumsum(rows == end, axis=1) > (rows == end)
    return np.where(ended, pad, rows)[:, 1:]


def main(folder: Path) -> None:
    """Train and write the file."""
    page = task()
    said = np.stack([write(page, seed) for seed in STARTS]).astype(np.uint8)
    save_file({"Bahdanau": said}, folder / "seq2seq.safetensors")


if __name__ == "__main__":
    run_command(main)
