"""The training loop (Flax NNX).

A loss is a function of the model and a batch: `loss(model, *batch)`. It returns its
mean, or a sum and the number of things summed, as `cross_entropy_sum` does. `fit` turns
losses into updates and keeps the record; what the loss means is not its business.
What one update does, and how several are compiled into one call, is in step.py.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import jax
import numpy as np
from flax import nnx

from course_lib.checks.training import check_fit, check_loss
from course_lib.config import TrainConfig
from course_lib.nnx.evaluation import evaluating
from course_lib.nnx.training.checkpoint import Run, named
from course_lib.nnx.training.step import call_uncompiled, compiled_steps, to_arrays
from course_lib.training.batches import batch_at, config_of, order_of
from course_lib.training.checkpoint import check_place
from course_lib.training.history import History, rates
from course_lib.training.progress import Progress

__all__ = ["fit", "mean_loss"]


def fit(
    model: nnx.Module,
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
            by `distribute`. It is left in evaluation mode.
        batches: A function of the step that returns a batch, as `Batches` is, or a
            list, gone through again and again. A batch is a NumPy array or a tuple of
            them, with one example a row; all batches have the same shapes.
        loss: Called as `loss(model, *batch)`, with the batch as arrays. It returns its
            mean, or the pair of a sum and how many things were summed. It is compiled.
        learning_rate: In place of `config`, for a list of batches that is gone through
            once: Adam, whose rate rises to this for a tenth of the way and falls to 0.
        config: How to train, with gradient clipping, learning-rate warm-up and early
            stopping among it; None means `TrainConfig()`.
        evaluate: Called as `evaluate(model)`, the model in evaluation mode; returns a
            number or a dictionary of numbers. Early stopping goes by "loss", or by the
            plain number: the smaller, the better.
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
    config = config_of(batches, learning_rate, config)
    parameters = named(nnx.state(model, nnx.Param)).items()
    check_fit(
        config, evaluate, checkpoint, resume, {n: str(p.dtype) for n, p in parameters}
    )
    batch = batch_at(batches)
    order = {} if checkpoint is None else order_of(batches)
    if checkpoint is not None and jax.process_index() == 0:
        check_place(checkpoint)
    model.eval()  # before its structure is read: one structure, one program
    run = Run(model, config)
    history = History()
    run.seed(config.seed, 0)
    if resume and checkpoint is not None:
        history = run.load(checkpoint, config, order)
    advance = compiled_steps(run, loss, config)
    progress = Progress(config.steps, show=jax.process_index() == 0)
    try:
        for steps in history.spans(config):
            at = rates(steps, config)
            losses, norms = advance([to_arrays(batch(step)) for step in steps], at)
            history.add_steps(losses, at, norms)
            progress.update(history.steps, losses[-1])
            if evaluate is not None and history.is_due(config.evaluate_every, config):
                run.update_model()
                result = evaluate(model)
                is_best = history.add_evaluation(result, config.patience)
                if is_best and config.patience is not None:
                    run.keep_best()
            if checkpoint is not None and history.is_due_to_save(config):
                run.save(checkpoint, config, history, order)
        run.put_best_back()
    finally:  # also after an interruption the model has its newest weights
        run.update_model()
        progress.close()
    if history.diverged and jax.process_count() == 1:
        call_uncompiled(loss, model, batch(history.steps - 1))
    if jax.process_index() == 0:
        history.warn(config, checkpoint)
    return history


def mean_loss(
    model: nnx.Module, batches: Iterable[Any], loss: Callable[..., Any]
) -> float:
    """The mean loss over batches in evaluation mode: dropout off, no gradients."""
    with evaluating(model):
        graphdef, state = nnx.split(model)
    sums = [_measure(graphdef, state, to_arrays(batch), loss) for batch in batches]
    if not sums:
        raise ValueError("a mean needs at least one batch: got none.")
    total, count = np.asarray(sums, "float64").sum(0).tolist()
    return total / max(count, 1.0)


@partial(jax.jit, static_argnames=("graphdef", "loss"))
def _measure(graphdef: Any, state: Any, batch: Any, loss: Any) -> tuple[Any, Any]:
    model = nnx.merge(graphdef, state)
    return check_loss(loss(model, *batch), len(batch[0]))
