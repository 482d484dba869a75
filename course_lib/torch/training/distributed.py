"""Training on several processes at once (PyTorch: DDP and FSDP2).

Each process holds a copy of the model (data parallel, Li et al. 2020, arXiv:2006.15704)
or a shard of it (fully sharded, Zhao et al. 2023, arXiv:2304.11277), and sees its share
of each batch. `fit` finds out from the model it is given; the pieces know nothing of
it.

    _, world = init_distributed()
    model = distribute(GPT(config), device_mesh(data=world))
    history = fit(model, batches, loss, config=settings)
    shutdown()

Under plain `python my_script.py` this is one process; two are started by
`torchrun --nproc-per-node 2 my_script.py`.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from course_lib.checks.training import check_mesh, check_world

_DDP = nn.parallel.DistributedDataParallel

__all__ = ["device_mesh", "distribute", "init_distributed", "shutdown"]


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
            MASTER_ADDR and MASTER_PORT. torchrun sets them all.
        timeout: Seconds to wait for the others before giving up.
    """
    rank, world, address = check_world(rank, world, address, os.environ)
    if world > 1:
        cuda = torch.cuda.is_available()
        if cuda:
            torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", rank)))
        dist.init_process_group(
            "nccl" if cuda else "gloo",
            # torchrun already runs the store that env:// finds.
            init_method="env://" if "RANK" in os.environ else f"tcp://{address}",
            rank=rank,
            world_size=world,
            timeout=timedelta(seconds=timeout),
        )
    return rank, world


def shutdown() -> None:
    """Leave the process group; without one it does nothing."""
    if dist.is_initialized():
        dist.destroy_process_group()


def device_mesh(*, data: int = 1, fsdp: int = 1, tensor: int = 1) -> Any:
    """The framework's mesh: devices in a grid whose axes say what each is for.

    `data` are copies of the model and `fsdp` shards of each copy, which see their share
    of the batch; `tensor` are parts that each matrix is cut into. Only the NNX wing
    has the last, where the compiler does the cutting.
    """
    world = dist.get_world_size() if dist.is_initialized() else 1
    check_mesh({"data": data, "fsdp": fsdp, "tensor": tensor}, world, "processes")
    if tensor > 1:
        raise ValueError(
            f"tensor must be 1 in the PyTorch wing: got {tensor}. Take fsdp for a "
            "model that is too large for one device, or the NNX wing for a tensor axis."
        )
    from torch.distributed.device_mesh import init_device_mesh

    if not dist.is_initialized():  # a mesh needs a group, also one of a single process
        alone = dist.HashStore()  # pyright: ignore[reportPrivateImportUsage]
        dist.init_process_group("gloo", store=alone, rank=0, world_size=1)
    kind = "cuda" if torch.cuda.is_available() else "cpu"
    names = ("data", "fsdp", "tensor")
    return init_device_mesh(kind, (data, fsdp, tensor), mesh_dim_names=names)


def distribute(model: nn.Module, mesh: Any) -> nn.Module:
    """Spread a model over a mesh; every process starts from process 0's weights.

    Returns what to give to `fit`: the same object on one process; wrapped by DDP where
    only "data" is larger than 1; else the same object, its parameters sharded by FSDP2,
    block by block. DDP needs a loss that uses every parameter, and both need one that
    calls the model itself.
    """
    if mesh.size() == 1:
        return model
    if mesh["fsdp"].size() == 1:
        group = mesh["data"].get_group()
        return _DDP(model, process_group=group)
    from torch.distributed.fsdp import fully_shard

    for tensor in (*model.parameters(), *model.buffers()):
        dist.broadcast(tensor.detach(), src=0)
    # Two axes mean copies of the shards; one means shards alone.
    grid = mesh["data", "fsdp"] if mesh["data"].size() > 1 else mesh["fsdp"]
    for part in list(model.modules()):
        if isinstance(part, nn.ModuleList):
            for block in part:
                fully_shard(block, mesh=grid)
    # The root too gives back what it gathered: an evaluation has no backward pass.
    fully_shard(model, mesh=grid, reshard_after_forward=True)
    return model


def bare(model: nn.Module) -> nn.Module:
    """The model inside the wrappers of DDP and torch.compile; any other as it is."""
    while (inner := getattr(model, "_orig_mod", None)) is not None:
        model = inner
    return bare(model.module) if isinstance(model, _DDP) else model


def place(model: nn.Module) -> tuple[int, int]:
    """This process's rank among those that share the model's batches, and their number.

    A model that was not distributed is trained by each process alone.
    """
    spread = any(isinstance(part, _DDP) for part in model.modules())
    spread = spread or any(hasattr(p, "full_tensor") for p in model.parameters())
    return (dist.get_rank(), dist.get_world_size()) if spread else (0, 1)


@contextmanager
def quiet(model: Any, hold: bool) -> Iterator[None]:
    """Hold the exchange of gradients back until the last part of a batch."""
    if hold and hasattr(model, "no_sync"):
        with model.no_sync():
            yield
        return
    if hasattr(model, "set_requires_gradient_sync"):
        model.set_requires_gradient_sync(not hold)
    yield


def whole(tensor: Any) -> Tensor:
    """All of a tensor that may be sharded; every process has to ask."""
    return tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor


def shard(tensor: Any) -> Tensor:
    """This process's shard of a tensor, or all of one that is not sharded."""
    return tensor.to_local() if hasattr(tensor, "to_local") else tensor


def placed_like(array: Tensor, model_tensor: Any) -> Tensor:
    """An array given whole to every process, cast and sharded like a parameter."""
    array = array.to(model_tensor.device, model_tensor.dtype)
    if not hasattr(model_tensor, "full_tensor"):
        return array
    from torch.distributed.tensor import distribute_tensor

    return distribute_tensor(array, model_tensor.device_mesh, model_tensor.placements)
