"""Pre-train BERT to the end, and let methods compete for labels.

    python book/checkpoints/bert.py               # into course_lib/data/trained
    python book/checkpoints/bert.py some/folder   # into another folder

The chapter trains such a model for a few steps and reads this one. The command trains
with PyTorch on one thread: `RUN`, whose rate falls with the root of the steps, and then
`COOL`, in which it falls to zero. Then four methods learn from each of `DRAWS` of
labeled pairs. The file, bert.safetensors, holds the weights and, as JSON in its
metadata, how the loss went and what was found.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from store import run_command, store

import course_lib.torch as ct
from course_lib import data
from course_lib.config import BERTConfig, TrainConfig
from course_lib.data.segments import Continuations
from course_lib.training.batches import Batches, in_turn

T, BATCH, N_TEST, SPREAD, LIVE = 16, 64, 1000, 3, 200
SIZES, DRAWS, EXAM = (16, 64, 256), range(10, 26), 1  # the seed of the test's pairs
MODEL = BERTConfig(
    vocab_size=data.grammar().vocab_size,
    max_len=T + 3,
    d_model=64,
    n_layers=2,
    n_heads=4,
)
RUN = TrainConfig(
    steps=8000,
    learning_rate=4e-3,
    schedule="inverse_sqrt",
    warmup=200,
    evaluate_every=50,
)
COOL = TrainConfig(
    steps=4000,
    learning_rate=RUN.learning_rate * (RUN.warmup / RUN.steps) ** 0.5,
    schedule="cosine",
    evaluate_every=50,
)
TUNE = TrainConfig(steps=60, learning_rate=3e-3, schedule="cosine", warmup=6)


def batch(step: int) -> tuple[np.ndarray, ...]:
    """New texts for every step, so none is ever read twice."""
    return data.masked_segments(BATCH, T, seed=(0, step))[1]


def loss(model, ids, types, targets):
    """Surprise at the hidden words alone: a sum, and their number."""
    return ct.cross_entropy_sum(model(ids, token_types=types), targets)


def wide(model: torch.nn.Module) -> dict[str, np.ndarray]:
    """BERT's start, three times as wide: it was made for models that are wider."""
    fresh = ct.get_weights(model)
    return {name: SPREAD * a if a.ndim > 1 else a for name, a in fresh.items()}


def start(config: BERTConfig) -> dict[str, np.ndarray]:
    """The pre-training's start."""
    torch.manual_seed(0)
    return wide(ct.BERTForMaskedLM(config))


def train(run: TrainConfig, cool: TrainConfig):
    """The whole run.

    Args:
        run: The first part.
        cool: The second; its batches follow on those of the first.

    Returns:
        The model, and how the loss went: of the test texts at `eval_steps`, and of the
        first `LIVE` batches.
    """
    model = ct.BERTForMaskedLM(MODEL)
    ct.set_weights(model, start(MODEL))
    test = in_turn(*data.masked_segments(N_TEST, T, seed=1)[1], batch_size=250)

    def judge(model):
        return ct.mean_loss(model, test, loss)

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
        "evals": first.evals["loss"] + last.evals["loss"],
    }


def arrays(task: Continuations) -> tuple[np.ndarray, ...]:
    """What a classifier is given."""
    return task.tokens, task.token_types, task.labels


def sides(task: Continuations) -> tuple[np.ndarray, np.ndarray]:
    """Counts of the 48 words in the beginning and in the end."""
    one_hot = task.tokens[:, :, None] == np.arange(4, MODEL.vocab_size)
    second = task.token_types[:, :, None] == 1
    return (one_hot & ~second).sum(axis=1), (one_hot & second).sum(axis=1)


def counts(task: Continuations) -> np.ndarray:
    """Both counts, side by side."""
    return np.concatenate(sides(task), axis=1)


def products(task: Continuations) -> np.ndarray:
    """The product of each count in the beginning and each in the end."""
    first, second = sides(task)
    return (first[:, :, None] * second[:, None, :]).reshape(len(first), -1)


def by_regression(
    features: Callable[[Continuations], np.ndarray],
    task: Continuations,
    exam: Continuations,
) -> float:
    """Accuracy of a logistic regression, whose penalty cross-validation chooses."""
    fit = GridSearchCV(LogisticRegression(max_iter=1000), {"C": (0.1, 1, 10)}, cv=3)
    fit.fit(features(task), task.labels)
    return float((fit.predict(features(exam)) == exam.labels).mean())


def pair_loss(model, ids, types, labels):
    """Cross-entropy of the classes."""
    mask = ct.padding_mask_from_ids(ids, 0)
    return ct.cross_entropy(model(ids, token_types=types, mask=mask), labels)


def by_bert(
    task: Continuations,
    exam: Continuations,
    seed: int,
    settings: TrainConfig,
    batch_size: int,
    encoder: Mapping[str, np.ndarray],
) -> float:
    """Accuracy of a BERT, random but for the encoder, if there is one."""
    torch.manual_seed(seed)
    model = ct.BERTForClassification(MODEL, 2)
    ct.set_weights(model, {**wide(model), **encoder})
    size = min(batch_size, len(task.labels))
    batches = Batches(*arrays(task), batch_size=size, seed=seed)
    ct.fit(model, batches, pair_loss, config=settings)
    ids, types, labels = map(torch.from_numpy, arrays(exam))
    with torch.no_grad():
        mask = ct.padding_mask_from_ids(ids, 0)
        guesses = model(ids, token_types=types, mask=mask).argmax(dim=-1)
    return (guesses == labels).float().mean().item()


def compete(n: int, seed: int, encoder: Mapping[str, np.ndarray]) -> dict[str, float]:
    """Each method's accuracy after one draw of n labeled pairs."""
    exam, task = data.continuations(1000, seed=EXAM), data.continuations(n, seed=seed)
    steps = 240 if n == 256 else 120
    slow = TrainConfig(steps=steps, learning_rate=2e-3, schedule="cosine", warmup=24)
    marks = {
        "counts": by_regression(counts, task, exam),
        "products": by_regression(products, task, exam),
        "BERT, pre-trained": by_bert(task, exam, seed, TUNE, 16, encoder),
        "BERT, random start": by_bert(task, exam, seed, slow, 32, {}),
    }
    if n == 256:
        longer = replace(slow, steps=4 * steps)
        marks["the same for longer"] = by_bert(task, exam, seed, longer, 32, {})
    return marks


def contests(weights: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """What each method makes of each draw: accuracies as method, labels, draw."""
    encoder = {name: a for name, a in weights.items() if name.startswith("bert.")}
    found: dict[str, dict[int, list[float]]] = {}
    for n in SIZES:
        for seed in DRAWS:
            for name, mark in compete(n, seed, encoder).items():
                found.setdefault(name, {}).setdefault(n, []).append(mark)
    return {"contest": found}


def main(folder: Path) -> None:
    """Train and write the file."""
    torch.set_num_threads(1)
    model, history = train(RUN, COOL)
    history |= contests(ct.get_weights(model))
    store(model, history, folder / "bert.safetensors")


if __name__ == "__main__":
    run_command(main)
