"""Training a model (Flax NNX).

A loss is a function of the model and a batch: `loss(model, *batch)`. It returns its
mean, or a sum and the number of things summed, as `cross_entropy_sum` does. `fit` turns
losses into updates and keeps the record; what the loss means is not its business.

The model is split once into its structure and its arrays. One compiled function then
does several steps at a call, however many are asked for, so that Python is met rarely.
It is compiled once for a kind of model and a loss: to train the same model again, on
other data or from another seed, pass the same loss function, not one made anew.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jax import Array

from course_lib.checks.training import check_fit, check_loss, check_stack
from course_lib.config import TrainConfig
from course_lib.nnx.evaluation import evaluating
from course_lib.nnx.training.checkpoint import _Run
from course_lib.nnx.training.distributed import _put, _shares
from course_lib.nnx.training.optim import _transform, clip_gradient
from course_lib.training.batches import Batch, batch_at, check_parts
from course_lib.training.history import History, rates
from course_lib.training.progress import Progress


def fit(
    model: nnx.Module,
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
            by `distribute`. It is left in evaluation mode.
        batches: A function of the step that returns a batch, as `Batches` is, or a
            list, gone through again and again. A batch is a NumPy array or a tuple of
            them, with one example a row; all batches have the same shapes.
        loss: Called as `loss(model, *batch)`, with the batch as arrays. It returns its
            mean, or the pair of a sum and how many things were summed. It is compiled.
        config: How to train; None means `TrainConfig()`.
        evaluate: Called as `evaluate(model)`, the model in evaluation mode; returns a
            number or a dictionary of numbers. `patience` judges by "loss", or by the
            plain number: the smaller, the better.
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
    model.eval()  # before its structure is read: one structure, one program
    run = _Run(model, config)
    history = History()
    run.seed(config.seed, 0)
    if resume and checkpoint is not None:
        history = run.load(checkpoint, config, order)
    plan = _Plan(
        run.graphdef,
        loss,
        config.clip,
        config.accumulate,
        config.precision,
        config.betas,
        config.eps,
        config.weight_decay,
        run.where,
    )
    progress = Progress(config.steps, show=jax.process_index() == 0)
    try:
        for steps in history.spans(config):
            at = rates(steps, config)
            stack = _stack(run, [batch(step) for step in steps], config)
            padded = np.zeros(config.chunk)
            padded[: len(steps)] = at
            run.state, records = _advance(
                run.state, stack, padded, len(steps), plan=plan
            )
            # The one place that waits for the device.
            losses, norms = np.asarray(records)[:, : len(steps)].tolist()
            history.add_steps(losses, at, norms)
            progress.update(history.steps, losses[-1])
            if evaluate is not None and history.is_due(config.evaluate_every, config):
                run.update_model()
                result = evaluate(model)
                is_best = history.add_evaluation(result, config.patience)
                if is_best and config.patience is not None:
                    run.keep_best()
            if checkpoint is not None and history.is_due(
                config.checkpoint_every, config
            ):
                run.save(checkpoint, config, history, order)
        run.put_best_back()
    finally:  # also after an interruption the model has its newest weights
        run.update_model()
        progress.close()
    return history


def mean_loss(
    model: nnx.Module, batches: Iterable[Any], loss: Callable[..., Any]
) -> float:
    """Measure a loss over batches, without training: dropout off, no gradients.

    Args:
        model: Each part's mode is restored, also after an exception.
        batches: Arrays or tuples of them, as `in_turn` returns. Each new shape
            compiles.
        loss: As for `fit`. One that returns a mean is weighted by the batch's rows. A
            function made anew for each call compiles anew.

    Returns:
        The mean over everything that counts.

    Raises:
        ValueError: There is no batch, or the loss returns neither a number nor a pair.
    """
    with evaluating(model):
        graphdef, state = nnx.split(model)
    sums = [_measure(graphdef, state, _tuple(batch), loss) for batch in batches]
    if not sums:
        raise ValueError("a mean needs at least one batch: got none.")
    total, count = np.asarray(sums, "float64").sum(0).tolist()
    return total / max(count, 1.0)


@partial(jax.jit, static_argnames=("graphdef", "loss"))
def _measure(graphdef: Any, state: Any, batch: Any, loss: Any) -> tuple[Any, Any]:
    model = nnx.merge(graphdef, state)
    return check_loss(loss(model, *batch), len(batch[0]))


class _Plan(NamedTuple):
    """What a step is compiled for: all that is not an array."""

    graphdef: Any
    loss: Callable[..., Any]
    clip: float | None
    accumulate: int
    precision: str
    betas: tuple[float, float]
    eps: float
    weight_decay: float
    where: tuple[Any, ...]  # each array's place, if they are spread over a mesh


@partial(jax.jit, static_argnames="plan", donate_argnames="state")
def _advance(
    state: Any, stack: Any, at: Array, n_steps: Any, *, plan: _Plan
) -> tuple[Any, Array]:
    """Make several steps; returns the new state, and losses and gradients' lengths."""
    structure = jax.tree.structure(state)

    def one(i: Any, carry: tuple[Any, Array]) -> tuple[Any, Array]:
        state, records = carry
        parts = tuple(array[i] for array in stack)
        state, record = _step(state, parts, at[i], plan)
        if plan.where:
            where = jax.tree.unflatten(structure, plan.where)
            state = jax.lax.with_sharding_constraint(state, where)
        return state, records.at[:, i].set(record.astype(records.dtype))

    # The number of steps is data, not shape: a shorter stretch compiles nothing.
    records = jnp.zeros((2, len(at)), at.dtype)
    return jax.lax.fori_loop(0, n_steps, one, (state, records))


def _step(state: Any, parts: Any, rate: Array, plan: _Plan) -> tuple[Any, Array]:
    """One update; returns the new state, the loss and the gradient's length."""
    parameters, opt_state, rest = state

    def part_loss(parameters: Any, rest: Any, part: Any) -> tuple[Array, Any]:
        # Made anew here, variables may change here: dropout counts its draws.
        fresh = jax.tree.map(lambda a: a, (parameters, rest))
        model = nnx.merge(plan.graphdef, *fresh)
        model.train()
        if plan.precision == "bfloat16":
            _multiply_short(model)
        total, count = check_loss(plan.loss(model, *part), 1)
        return total, (jnp.asarray(count), nnx.state(model, nnx.Not(nnx.Param)))

    def add(carry: Any, part: Any) -> tuple[Any, None]:
        sums, rest = carry
        (total, (count, rest)), grads = jax.value_and_grad(part_loss, has_aux=True)(
            parameters, rest, part
        )
        new = (total, count.astype(total.dtype), grads)
        return (jax.tree.map(jnp.add, sums, new) if sums else new, rest), None

    (sums, rest), _ = add(((), rest), tuple(array[0] for array in parts))
    if plan.accumulate > 1:
        others = tuple(array[1:] for array in parts)
        (sums, rest), _ = jax.lax.scan(add, (sums, rest), others)
    total, count, grads = sums
    count = count.clip(1)
    grads, norm = clip_gradient(grads, plan.clip, 1 / count)
    hyper = opt_state.hyperparams
    rate = rate.astype(hyper["learning_rate"].dtype)
    opt_state = opt_state._replace(hyperparams={**hyper, "learning_rate": rate})
    transform = _transform(plan.betas, plan.eps, plan.weight_decay)
    updates, opt_state = transform.update(grads, opt_state, parameters)
    parameters = jax.tree.map(jnp.add, parameters, updates)
    return (parameters, opt_state, rest), jnp.stack([total / count, norm])


def _multiply_short(model: nnx.Module) -> None:
    """Let linear maps and convolutions multiply in 16 bits; weights keep 32."""
    for _, part in nnx.iter_graph(model):
        if isinstance(part, (nnx.Linear, nnx.LinearGeneral, nnx.Einsum, nnx.Conv)):
            part.dtype = jnp.bfloat16


def _tuple(batch: Any) -> Batch:
    arrays = batch if isinstance(batch, (tuple, list)) else (batch,)
    return tuple(np.asarray(array) for array in arrays)


def _stack(run: _Run, batches: list[Batch], config: TrainConfig) -> Batch:
    """Batches of several steps as one array for each of their parts.

    The axes are steps, parts of a batch, rows, and then whatever the rows are.
    """
    shares = _shares(run.mesh)
    world = int(np.prod([run.mesh.shape[axis] for axis in shares])) if shares else 1
    check_stack(batches)
    check_parts(batches[0], config.accumulate, world)
    stacks = []
    for arrays in zip(*batches, strict=True):
        stack = np.stack(arrays)
        stack = np.pad(
            stack, [(0, config.chunk - len(stack))] + [(0, 0)] * (stack.ndim - 1)
        )
        rows = stack.shape[1] // config.accumulate
        stack = stack.reshape(config.chunk, config.accumulate, rows, *stack.shape[2:])
        if run.mesh is not None:
            spec = jax.sharding.PartitionSpec(None, None, shares)
            stack = _put(stack, jax.sharding.NamedSharding(run.mesh, spec))
        stacks.append(stack)
    return tuple(stacks)
