"""What sixteen networks write that the page on sequence to sequence trains in NNX.

    python book/checkpoints/seq2seq.py               # into course_lib/data/trained
    python book/checkpoints/seq2seq.py some/folder   # into another folder

The page's cells run as they stand there, up to the texts of its contest; then the
page's transformer and Bahdanau's network are trained from eight starts each, some
minutes. The file, seq2seq.safetensors, holds their translations of the page's 700
numbers as ids: start, number, token.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
from flax import nnx
from page_cells import run_cells
from safetensors.numpy import save_file
from store import run_command

import course_lib.nnx as cn
from course_lib.training import Batches

LAST = "def train_table("  # in the last of the page's cells that is needed
RATES = {"Bahdanau": 0.02, "transformer": 0.006}  # best of 0.003, 0.006, 0.01, 0.02
WIDTH = 46  # of Bahdanau's network, which then is nearly as large
STARTS = range(8)


def task() -> dict[str, Any]:
    """Run the page's cells up to the contest; return their names."""
    return run_cells("architectures/seq2seq.md", LAST, without=())


def train(page: Mapping[str, Any], kind: str, seed: int):
    """Train one network as the page trains its transformer; return how it writes."""
    PAD, V = page["PAD"], page["V"]

    def mask(source):
        return cn.padding_mask_from_ids(source, PAD)

    def bahdanau_loss(model, source, *target):
        return page["jloss"](partial(model, source_mask=mask(source)), source, *target)

    def by_bahdanau(model, texts):
        ids = jnp.asarray(page["to_ids"](texts, page["S"]))
        tokens = {"start_token": page["START"], "stop_token": page["END"]}
        new = {"max_new_tokens": page["T"], "source_mask": mask(ids)}
        return page["to_text"](cn.translate(model, ids, **tokens, **new))

    rngs, order = nnx.Rngs(seed), Batches(*page["train"], batch_size=32, seed=seed)
    config = replace(page["settings"], learning_rate=RATES[kind], evaluate_every=None)
    if kind == "Bahdanau":
        model = cn.RecurrentSeq2Seq(V, V, WIDTH, rngs=rngs)
        loss, write = bahdanau_loss, by_bahdanau
    else:
        model = page["JSeq2Seq"](V, rngs=rngs)
        loss, write = page["jloss"], page["jtranslate"]
    cn.fit(model, order, loss, config=config)
    return partial(write, model)


def write(page: Mapping[str, Any], kind: str, seed: int) -> np.ndarray:
    """Train one network, and let it write: ids, with padding behind the end."""
    task = page["task"]
    texts = train(page, kind, seed)([*task.random.sources, *task.combinations.sources])
    ids = page["to_ids"]([f"{text} <end>" for text in texts], page["T"] + 1)
    assert page["to_text"](ids.tolist()) == texts
    return ids


def main(folder: Path) -> None:
    """Train and write the file."""
    page = task()
    said = {
        kind: np.stack([write(page, kind, seed) for seed in STARTS]).astype(np.uint8)
        for kind in RATES
    }
    save_file(said, folder / "seq2seq.safetensors")


if __name__ == "__main__":
    run_command(main)
