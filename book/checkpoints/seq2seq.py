"""What Bahdanau's network writes on the page about encoder and decoder, in NNX.

    python book/checkpoints/seq2seq.py               # into course_lib/data/trained
    python book/checkpoints/seq2seq.py some/folder   # into another folder

The page's cells run as they stand there, up to its training; then the network is
trained on the same batches from three starts, some minutes. The file,
seq2seq.safetensors, holds its translations of the page's 700 numbers as ids: start,
number, token.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
from flax import nnx
from page_cells import run_cells
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


def write(page: Mapping[str, Any], seed: int) -> np.ndarray:
    """Train the network from one start, and let it write: ids, padded at the end."""
    pad, n_words, task = page["PAD"], page["N"], page["task"]

    def mask(source):
        return cn.padding_mask_from_ids(source, pad)

    def loss(model, source, reads, writes):
        logits = model(source, reads, source_mask=mask(source))
        return cn.cross_entropy(logits, writes, ignore_index=pad)

    order = page["Batches"](
        *page["arrays"](task.train.sources, task.train.targets), batch_size=32
    )
    model = cn.RecurrentSeq2Seq(n_words, n_words, WIDTH, rngs=nnx.Rngs(seed))
    batches = [order(step) for step in range(400)]
    cn.fit(model, batches, loss, learning_rate=RATE)
    sources = [*task.random.sources, *task.combinations.sources]
    ids = jnp.asarray(page["to_ids"](sources, page["S"]))
    tokens = {"start_token": page["START"], "stop_token": page["END"]}
    new = {"max_new_tokens": page["T"], "source_mask": mask(ids)}
    rows = np.full((len(sources), page["T"] + 1), pad)
    for row, said in zip(rows, cn.translate(model, ids, **tokens, **new), strict=True):
        row[: len(said) + 1] = [*said, page["END"]]
    return rows


def main(folder: Path) -> None:
    """Train and write the file."""
    page = task()
    said = np.stack([write(page, seed) for seed in STARTS]).astype(np.uint8)
    save_file({"Bahdanau": said}, folder / "seq2seq.safetensors")


if __name__ == "__main__":
    run_command(main)
