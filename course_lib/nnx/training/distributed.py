"""Training on several devices and processes at once (JAX: one mesh, one program).

Arrays are laid out over a mesh of devices, and the compiler cuts one program into what
each device does (GSPMD, Xu et al. 2021, arXiv:2105.04663). `fit` finds the mesh in the
parameters it is given; the pieces know nothing of it. One process or several makes no
difference to the code.

    _, world = init_distributed()
    model = distribute(GPT(config, rngs=nnx.Rngs(0)), device_mesh(data=world))
    history = fit(model, batches, loss, config=settings)
    shutdown()

Under plain `python my_script.py` this is one process. Several are started with RANK,
WORLD_SIZE, MASTER_ADDR and MASTER_PORT set for each, as torchrun does. Where a process
has several devices, data=jax.device_count() takes them all.
"""

import os
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jax import Array
from jax.sharding import AxisType, NamedSharding, PartitionSpec

from course_lib.checks.training import check_mesh, check_world

__all__ = ["device_mesh", "distribute", "init_distributed", "shutdown"]

# Which axis of a layer's kernel (in, out) the tensor axis cuts, by the layer's name:
# what one device makes of its columns goes straight into its rows of the next layer.
# Shoeybi et al. 2019, section 3, arXiv:1909.08053.
_COLUMNS = ("q_proj", "k_proj", "v_proj", "up_proj", "gate_proj")
_ROWS = ("o_proj", "down_proj")
_CUT = dict.fromkeys(_COLUMNS, 1) | dict.fromkeys(_ROWS, 0)


def init_distributed(
    *,
    rank: int | None = None,
    world: int | None = None,
    address: str | None = None,
    timeout: float = 300.0,
) -> tuple[int, int]:
    """Join the process group of this run; returns this process's rank and their number.

    Args:
        rank: Which of the processes this is, from 0; None reads RANK.
        world: How many there are; None reads WORLD_SIZE, and without it there is one.
        address: "host:port" where process 0 waits for the others; None reads
            MASTER_ADDR and MASTER_PORT.
        timeout: Seconds to wait for the others before giving up.
    """
    rank, world, address = check_world(rank, world, address, os.environ)
    if world > 1:
        # How processors talk to each other; accelerators have ways of their own.
        jax.config.update("jax_cpu_collectives_implementation", "gloo")
        jax.distributed.initialize(
            address, world, rank, initialization_timeout=int(timeout)
        )
    return rank, world


def shutdown() -> None:
    """Leave the process group; without one it does nothing."""
    if jax.process_count() > 1:
        jax.distributed.shutdown()


def device_mesh(*, data: int = 1, fsdp: int = 1, tensor: int = 1) -> Any:
    """The framework's mesh: devices in a grid whose axes say what each is for.

    `data` are copies of the model and `fsdp` shards of each copy, which see their share
    of the batch; `tensor` are parts that each matrix is cut into.
    """
    axes = {"data": data, "fsdp": fsdp, "tensor": tensor}
    check_mesh(axes, jax.device_count(), "devices")
    # Auto: the compiler decides where each intermediate result lies.
    return jax.make_mesh(
        tuple(axes.values()), tuple(axes), axis_types=(AxisType.Auto,) * len(axes)
    )


def distribute(model: nnx.Module, mesh: Any) -> nnx.Module:
    """Spread a model over a mesh; every process starts from process 0's weights.

    Returns the same object, its parameters cut along "fsdp" and "tensor" wherever an
    axis divides, and copied along "data".
    """
    state = nnx.to_flat_state(nnx.state(model))
    spread = []
    for path, variable in state:
        spec = PartitionSpec()
        if isinstance(variable, nnx.Param):
            spec = _spec(tuple(map(str, path)), variable.shape, dict(mesh.shape))
        whole = _from_first(variable[...])
        spread.append((path, variable.replace(put(whole, NamedSharding(mesh, spec)))))
    nnx.update(model, nnx.from_flat_state(spread))
    return model


def _spec(
    path: tuple[str, ...], shape: tuple[int, ...], mesh: dict[str, int]
) -> PartitionSpec:
    """Which mesh axis cuts which axis of a parameter."""
    cuts: list[str | None] = [None] * len(shape)
    layer = path[-2] if len(path) > 1 else ""
    if layer in _CUT:
        # A bias has only the axis of what goes out.
        axis = _CUT[layer] if len(shape) == 2 else _CUT[layer] - 1
        if axis >= 0 and shape[axis] % mesh["tensor"] == 0 and mesh["tensor"] > 1:
            cuts[axis] = "tensor"
    free = [
        axis
        for axis, size in enumerate(shape)
        if cuts[axis] is None and size % mesh["fsdp"] == 0
    ]
    if free and mesh["fsdp"] > 1:
        cuts[max(free, key=lambda axis: shape[axis])] = "fsdp"
    return PartitionSpec(*cuts)


def mesh_of(tree: Any) -> Any:
    """The mesh that parameters were spread over, or None."""
    for leaf in jax.tree.leaves(tree):
        if isinstance(getattr(leaf, "sharding", None), NamedSharding):
            return leaf.sharding.mesh
    return None


def shares_of(mesh: Any) -> tuple[str, ...]:
    """The mesh axes along which a batch is shared out."""
    if mesh is None:
        return ()
    return tuple(axis for axis in ("data", "fsdp") if axis in mesh.shape)


def is_key(array: Any) -> bool:
    return jnp.issubdtype(array.dtype, jax.dtypes.prng_key)


def put(array: Any, sharding: Any) -> Array:
    """Place an array that every process holds whole."""
    if is_key(array):
        data = put(jax.random.key_data(array), sharding)
        return jax.random.wrap_key_data(data, impl=jax.random.key_impl(array))
    whole = np.asarray(array)
    return jax.make_array_from_callback(whole.shape, sharding, lambda i: whole[i])


def _from_first(array: Array) -> Array:
    """What process 0 holds."""
    if jax.process_count() == 1 or not array.is_fully_addressable:
        return array
    from jax.experimental import multihost_utils

    if is_key(array):
        data = _from_first(jax.random.key_data(array))
        return jax.random.wrap_key_data(data, impl=jax.random.key_impl(array))
    return multihost_utils.broadcast_one_to_all(array)


def whole(tree: Any) -> Any:
    """A tree whose arrays this process can read; every process has to ask."""
    mesh = mesh_of(tree)
    if mesh is None or jax.process_count() == 1:
        return tree
    replicated = NamedSharding(mesh, PartitionSpec())
    return jax.jit(lambda x: x, out_shardings=replicated)(tree)
