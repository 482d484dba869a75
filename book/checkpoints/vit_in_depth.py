"""Train the eight ViTs whose tables the page on vision transformers in depth reads.

    python book/checkpoints/vit_in_depth.py               # course_lib/data/trained
    python book/checkpoints/vit_in_depth.py some/folder   # into another folder

The page's cells run as they stand there, up to `train_all`, and the one that says which
eight; then these are trained, with PyTorch on one thread, in about a minute. The file,
vit-in-depth.safetensors, holds the weights of all and, as JSON in its metadata, the
model, the runs, the test errors, and the test losses where a run has FEW steps.
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from page_cells import run_cell, run_cells
from store import run_command, store
from torch import nn

PAGE = "architectures/vit-in-depth.md"
FEW = 3
Models = Mapping[str, Iterable[nn.Module]]


def task() -> dict[str, Any]:
    """Run the cells that say what is trained, and how; return their names."""
    names = run_cells(PAGE, "def train_all(", without=("nnx", "claims"))
    run_cell(PAGE, "def at_random(", names)
    return names


def train(page: dict[str, Any], **options: Any) -> dict[str, list[nn.Module]]:
    """The eight models by the names of their runs; `options` go before the page's."""
    models = {}
    for name, (n, run) in page["RUNS"].items():
        some = page["splits"][:n]
        models[name] = page["train_all"](page["vit"], some, **{**run, **options})
    return models


def errors(page: dict[str, Any], models: Models) -> dict[str, list[float]]:
    """Percent of its split's test images that each model names wrongly."""
    return {
        name: page["errors"](each, page["splits"]).tolist()
        for name, each in models.items()
    }


def losses(page: dict[str, Any], models: Models) -> dict[str, list[float]]:
    """Loss of each model on its split's test images."""
    with torch.no_grad():
        return {
            name: [
                float(page["image_loss"](model, *map(torch.from_numpy, test)))
                for model, test in zip(each, tests(page), strict=False)
            ]
            for name, each in models.items()
        }


def tests(page: dict[str, Any]) -> list[tuple[np.ndarray, np.ndarray]]:
    """Each split's test images and what they show."""
    return [(found.test_images, found.test_labels) for found in page["splits"]]


def runs(page: dict[str, Any]) -> dict[str, list]:
    """On how many splits each run is made, and all that `train` is told, by name."""
    told = {
        name: [n, {**page["train"].__kwdefaults__, **run}]
        for name, (n, run) in page["RUNS"].items()
    }
    for _, options in told.values():
        options["change"] = getattr(options["change"], "__name__", None)
    return told


def main(folder: Path) -> None:
    """Train and write the file."""
    torch.set_num_threads(1)
    page = task()
    models = train(page)
    history = {
        "model": asdict(page["config"]),
        "runs": runs(page),
        "errors": errors(page, models),
        "first": losses(page, train(page, steps=FEW)),
    }
    lists = {name: nn.ModuleList(each) for name, each in models.items()}
    store(nn.ModuleDict(lists), history, folder / "vit-in-depth.safetensors")


if __name__ == "__main__":
    run_command(main)
