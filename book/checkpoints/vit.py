"""Go on with the training that the chapter on vision transformers begins, to the end.

    python book/checkpoints/vit.py             # course_lib/data/trained/vit.safetensors
    python book/checkpoints/vit.py some/folder # the same file, elsewhere

The chapter makes the first `LIVE` steps of this run in front of the reader. The command
makes all of it, with PyTorch on one thread: `RUN`, at one rate, and then `COOL`, in
which the rate falls to zero. The file holds the weights and, as JSON in its metadata,
how the errors went.
"""

import json
import sys
from dataclasses import asdict
from pathlib import Path

import numpy as np
import torch
from safetensors.numpy import save_file

import course_lib.torch as ct
from course_lib import data
from course_lib.config import TrainConfig, ViTConfig

ROOT = Path(__file__).resolve().parents[2]
SIZE, NOISE, BATCH, N_TEST, LIVE = 16, 0.1, 64, 1000, 150
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
RUN = TrainConfig(steps=5000, learning_rate=1e-3, warmup=50, evaluate_every=50)
COOL = TrainConfig(steps=3000, learning_rate=1e-3, schedule="cosine", evaluate_every=50)


def standardized(images: np.ndarray) -> np.ndarray:
    """Gray values with mean 0 and deviation 1, nearly."""
    return (images - CENTER) / SPREAD


def images(n: int, seed) -> tuple[np.ndarray, np.ndarray]:
    """Standardized images and what they show."""
    drawn = data.drawn_shapes(n, seed=seed, size=SIZE, noise=NOISE)
    return standardized(drawn.images), drawn.labels


def batch(step: int) -> tuple[np.ndarray, np.ndarray]:
    """New images for every step, so none is ever seen twice."""
    return images(BATCH, (0, step))


def loss(model, images, labels):
    """Surprise at the class."""
    return ct.cross_entropy(model(images), labels)


def train(run: TrainConfig, cool: TrainConfig):
    """The whole run.

    Args:
        run: The first part.
        cool: The second; its batches follow on those of the first.

    Returns:
        The model, and how it went: loss and share of errors on the test images at
        `eval_steps`, and the losses of the first `LIVE` batches.
    """
    torch.manual_seed(0)
    model = ct.ViT(MODEL)
    x, y = map(torch.from_numpy, images(N_TEST, 1))

    def judge(model):
        logits = model(x)
        wrong = (logits.argmax(dim=-1) != y).double().mean()
        return {"loss": float(ct.cross_entropy(logits, y)), "errors": float(wrong)}

    first = ct.fit(model, batch, loss, config=run, evaluate=judge)
    last = ct.fit(
        model, lambda i: batch(run.steps + i), loss, config=cool, evaluate=judge
    )
    return model, {
        "model": asdict(MODEL),
        "run": asdict(run),
        "cool": asdict(cool),
        "losses": first.losses[:LIVE],
        "eval_steps": first.eval_steps + [run.steps + i for i in last.eval_steps],
        "evals": {k: first.evals[k] + last.evals[k] for k in ("loss", "errors")},
    }


def main(folder: Path) -> None:
    """Train and write the file."""
    torch.set_num_threads(1)
    model, history = train(RUN, COOL)
    save_file(
        ct.get_weights(model),
        folder / "vit.safetensors",
        {"format": "course_lib weights 1", "history": json.dumps(history)},
    )


if __name__ == "__main__":
    target = ROOT / "course_lib" / "data" / "trained"
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else target)
