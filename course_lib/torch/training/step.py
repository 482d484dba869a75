"""One update of a training run (PyTorch).

Nothing here waits for the device: on an accelerator Python runs ahead of it, and `fit`
reads the records of many steps at once.
"""

from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from course_lib.arrays import owned
from course_lib.checks.training import check_loss
from course_lib.config import TrainConfig
from course_lib.torch.training.checkpoint import Run
from course_lib.torch.training.distributed import quiet
from course_lib.torch.training.optim import clip_gradient
from course_lib.training.batches import Batch, check_parts

__all__: list[str] = []  # `fit` is what a reader calls


def one_step(
    run: Run, batch: Batch, loss: Callable[..., Any], config: TrainConfig, rate: float
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
        tensors = to_tensors([array[mine] for array in batch], run.model)
        with quiet(run.model, part < config.accumulate - 1):
            with torch.autocast(run.device.type, torch.bfloat16, enabled=short):
                total, count = check_loss(loss(run.model, *tensors), 1)
            total.backward()
        sums += sum_and_count(total.detach(), count)
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
    record = torch.stack([total / count, norm])
    run.bad |= ~record.isfinite().all()
    # Where it is 1 the fused AdamW skips its update, on the device. No public call does
    # that alone: GradScaler sets the same, behind a pass over all gradients, and asking
    # `bad` here would wait for the device at each step.
    run.optimizer.found_inf = run.bad.float()
    run.optimizer.step()
    return record


def sum_and_count(total: Tensor, count: Any) -> Tensor:
    """Both in one tensor on the device, as precise as it can be."""
    wide, device = _wide(total.device), total.device
    return torch.stack([total.to(wide), torch.as_tensor(count, dtype=wide).to(device)])


def _wide(device: torch.device) -> torch.dtype:
    """What sums over many parts are kept in; Apple's devices have nothing wider."""
    return torch.float32 if device.type == "mps" else torch.float64


def to_tensors(batch: Any, model: nn.Module) -> list[Tensor]:
    """A batch as tensors where the model is, also one that is a single array.

    Whole numbers have 64 bits, and arrays' fractions the dtype of the parameters.
    """
    arrays = batch if isinstance(batch, (tuple, list)) else (batch,)
    like = next(p for p in model.parameters() if p.is_floating_point())
    return [_tensor(array, like) for array in arrays]


def _tensor(array: Any, like: Tensor) -> Tensor:
    """A tensor as it is, or a copy of an array."""
    given = isinstance(array, Tensor)
    tensor = array if given else torch.from_numpy(owned(array))
    dtype = tensor.dtype
    if dtype.is_floating_point and not given:
        dtype = like.dtype
    elif not (dtype.is_floating_point or dtype.is_complex or dtype == torch.bool):
        dtype = torch.int64
    return tensor.to(like.device, dtype)
