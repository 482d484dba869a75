"""Train what the page on ViT in depth has no time for, and race it to a CNN.

    python book/checkpoints/vit.py             # course_lib/data/trained/vit.safetensors
    python book/checkpoints/vit.py some/folder # the same file, elsewhere

With PyTorch on one thread, in twenty minutes. First `tune` chooses a learning rate
on validation images, for ViT and for a small CNN, each from four. Then comes `race`:
both models with several budgets of images, each budget a whole run with its own cosine
from the chosen rate to zero. Last comes the run of ViT whose weights are stored, with
twice the largest budget.

The file holds the weights and, as JSON in its metadata, how the errors went, what the
tuning found, and how the race ended.
"""

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import numpy as np
import torch
from store import run_command, store
from torch import nn

import course_lib.torch as ct
from course_lib import data
from course_lib.config import TrainConfig, ViTConfig

SIZE, NOISE, BATCH, N_TEST, FIRST = 16, 0.1, 64, 1000, 150
TEST, VALIDATION = 1, 2  # seeds of the images
CENTER, SPREAD = 0.1, 0.27  # of the pixels: about their mean and deviation
MODEL = ViTConfig(
    image_size=SIZE,
    patch_size=4,
    n_channels=1,
    n_classes=4,
    d_model=64,
    n_layers=3,
    n_heads=4,
)
RATES = {"ViT": (1e-3, 2e-3, 4e-3, 8e-3), "CNN": (4e-3, 8e-3, 16e-3, 32e-3)}
TUNED = {"ViT": 1000, "CNN": 400}  # steps of a run while the rate is chosen
BUDGETS = {"ViT": (1000, 2000, 4000), "CNN": (100, 200, 400, 800)}
STARTS, LONG = (0, 1), 8000  # steps of the run that is stored


def standardized(images: np.ndarray) -> np.ndarray:
    """Gray values with mean 0 and deviation 1, nearly."""
    return (images - CENTER) / SPREAD


def images(n: int, seed) -> tuple[np.ndarray, np.ndarray]:
    """Standardized images and what they show."""
    drawn = data.drawn_shapes(n, seed=seed, size=SIZE, noise=NOISE)
    return standardized(drawn.images), drawn.labels


def batch(step: int, start: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """New images for every step, so none is ever seen twice."""
    return images(BATCH, (10 * start, step))


def loss(model, images, labels):
    """Surprise at the class."""
    return ct.cross_entropy(model(images), labels)


def vit() -> nn.Module:
    """The vision transformer."""
    return ct.ViT(MODEL)


def cnn() -> nn.Module:
    """A small convolutional network."""
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(32, 32, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(32 * (SIZE // 4) ** 2, 4),
    )


BUILD = {"ViT": vit, "CNN": cnn}


def settings(steps: int, rate: float) -> TrainConfig:
    """One cosine, with a twentieth of the steps to warm up."""
    return TrainConfig(
        steps=steps,
        learning_rate=rate,
        schedule="cosine",
        warmup=steps // 20,
        evaluate_every=50,
    )


def train(build: Callable, config: TrainConfig, start: int = 0, seed: int = TEST):
    """One run.

    Args:
        build: Makes the model.
        config: How it is trained.
        start: Seed of its first weights and of its batches.
        seed: Of the images that it is judged on.

    Returns:
        The model and its history, with loss and share of errors on the images.
    """
    torch.manual_seed(start)
    model = build()
    x, y = map(torch.from_numpy, images(N_TEST, seed))

    def judge(model):
        logits = model(x)
        wrong = (logits.argmax(dim=-1) != y).double().mean()
        return {"loss": float(ct.cross_entropy(logits, y)), "errors": float(wrong)}

    draw = lambda step: batch(step, start)  # noqa: E731
    return model, ct.fit(model, draw, loss, config=config, evaluate=judge)


def tune(name: str) -> dict[str, float]:
    """Loss on the validation images at each rate, the mean over the starts."""
    found = {}
    for rate in RATES[name]:
        config = settings(TUNED[name], rate)
        runs = [train(BUILD[name], config, s, VALIDATION)[1] for s in STARTS]
        found[f"{rate:g}"] = float(np.mean([run.evals["loss"][-1] for run in runs]))
    return found


def best(found: dict[str, float]) -> float:
    """The rate with the lowest loss."""
    return float(min(found, key=lambda rate: found[rate]))


def race(name: str, rate: float) -> list[dict]:
    """Images seen and share of test errors at the end, for each budget and start."""
    rows = []
    for steps in BUDGETS[name]:
        for start in STARTS:
            _, run = train(BUILD[name], settings(steps, rate), start)
            rows.append(row(name, steps, start, run))
    return rows


def row(name: str, steps: int, start: int, run) -> dict:
    """What is kept of a run in the race."""
    errors = run.evals["errors"][-1]
    return {"model": name, "images": BATCH * steps, "start": start, "errors": errors}


def write(path: Path, model, run, rates: dict, rows: list[dict]) -> None:
    """The file of the stored run."""
    config = settings(LONG, best(rates["ViT"]))
    history = {
        "model": asdict(MODEL),
        "run": asdict(config),
        "losses": run.losses[:FIRST],
        "eval_steps": run.eval_steps,
        "evals": run.evals,
        "rates": rates,
        "race": rows,
    }
    store(model, history, path)


def main(folder: Path) -> None:
    """Choose the rates, race, and write the file."""
    torch.set_num_threads(1)
    rates = {name: tune(name) for name in BUILD}
    rows = [row for name in BUILD for row in race(name, best(rates[name]))]
    model, run = train(vit, settings(LONG, best(rates["ViT"])))
    write(folder / "vit.safetensors", model, run, rates, rows)


if __name__ == "__main__":
    run_command(main)
