"""The training loop (PyTorch).

A loss is a function of the model and a batch: `loss(model, *batch)`. It returns its
mean, or a sum and the number of things summed, as `cross_entropy_sum` does. `fit` turns
losses into updates and keeps the record; what the loss means is not its business.
What one update does is in step.py.
"""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import nn

from course_lib.checks.training import check_fit, check_loss
from course_lib.config import TrainConfig
from course_lib.torch.evaluation import evaluating
from course_lib.torch.training.checkpoint import Run
from course_lib.torch.training.optim import adamw
from course_lib.torch.training.step import one_step, sum_and_count, to_tensors
from course_lib.training.batches import batch_at, config_of, order_of
from course_lib.training.checkpoint import check_place
from course_lib.training.history import History, rates
from course_lib.training.progress import Progress

__all__ = ["fit", "mean_loss"]


def fit(
    model: nn.Module,
    batches: Callable[[int], Any] | Sequence[Any],
    loss: Callable[..., Any],
    learning_rate: float | None = None,
    *,
    config: TrainConfig | None = None,
    evaluate: Callable[[Any], float | dict[str, float]] | None = None,
    checkpoint: str | Path | None = None,
    resume: bool = False,
) -> History:
    """Train a model, in place: the training loop.

    Args:
        model: Trained where its parameters are: on their device, or spread over several
            processes by `distribute`. It is left in evaluation mode.
        batches: A function of the step that returns a batch, as `Batches` is, or a
            list, gone through again and again. A batch is a NumPy array or a tuple of
            them, with one example a row.
        loss: Called as `loss(model, *batch)`, with the batch as tensors. It returns its
            mean, or the pair of a sum and how many things were summed.
        learning_rate: In place of `config`, for a list of batches that is gone through
            once: Adam, whose rate rises to this for a tenth of the way and falls to 0.
        config: How to train, with gradient clipping, learning-rate warm-up and early
            stopping among it; None means `TrainConfig()`.
        evaluate: Called as `evaluate(model)`, the model in evaluation mode, without
            gradients; returns a number or a dictionary of numbers. Early stopping goes
            by "loss", or by the plain number: the smaller, the better.
        checkpoint: File that the run is written to, every `config.checkpoint_every`
            steps and at the end.
        resume: Go on with the run in that file, exactly as if it had never stopped.

    Returns:
        The record of the whole run, also of the part before it was resumed.

    A step whose loss or gradient is NaN or infinite changes nothing and ends the run,
    with the warning `TrainingStopped`: the model keeps the weights from before it (or
    gets those of its best evaluation, with early stopping), the checkpoint stays as it
    is, and `history.stopped` names the step.
    """
    if not torch.is_grad_enabled():
        raise ValueError(
            "training needs gradients: got a call of fit inside torch.no_grad or "
            "torch.inference_mode. Call it outside."
        )
    config = config_of(batches, learning_rate, config)
    named = model.named_parameters()
    dtypes = {name: str(p.dtype) for name, p in named if p.requires_grad}
    check_fit(config, evaluate, checkpoint, resume, dtypes)
    batch = batch_at(batches)
    order = {} if checkpoint is None else order_of(batches)
    run = Run(model, adamw(model, config))
    if checkpoint is not None and run.rank == 0:
        check_place(checkpoint)
    history = History()
    devices = [run.device] if run.device.type == "cuda" else []
    with torch.random.fork_rng(devices=devices):  # the caller's stream stays as it was
        run.seed(config.seed, 0)
        if resume and checkpoint is not None:
            history = run.load(checkpoint, config, order)
        progress = Progress(config.steps, show=run.rank == 0)
        for steps in history.spans(config):
            model.train()
            at = rates(steps, config)
            records = [
                one_step(run, batch(step), loss, config, rate)
                for step, rate in zip(steps, at, strict=True)
            ]
            # The one place that waits for the device.
            losses, norms = torch.stack(records).T.tolist()
            history.add_steps(losses, at, norms)
            progress.update(history.steps, losses[-1])
            if evaluate is not None and history.is_due(config.evaluate_every, config):
                model.eval()
                with torch.no_grad():
                    result = evaluate(run.bare)
                is_best = history.add_evaluation(result, config.patience)
                if is_best and config.patience is not None:
                    run.keep_best()
            if checkpoint is not None and history.is_due_to_save(config):
                run.save(checkpoint, config, history, order)
        progress.close()
        run.put_best_back()
    model.eval()
    if run.rank == 0:
        history.warn(config, checkpoint)
    return history


def mean_loss(
    model: nn.Module, batches: Iterable[Any], loss: Callable[..., Any]
) -> float:
    """The mean loss over batches in evaluation mode: dropout off, no gradients.

    The exponential of a mean cross-entropy is the perplexity. Each part's mode is
    restored, also after an exception. `batches` are arrays or tuples of them, as
    `in_turn` returns; a loss that returns a mean is weighted by the rows.
    """
    sums = []
    with evaluating(model), torch.no_grad():
        for batch in batches:
            tensors = to_tensors(batch, model)
            total, count = check_loss(loss(model, *tensors), len(tensors[0]))
            sums.append(sum_and_count(total, count))
    if not sums:
        raise ValueError("a mean needs at least one batch: got none.")
    total, count = torch.stack(sums).sum(0).tolist()
    return total / max(count, 1.0)
