"""Training a model (PyTorch).

A loss is a function of the model and a batch: `loss(model, *batch)`. It returns its
mean, or a sum and the number of things summed, as `cross_entropy_sum` does. `fit` turns
losses into updates and keeps the record; what the loss means is not its business.
"""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from course_lib.checks.training import check_fit, check_loss
from course_lib.config import TrainConfig
from course_lib.torch.evaluation import evaluating
from course_lib.torch.training.checkpoint import _Run
from course_lib.torch.training.distributed import _quiet
from course_lib.torch.training.optim import adamw, clip_gradient
from course_lib.training.batches import Batch, batch_at, check_parts
from course_lib.training.history import History, rates
from course_lib.training.progress import Progress


def fit(
    model: nn.Module,
    batches: Callable[[int], Any] | Sequence[Any],
    loss: Callable[..., Any],
    *,
    config: TrainConfig | None = None,
    evaluate: Callable[[Any], float | dict[str, float]] | None = None,
    checkpoint: str | Path | None = None,
    resume: bool = False,
) -> History:
    """Train a model, in place.

    Args:
        model: Trained where its parameters are: on their device, or spread over several
            processes by `distribute`. It is left in evaluation mode.
        batches: A function of the step that returns a batch, as `Batches` is, or a
            list, gone through again and again. A batch is a NumPy array or a tuple of
            them, with one example a row.
        loss: Called as `loss(model, *batch)`, with the batch as tensors. It returns its
            mean, or the pair of a sum and how many things were summed.
        config: How to train; None means `TrainConfig()`.
        evaluate: Called as `evaluate(model)`, the model in evaluation mode, without
            gradients; returns a number or a dictionary of numbers. `patience` judges by
            "loss", or by the plain number: the smaller, the better.
        checkpoint: File that the run is written to, every `config.checkpoint_every`
            steps and at the end.
        resume: Go on with the run in that file, exactly as if it had never stopped.

    Returns:
        The record of the whole run, also of the part before it was taken up again.

    Raises:
        ValueError: Something does not fit: batches, loss, configuration, checkpoint.
    """
    config = TrainConfig() if config is None else config
    check_fit(config, evaluate, checkpoint, resume)
    batch, order = batch_at(batches), getattr(batches, "order", {})
    run = _Run(model, adamw(model, config))
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
                _step(run, batch(step), loss, config, rate)
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
            if checkpoint is not None and history.is_due(
                config.checkpoint_every, config
            ):
                run.save(checkpoint, config, history, order)
        progress.close()
        run.put_best_back()
    model.eval()
    return history


def mean_loss(
    model: nn.Module, batches: Iterable[Any], loss: Callable[..., Any]
) -> float:
    """Measure a loss over batches, without training: dropout off, no gradients.

    Args:
        model: Each part's mode is restored, also after an exception.
        batches: Arrays or tuples of them, as `in_turn` returns.
        loss: As for `fit`. One that returns a mean is weighted by the batch's rows.

    Returns:
        The mean over everything that counts.

    Raises:
        ValueError: There is no batch, or the loss returns neither a number nor a pair.
    """
    device = next(model.parameters()).device
    sums = []
    with evaluating(model), torch.no_grad():
        for batch in batches:
            tensors = _tensors(batch, device)
            total, count = check_loss(loss(model, *tensors), len(tensors[0]))
            sums.append(_pair(total, count))
    if not sums:
        raise ValueError("a mean needs at least one batch: got none.")
    total, count = torch.stack(sums).sum(0).tolist()
    return total / max(count, 1.0)


def _step(
    run: _Run, batch: Batch, loss: Callable[..., Any], config: TrainConfig, rate: float
) -> Tensor:
    """One update; returns the loss and the gradient's length, still on the device."""
    check_parts(batch, config.accumulate, run.world)
    parameters = [p for p in run.parameters.values() if p.requires_grad]
    for p in parameters:
        p.grad = None
    short = config.precision == "bfloat16"
    rows = len(batch[0]) // (config.accumulate * run.world)
    sums = torch.zeros(2, dtype=_wide(run.device), device=run.device)
    for part in range(config.accumulate):
        first = (part * run.world + run.rank) * rows  # this process's share of the part
        mine = slice(first, first + rows)
        tensors = _tensors([array[mine] for array in batch], run.device)
        with _quiet(run.model, part < config.accumulate - 1):
            with torch.autocast(run.device.type, torch.bfloat16, enabled=short):
                total, count = check_loss(loss(run.model, *tensors), 1)
            total.backward()
        sums += _pair(total.detach(), count)
    if run.world > 1:
        dist.all_reduce(sums)
    total, count = sums[0], sums[1].clamp(min=1)
    for p in parameters:
        if p.grad is None:  # the loss does not use it: its gradient is 0
            p.grad = torch.zeros_like(p)
    # Sums were differentiated, and the processes' gradients were averaged.
    scale = run.world / count
    _, norm = clip_gradient([p.grad for p in parameters], config.clip, scale)
    for group in run.optimizer.param_groups:
        group["lr"] = rate
    run.optimizer.step()
    return torch.stack([total / count, norm])


def _pair(total: Tensor, count: Any) -> Tensor:
    wide, device = _wide(total.device), total.device
    return torch.stack([total.to(wide), torch.as_tensor(count, dtype=wide).to(device)])


def _wide(device: torch.device) -> torch.dtype:
    """What sums over many parts are kept in; Apple's devices have nothing wider."""
    return torch.float32 if device.type == "mps" else torch.float64


def _tensors(batch: Any, device: torch.device) -> list[Tensor]:
    arrays = batch if isinstance(batch, (tuple, list)) else (batch,)
    return [torch.tensor(array).to(device) for array in arrays]
