"""The trainings of the page on assistants, all of them, from twenty starts in PyTorch.

    python book/checkpoints/assistants.py               # into course_lib/data/trained
    python book/checkpoints/assistants.py some/folder   # into another folder

The page's cells that define something run as they stand there. Then each start trains
its own GPT and whatever follows from it, with other random weights, another order of
the texts, other wordings and comparisons, and another fifty examples: some twenty
minutes. The file, assistants.safetensors, holds for each model the log-probabilities
of the page's six answers (start, phrase, right or wrong number, wording), what some of
them say (start, model, phrase, token), and what the page measures otherwise (start,
...).
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
from torch.nn.utils import parametrize

import course_lib.torch as ct
from course_lib.training import Batches

PAGE = "architectures/assistants.md"
CELLS = (  # of the page, each by words that no other has
    "import copy",
    "def pretrain(",
    "def phrases(",
    "def prompt(",
    "def rows(",
    "def answer_log_prob(",
    "def log_six(",
    "def say(",
    "def on_texts(",
    "class LoRALinear(",
    "def tune_lora(",
    "def end_nats(",
    "def margin(",
    "def comparisons(",
    "def prefer(",
    "def anchored_loss(",
)
STARTS = range(20)
BETAS = (0.3, 1.0, 3.0)


class Rows(nn.Module):
    """A table of which some rows are trained and the others stay: a parametrization."""

    table: torch.Tensor

    def __init__(self, table: torch.Tensor, rows: list[int]) -> None:
        super().__init__()
        self.rows = torch.tensor(rows)
        self.register_buffer("table", table.detach().clone())

    def forward(self, trained: torch.Tensor) -> torch.Tensor:
        return self.table.index_copy(0, self.rows, trained)

    def right_inverse(self, table: torch.Tensor) -> torch.Tensor:
        return table[self.rows].clone()


def task() -> dict[str, Any]:
    """Run the cells of the page that define something; return their names."""
    page: dict[str, Any] = {}
    for words in CELLS:
        run_cell(PAGE, words, page)
    return page


def tune_rows(page: Mapping[str, Any], gpt: nn.Module, seed: int) -> nn.Module:
    """Train LoRA as the page does, and of the table the rows of the three marks."""
    torch.manual_seed(seed + 1)
    model = copy.deepcopy(gpt).requires_grad_(False)
    model = page["replace_linear"](model, nn.Linear, page["wrap"])
    marks = [page["USER"], page["ASSISTANT"], page["END"]]
    rows = Rows(model.tokens.weight, marks)
    parametrize.register_parametrization(model.tokens, "weight", rows)
    model.tokens.parametrizations.weight.original.requires_grad_(True)
    batches = page["demonstrations"](page["train"], seed)
    batches = Batches(*batches, batch_size=32, seed=seed)
    run = page["cosine"](150, 0.01)
    ct.fit(model, batches, page["answer_loss"], config=run)
    return model


def tuned(page: Mapping[str, Any], gpt: nn.Module, seed: int) -> dict[str, nn.Module]:
    """The models that come of one GPT by instruction tuning."""
    tune, train = page["tune"], page["train"]
    fifty = train[50 * seed :][:50]
    torch.manual_seed(seed)
    untrained = ct.GPT(page["config"])
    return {
        "tuned": tune(copy.deepcopy(gpt), train, seed),
        "fifty": tune(copy.deepcopy(gpt), fifty, seed),
        "fifty, untrained": tune(untrained, fifty, seed),
        "LoRA": page["tune_lora"](gpt, False, seed),
        "LoRA, rows": tune_rows(page, gpt, seed),
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
        "divided, beta 0.3": longer(pairs, 0.3),
        "unanimous": longer(agreed, 1.0),
        "anchored": longer(agreed, 1.0, loss=page["anchored_loss"]),
    }


def run(page: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """Train everything from one start."""
    gpt = page["pretrain"](seed)
    models = {"pre-trained": gpt} | tuned(page, gpt, seed)
    own = page["demonstrations"](page["train"][50 * seed :][:50], seed)
    with torch.no_grad():
        on_own = page["answer_loss"](models["fifty"], *map(torch.from_numpy, own))
    kinds = ("LoRA", "LoRA, rows", "LoRA, table")
    models |= preferred(page, models["tuned"], seed)
    answers = {name: page["log_six"](model) for name, model in models.items()}
    return answers | {
        "said": [page["say"](models[name], page["heard"]) for name in page["SPEAKERS"]],
        "continued": page["continued"](gpt),
        "asked": [page["asked"](gpt, n) for n in range(3)],
        "fifty themselves": on_own.item(),
        "texts": [page["on_texts"](model) for model in (gpt, models["tuned"])],
        "ends": [page["end_nats"](models[kind]) for kind in kinds],
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
