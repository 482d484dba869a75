"""A model and its training in a file, and back (Flax NNX)."""

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx

from course_lib.arrays import to_numpy
from course_lib.checks import check_weights
from course_lib.config import TrainConfig
from course_lib.nnx.bridge import get_weights, set_weights
from course_lib.nnx.training.distributed import is_key, mesh_of, put, whole
from course_lib.nnx.training.optim import adamw
from course_lib.training import checkpoint as checkpoints
from course_lib.training.checkpoint import Arrays, Checkpoint
from course_lib.training.history import History

__all__ = ["load_weights", "save_weights"]


def save_weights(model: nnx.Module, path: str | Path) -> None:
    """Write a model's parameters to a file, safetensors, that either wing reads.

    So are the running means of batch norm, under NNX's names.
    """
    graphdef, parameters, rest = nnx.split(model, nnx.Param, ...)
    arrays = _kept(graphdef, parameters, rest)
    if jax.process_index() == 0:
        checkpoints.save_arrays(path, arrays)


def load_weights(model: nnx.Module, path: str | Path) -> None:
    """Read what `save_weights` or `fit` of either wing wrote into a model, in place."""
    graphdef, parameters, rest = nnx.split(model, nnx.Param, ...)
    arrays = checkpoints.load_arrays(path)
    nnx.update(model, *_put(graphdef, parameters, rest, arrays))


class Run:
    """What changes while a model is trained here, apart from the history.

    `state` is all of it as one tree of arrays, which compiled code takes and returns:
    the parameters, the optimizer's state, and the rest of the model.
    """

    def __init__(self, model: nnx.Module, config: TrainConfig):
        self.model = model
        self.graphdef, parameters, rest = nnx.split(model, nnx.Param, ...)
        self.mesh, self.best = mesh_of(parameters), {}
        self.place = jax.tree.leaves(parameters)[0].sharding
        if self.mesh is not None:
            spec = jax.sharding.PartitionSpec()
            self.place = jax.sharding.NamedSharding(self.mesh, spec)
        zeros = jax.tree.map(lambda p: np.zeros(p.shape, p.dtype), parameters)
        first, second = (_like(zeros, parameters) for _ in range(2))
        opt_state = jax.tree.map(self._spread, adamw(model, config).tx.init(zeros))
        # All are tied to their devices from the start, as results are: else the second
        # call would find another kind of argument than the first, and compile again.
        self.state = (
            jax.tree.map(lambda p: jax.device_put(p, p.sharding), parameters),
            _with_means(opt_state, mu=first, nu=second),
            jax.tree.map(self._spread, rest),
        )
        leaves = jax.tree.leaves(self.state)
        self.where = tuple(a.sharding for a in leaves) if self.mesh else ()

    def _spread(self, array: Any) -> Any:
        """Put an array on every device that the parameters are on."""
        if self.mesh is None:
            return jax.device_put(array, self.place)
        return put(array, self.place)

    def update_model(self) -> None:
        """Give the model the parameters as they are now."""
        nnx.update(self.model, self.state[0], self.state[2])

    def keep_best(self) -> None:
        """Remember the weights as they are now."""
        self.best = _kept(self.graphdef, self.state[0], self.state[2])

    def put_best_back(self) -> None:
        """Return to the weights remembered, if any."""
        if self.best:
            parameters, opt_state, rest = self.state
            parameters, rest = _put(self.graphdef, parameters, rest, self.best)
            self.state = parameters, opt_state, jax.tree.map(self._spread, rest)

    def save(
        self, path: Any, config: TrainConfig, history: History, order: dict[str, Any]
    ) -> None:
        """Write all of it to a file; every process has to call this."""
        parameters, opt_state, rest = self.state
        means = opt_state.inner_state[0]
        first, second = (_read(self.graphdef, m, rest) for m in (means.mu, means.nu))
        checkpoint = Checkpoint(
            weights=_kept(self.graphdef, parameters, rest),
            exp_avg=first,
            exp_avg_sq=second,
            best=self.best,
            private={
                name: np.asarray(jax.random.key_data(a) if is_key(a) else a)
                for name, a in named(whole(rest)).items()
            },
            wing="nnx",
            config=config,
            history=history,
            order=order,
        )
        if jax.process_index() == 0:
            checkpoints.save_run(path, checkpoint)
        if jax.process_count() > 1:
            from jax.experimental import multihost_utils

            multihost_utils.sync_global_devices(str(path))

    def load(self, path: Any, config: TrainConfig, order: dict[str, Any]) -> History:
        """Take up the run in a file; returns its history."""
        saved = checkpoints.load_run(path)
        checkpoints.check_same_run(path, saved, config, order)
        parameters, opt_state, rest = self.state
        first, second = (
            _write(self.graphdef, parameters, rest, arrays)
            for arrays in (saved.exp_avg, saved.exp_avg_sq)
        )
        parameters, rest = _put(self.graphdef, parameters, rest, saved.weights)
        rest = jax.tree.map(self._spread, rest)
        steps = np.asarray(saved.history.steps, "int32")
        counts = [self._spread(steps.copy()) for _ in range(2)]
        opt_state = _with_means(opt_state, mu=first, nu=second, count=counts[0])
        self.state = parameters, opt_state._replace(count=counts[1]), rest
        self.best = saved.best
        self.seed(config.seed, saved.history.steps)  # where no stream is to be had
        if saved.wing == "nnx":
            self._set_rest(saved.private)
        return saved.history

    def seed(self, seed: int, step: int) -> None:
        """Start the random numbers of dropout: each layer its own."""
        parameters, opt_state, rest = self.state
        key, fresh = jax.random.fold_in(jax.random.key(seed), step), []
        for i, (path, variable) in enumerate(nnx.to_flat_state(rest)):
            value = variable[...]
            if isinstance(variable, nnx.RngKey):
                mine = jax.random.fold_in(key, i)
                value = jax.random.split(mine, value.shape) if value.shape else mine
            elif isinstance(variable, nnx.RngCount):
                value = jnp.zeros_like(value)
            fresh.append((path, variable.replace(self._spread(value))))
        self.state = parameters, opt_state, nnx.from_flat_state(fresh)

    def _set_rest(self, saved: Arrays) -> None:
        parameters, opt_state, rest = self.state
        fresh = []
        for path, variable in nnx.to_flat_state(rest):
            value, name = variable[...], ".".join(map(str, path))
            if name in saved and is_key(value):
                impl = jax.random.key_impl(value)
                value = jax.random.wrap_key_data(jnp.asarray(saved[name]), impl=impl)
            elif name in saved:
                value = jnp.asarray(saved[name], value.dtype)
            fresh.append((path, variable.replace(self._spread(value))))
        self.state = parameters, opt_state, nnx.from_flat_state(fresh)


def _with_means(opt_state: Any, **parts: Any) -> Any:
    """The optimizer's state with other means in it: the first link of optax's chain."""
    means, *others = opt_state.inner_state
    return opt_state._replace(inner_state=(means._replace(**parts), *others))


def named(state: Any) -> dict[str, Any]:
    return {".".join(map(str, path)): v[...] for path, v in nnx.to_flat_state(state)}


def _like(tree: Any, parameters: Any) -> Any:
    """Arrays on the host, placed as the parameters are."""
    return jax.tree.map(lambda a, p: put(a, p.sharding), tree, parameters)


def _read(graphdef: Any, parameters: Any, rest: Any) -> Arrays:
    # Anything with the parameters' structure can stand in a model to be read.
    return get_weights(nnx.merge(graphdef, *whole((parameters, rest))))


def _kept(graphdef: Any, parameters: Any, rest: Any) -> Arrays:
    """Parameters, and the running means of batch norm: what a model is made of."""
    means = {name: to_numpy(v[...]) for name, v in _means(whole(rest)).items()}
    return _read(graphdef, parameters, rest) | means


def _put(graphdef: Any, parameters: Any, rest: Any, arrays: Arrays) -> tuple[Any, Any]:
    """The two with what `_kept` read in them."""
    means, arrays = _means(rest), dict(arrays)
    given = {name: arrays.pop(name) for name in means if name in arrays}
    parameters = _write(graphdef, parameters, rest, arrays)
    check_weights({name: tuple(v.shape) for name, v in means.items()}, given)
    fresh = dict(nnx.to_flat_state(rest))
    for path, v in fresh.items():
        if (name := ".".join(map(str, path))) in given:
            fresh[path] = v.replace(jnp.asarray(given[name], v[...].dtype))
    return parameters, nnx.from_flat_state(fresh)


def _means(rest: Any) -> dict[str, nnx.BatchStat]:
    return {
        ".".join(map(str, path)): variable
        for path, variable in nnx.to_flat_state(rest)
        if isinstance(variable, nnx.BatchStat)
    }


def _write(graphdef: Any, parameters: Any, rest: Any, arrays: Arrays) -> Any:
    """Arrays in the exchange format as a tree, cast and placed like the parameters."""
    zeros = jax.tree.map(lambda p: jnp.zeros(p.shape, p.dtype), parameters)
    model = nnx.merge(graphdef, zeros, rest)
    set_weights(model, arrays)
    return _like(nnx.state(model, nnx.Param), parameters)
