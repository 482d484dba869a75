"""Train what the page on vision transformers has no time for, and race it to a CNN.

    python book/checkpoints/vit.py             # course_lib/data/trained/vit.safetensors
    python book/checkpoints/vit.py some/folder # the same file, elsewhere

With PyTorch on one thread, in about half an hour. First `tune` chooses a learning rate
on validation images, for ViT and for a small CNN, each from four. Then comes `race`:
both models with several budgets of images, each budget a whole run with its own cosine
from the chosen rate to zero. Then comes the run of ViT whose weights are stored, with
twice the largest budget. Last comes `read_digits`, the table of errors on real
handwriting, with the training images as they are and shifted by up to a pixel; steps
and rate are chosen by `choose`, on images that are set aside from training. For the
networks the table also has runs that are longer than any that `choose` tries, all at
one rate.

The file holds the weights and, as JSON in its metadata, how the errors went, what the
tuning found, how the race ended, and the table.
"""

from collections.abc import Callable
from dataclasses import asdict, replace
from itertools import product
from operator import itemgetter
from pathlib import Path

import numpy as np
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC
from store import run_command, store
from torch import nn

import course_lib.torch as ct
from course_lib import data
from course_lib.config import TrainConfig, ViTConfig
from course_lib.training import Batches

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
SPLITS, N_TRAIN = (10, 11, 12, 13, 14), (100, 1200)
LONGER = {"steps": 2700, "learning_rate": 3e-3}  # at most 900 steps are tried


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


def stem(n_filters: int = 16) -> list[nn.Module]:
    """Two layers of filters and a pooling; the CNN and the hybrid begin with it."""
    return [
        nn.Conv2d(1, n_filters, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(n_filters, 2 * n_filters, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
    ]


def cnn(size: int = SIZE, n_classes: int = 4) -> nn.Module:
    """The convolutional network of the chapter."""
    last = 32 * (size // 4) ** 2
    layers = [nn.Conv2d(32, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)]
    return nn.Sequential(*stem(), *layers, nn.Flatten(), nn.Linear(last, n_classes))


def digit_vit(
    image_size: int = 8, patch_size: int = 2, n_channels: int = 1
) -> nn.Module:
    """ViT for digits."""
    config = ViTConfig(
        image_size=image_size,
        patch_size=patch_size,
        n_channels=n_channels,
        n_classes=10,
        d_model=32,
        n_layers=2,
        n_heads=4,
    )
    return ct.ViT(config)


def hybrid() -> nn.Module:
    """A ViT that reads what the filters found, one place a token."""
    return nn.Sequential(*stem(), digit_vit(image_size=4, patch_size=1, n_channels=32))


BUILD = {"ViT": vit, "CNN": cnn}
NETWORKS = {  # more than one where the size of the patches is chosen, too
    "CNN": [lambda: cnn(8, 10)],
    "ViT": [digit_vit, lambda: digit_vit(patch_size=4)],
    "hybrid": [hybrid],
}
LOGISTIC = {"C": [0.01, 0.1, 1]}
SUPPORT = {"C": [1, 10], "gamma": [0.003, 0.01, 0.03]}


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


def scaled(found: data.Digits) -> data.Digits:
    """Mean 0 and deviation 1, by the training images."""
    mean, deviation = found.images.mean(), found.images.std()
    return replace(
        found,
        images=(found.images - mean) / deviation,
        test_images=(found.test_images - mean) / deviation,
    )


def moved(padded: np.ndarray, down: int, right: int) -> np.ndarray:
    """The 8 by 8 pixels of an image from this corner on."""
    return padded[..., down : down + 8, right : right + 8]


def pad(images: np.ndarray) -> np.ndarray:
    """A border of paper, one pixel wide."""
    border = ((0, 0), (0, 0), (1, 1), (1, 1))
    return np.pad(images, border, constant_values=images.min())


def shifted(images: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Each image by up to a pixel, down or up and right or left."""
    places = rng.integers(0, 3, (len(images), 2))
    pairs = zip(pad(images), places, strict=True)
    return np.stack([moved(image, *place) for image, place in pairs])


def learn(build: Callable, found: data.Digits, seed: int, *, shifts: bool, **options):
    """A network trained on a split; the seed is for its start and its batches."""
    torch.manual_seed(seed)
    model = build()
    batches = Batches(found.images, found.labels, batch_size=32, seed=seed)

    def draw(step):
        x, y = batches(step)
        return (
            (shifted(x, np.random.default_rng((seed, step))), y) if shifts else (x, y)
        )

    config = TrainConfig(**options, schedule="cosine", warmup=options["steps"] // 20)
    ct.fit(model, draw, loss, config=config)
    return model


def errors(model: nn.Module, found: data.Digits) -> float:
    """The share of test images that a network names wrongly."""
    with torch.no_grad():
        guesses = model(torch.from_numpy(found.test_images)).argmax(dim=-1).numpy()
    return float((guesses != found.test_labels).mean())


def classical(model, grid: dict, found: data.Digits, *, shifts: bool) -> float:
    """Errors of a method of scikit-learn, its constants chosen by cross-validation.

    With shifts all nine of each image are learned from, with the constants chosen
    without them.
    """
    flat = lambda images: images.reshape(len(images), -1)  # noqa: E731
    search = GridSearchCV(model, grid, cv=3).fit(flat(found.images), found.labels)
    best = search.best_estimator_
    if shifts:
        padded = pad(found.images)
        places = [(down, right) for down in range(3) for right in range(3)]
        nine = np.concatenate([moved(padded, *place) for place in places])
        best.fit(flat(nine), np.tile(found.labels, 9))
    return float(1 - best.score(flat(found.test_images), found.test_labels))


def choose(name: str, *, shifts: bool) -> tuple[int, dict]:
    """Which form, and its steps and rate, by the loss on 300 training images set aside.

    The split is not one of the table's; it shuffles the same digits.
    """
    every = data.digits(seed=0)
    inside = scaled(
        replace(
            every,
            images=every.images[:900],
            labels=every.labels[:900],
            test_images=every.images[900:],
            test_labels=every.labels[900:],
        )
    )
    x, y = map(torch.from_numpy, (inside.test_images, inside.test_labels))
    found = []
    forms = range(len(NETWORKS[name]))
    for form, steps, rate in product(forms, (300, 900), (3e-3, 1e-2)):
        options = {"steps": steps, "learning_rate": rate}
        model = learn(NETWORKS[name][form], inside, 0, shifts=shifts, **options)
        with torch.no_grad():
            found.append((float(ct.cross_entropy(model(x), y)), form, options))
    _, form, options = min(found, key=itemgetter(0))
    return form, options


def split_errors(
    name: str, form: int, n_train: int, *, shifts: bool, options: dict
) -> list[float]:
    """Test errors of a network on each split."""
    cells = []
    for seed in SPLITS:
        found = scaled(data.digits(seed=seed, n_train=n_train))
        model = learn(NETWORKS[name][form], found, seed, shifts=shifts, **options)
        cells.append(errors(model, found))
    return cells


def read_digits() -> dict[str, dict[str, dict]]:
    """Test errors by method, "plain" or "shifts": a list a size, a number a split.

    The networks also have "plain, longer" and "shifts, longer".
    """
    classics = {
        "logistic regression": (LogisticRegression(max_iter=2000), LOGISTIC),
        "SVC": (SVC(), SUPPORT),
    }
    table: dict[str, dict[str, dict]] = {}
    for name in (*classics, *NETWORKS):
        table[name] = {}
        for what, shifts in (("plain", False), ("shifts", True)):
            form, options = 0, {}
            if name in NETWORKS:
                form, options = choose(name, shifts=shifts)
            rows = []
            for n in N_TRAIN:
                if name in classics:
                    model, grid = classics[name]
                    splits = [scaled(data.digits(seed=s, n_train=n)) for s in SPLITS]
                    cells = [classical(model, grid, f, shifts=shifts) for f in splits]
                else:
                    cells = split_errors(name, form, n, shifts=shifts, options=options)
                rows.append(cells)
            table[name][what] = {"form": form, "options": options, "errors": rows}
    for name in NETWORKS:
        table[name] |= read_longer(name, table[name])
    return table


def read_longer(name: str, rows: dict[str, dict]) -> dict[str, dict]:
    """The network's table with many steps, equally many with shifts and without."""
    longer = {}
    for what, shifts in (("plain", False), ("shifts", True)):
        form = rows[what]["form"]
        cells = [
            split_errors(name, form, n, shifts=shifts, options=LONGER) for n in N_TRAIN
        ]
        longer[f"{what}, longer"] = {"form": form, "options": LONGER, "errors": cells}
    return longer


def write(path: Path, model, run, rates: dict, rows: list[dict], table) -> None:
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
        "digits": table,
    }
    store(model, history, path)


def main(folder: Path) -> None:
    """Choose the rates, race, and write the file."""
    torch.set_num_threads(1)
    rates = {name: tune(name) for name in BUILD}
    rows = [row for name in BUILD for row in race(name, best(rates[name]))]
    model, run = train(vit, settings(LONG, best(rates["ViT"])))
    write(folder / "vit.safetensors", model, run, rates, rows, read_digits())


if __name__ == "__main__":
    run_command(main)
