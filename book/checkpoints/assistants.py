"""The trainings of the page on assistants, all of them, from twenty starts in PyTorch.

    python book/checkpoints/assistants.py               # into course_lib/data/trained
    python book/checkpoints/assistants.py some/folder   # into another folder

The page's cells that define something run as they stand there. Then each start trains
its own GPT and whatever follows from it, with other random weights, another order of
the texts, other wordings and comparisons: some fifteen minutes. The file,
assistants.safetensors, holds for each model the log-probabilities of the page's six
answers (start, phrase, right or wrong number, wording), what some of them say (start,
model, phrase, token), and what the page measures otherwise (start, ...).
"""

import copy
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from page_cells import run_cell
from safetensors.numpy import save_file
from store import run_command
from torch import nn

PAGE = "architectures/assistants.md"
CELLS = (  # of the page, each by words that no other has
    "import copy",
    "def pretrain(",
    "def phrases(",
    "def prompt(",
    "def continued(",
    "def rows(",
    "def answer_log_prob(",
    "def log_six(",
    "def say(",
    "def on_texts(",
    "class LoRALinear(",
    "def replace_linear(",
    "def tune_lora(",
    "def margin(",
    "def comparisons(",
    "def prefer(",
    "def anchored_loss(",
)
STARTS = range(20)
BETAS = (0.3, 1.0, 3.0)


def task() -> dict[str, Any]:
    """Run the cells of the page that define something; return their names."""
    page: dict[str, Any] = {}
    for words in CELLS:
        run_cell(PAGE, words, page)
    return page


def tuned(page: Mapping[str, Any], gpt: nn.Module, seed: int) -> dict[str, nn.Module]:
    """The models that come of one GPT by instruction tuning."""
    tune, train = page["tune"], page["train"]
    return {
        "tuned": tune(copy.deepcopy(gpt), train, seed),
        "LoRA": page["tune_lora"](gpt, False, seed),
        "LoRA, table": page["tune_lora"](gpt, True, seed),
    }


def preferred(
    page: Mapping[str, Any], assistant: nn.Module, seed: int
) -> dict[str, nn.Module]:
    """The models that come of an assistant by preference tuning."""
    pairs, agreed = (
        page["comparisons"](page["new_phrases"], seed, unanimous=same)
        for same in (False, True)
    )
    prefer = partial(page["prefer"], assistant, seed=seed)
    longer = partial(prefer, steps=200)
    return {
        **{f"beta {beta:g}": prefer(pairs, beta) for beta in BETAS},
        "divided": longer(pairs, 1.0),
        "unanimous": longer(agreed, 1.0),
        "anchored": longer(agreed, 1.0, loss=page["anchored_loss"]),
    }


def run(page: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """Train everything from one start."""
    gpt = page["pretrain"](seed)
    models = {"pre-trained": gpt} | tuned(page, gpt, seed)
    models |= preferred(page, models["tuned"], seed)
    answers = {name: page["log_six"](model) for name, model in models.items()}
    return answers | {
        "said": [page["say"](models[name], page["heard"]) for name in page["SPEAKERS"]],
        "continued": page["continued"](gpt),
        "texts": [page["on_texts"](model) for model in (gpt, models["tuned"])],
    }


def main(folder: Path) -> None:
    """Train and write the file."""
    torch.set_num_threads(1)
    page = task()
    runs = [run(page, seed) for seed in STARTS]
    found = {name: np.array([one[name] for one in runs]) for name in runs[0]}
    said = found.pop("said").astype(np.uint8)
    halves = {  # three digits are enough for the many
        name: x.astype(np.float16 if x.ndim == 4 else np.float32)
        for name, x in found.items()
    }
    save_file({"said": said, **halves}, folder / "assistants.safetensors")


if __name__ == "__main__":
    run_command(main)
