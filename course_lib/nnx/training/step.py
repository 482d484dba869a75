"""One update of a training run, and several in one compiled call (Flax NNX).

The model is split once into its structure and its arrays. One compiled function then
does several steps at a call, however many are wanted, so that Python runs rarely. It is
compiled once for a kind of model and a loss: to train the same model again, on other
data or from another seed, pass the same loss function, not one made anew.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jax import Array

from course_lib.arrays import owned
from course_lib.checks import checking_values
from course_lib.checks.training import check_loss, check_stack
from course_lib.config import TrainConfig
from course_lib.nnx.training.checkpoint import Run
from course_lib.nnx.training.distributed import put, shares_of
from course_lib.nnx.training.optim import clip_gradient, transform_of
from course_lib.training.batches import Batch, check_parts

__all__: list[str] = []  # `fit` is what a reader calls


class _Plan(NamedTuple):
    """What a step is compiled for: all that is not an array."""

    graphdef: Any
    loss: Callable[..., Any]
    config: TrainConfig  # what one step depends on, all else as it is by default
    where: tuple[Any, ...]  # each array's place, if they are spread over a mesh


def compiled_steps(
    run: Run, loss: Callable[..., Any], config: TrainConfig
) -> Callable[[list[Batch], list[float]], list[list[float]]]:
    """A function of batches and rates that advances the run by that many steps.

    It returns the losses and the gradients' lengths. A step that diverges, and what
    follows it in the call, leaves no trace in the run's state. That is why the state is
    not donated to the compiled code: the one from before the call is still there, and
    the good steps are repeated from it. Choosing between old and new arrays inside the
    loop would take 5% of the time of a small model.
    """
    names = ("clip", "accumulate", "precision", "betas", "eps", "weight_decay")
    needed = TrainConfig(**{name: getattr(config, name) for name in names})
    plan = _Plan(run.graphdef, loss, needed, run.where)

    def advance(batches: list[Batch], rates: list[float]) -> list[list[float]]:
        padded = np.zeros(config.chunk)
        padded[: len(rates)] = rates
        stack, before = _stack(run, batches, config), run.state
        run.state, records = _advance(before, stack, padded, len(rates), plan=plan)
        records = np.asarray(records)[:, : len(rates)]  # waits for the device
        good = np.isfinite(records).all(axis=0)
        if not good.all():
            n_good = int(good.argmin())
            run.state, _ = _advance(before, stack, padded, n_good, plan=plan)
        return records.tolist()

    return advance


def call_uncompiled(loss: Callable[..., Any], model: Any, batch: Batch) -> None:
    """Find out why a loss diverged: outside compiled code ids can be looked at."""
    with checking_values():
        loss(model, *map(jnp.asarray, to_arrays(batch)))


@partial(jax.jit, static_argnames="plan")
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
        if plan.config.precision == "bfloat16":
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
    if plan.config.accumulate > 1:
        others = tuple(array[1:] for array in parts)
        (sums, rest), _ = jax.lax.scan(add, (sums, rest), others)
    total, count, grads = sums
    count = count.clip(1)
    grads, norm = clip_gradient(grads, plan.config.clip, 1 / count)
    hyper = opt_state.hyperparams
    rate = rate.astype(hyper["learning_rate"].dtype)
    opt_state = opt_state._replace(hyperparams={**hyper, "learning_rate": rate})
    updates, opt_state = transform_of(plan.config).update(grads, opt_state, parameters)
    parameters = jax.tree.map(jnp.add, parameters, updates)
    return (parameters, opt_state, rest), jnp.stack([total / count, norm])


def _multiply_short(model: nnx.Module) -> None:
    """Let linear maps and convolutions multiply in 16 bits; weights keep 32."""
    for _, part in nnx.iter_graph(model):
        if isinstance(part, (nnx.Linear, nnx.LinearGeneral, nnx.Einsum, nnx.Conv)):
            part.dtype = jnp.bfloat16


def to_arrays(batch: Any) -> Batch:
    """A batch as a tuple of copies, also one that is a single array."""
    arrays = batch if isinstance(batch, (tuple, list)) else (batch,)
    return tuple(map(owned, arrays))


def _stack(run: Run, batches: list[Batch], config: TrainConfig) -> tuple[Any, ...]:
    """Batches of several steps as one array for each of their parts.

    The axes are steps, parts of a batch, rows, and then whatever the rows are.
    """
    shares = shares_of(run.mesh)
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
            stack = put(stack, jax.sharding.NamedSharding(run.mesh, spec))
        stacks.append(stack)
    return tuple(stacks)
