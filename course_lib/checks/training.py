"""The rules of a training run, for both wings; each breach is a `ValueError`."""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from course_lib.checks.numbers import check_size

__all__ = [
    "check_fit", "check_levels", "check_loss", "check_mesh", "check_stack",
    "check_world",
]  # fmt: skip


def check_world(
    rank: int | None,
    world: int | None,
    address: str | None,
    environment: Mapping[str, str],
) -> tuple[int, int, str]:
    """Complete what a process knows of its run from the environment.

    RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT replace what is None. One process gets
    an empty address.
    """
    world = int(environment.get("WORLD_SIZE", 1)) if world is None else world
    rank = int(environment.get("RANK", 0)) if rank is None else rank
    check_size("world", world)
    if not 0 <= rank < world:
        raise ValueError(
            f"rank must be at least 0 and below world: got rank={rank}, world={world}."
        )
    if world == 1:
        return 0, 1, ""
    if address is None and {"MASTER_ADDR", "MASTER_PORT"} <= environment.keys():
        address = f"{environment['MASTER_ADDR']}:{environment['MASTER_PORT']}"
    if address is None or not address.rpartition(":")[2].isdigit():
        raise ValueError(
            "several processes need the address where process 0 waits, as host:port: "
            f"got {address!r}. torchrun sets it, in MASTER_ADDR and MASTER_PORT."
        )
    return rank, world, address


def check_mesh(axes: dict[str, int], available: int, of_what: str) -> None:
    """Refuse a mesh that does not use each of the devices or processes exactly once."""
    for name, size in axes.items():
        check_size(name, size)
    product = math.prod(axes.values())
    if product != available:
        sizes = " · ".join(f"{name}={size}" for name, size in axes.items())
        raise ValueError(
            f"a mesh must use each of the {of_what} once: got {sizes} = {product} for "
            f"{available} of them."
        )


def check_loss(value: Any, n_rows: int) -> tuple[Any, Any]:
    """Read what a loss returned as a sum and a count; a mean counts `n_rows` times."""
    pair = isinstance(value, (tuple, list)) and len(value) == 2
    total, count = value if pair else (value, n_rows)
    if tuple(getattr(total, "shape", (-1,))) != ():
        came = getattr(total, "shape", None)
        raise ValueError(
            "loss must return one number, or the pair of a sum and a count: got "
            f"{type(value).__name__ if came is None else f'shape {tuple(came)}'}. "
            "Average over the batch first, with .mean()."
        )
    return (total, count) if pair else (total * n_rows, count)


def check_levels(levels: Sequence[float], quantiles: Sequence[int]) -> None:
    """Refuse levels that are not one for each of the forecast's last axis, in order."""
    if tuple(quantiles) != (len(levels),):
        raise ValueError(
            f"levels must be one for each quantile: got {len(levels)} levels for "
            f"quantiles of shape {tuple(quantiles)}."
        )
    between = [0.0, *levels, 1.0]
    if any(low >= high for low, high in pairwise(between)):
        raise ValueError(
            "levels must rise, between 0 and 1 and without either: got "
            f"{tuple(levels)}. The 80% band is that from 0.1 to 0.9."
        )


def check_fit(
    config: Any,
    evaluate: Any,
    checkpoint: Any,
    resume: bool,
    dtypes: Mapping[str, str],
) -> None:
    """Refuse a call of `fit` that lacks what it needs, or weights in half precision.

    `dtypes` has the dtype of each parameter that is trained, by path.
    """
    for name, dtype in dtypes.items():
        dtype = dtype.removeprefix("torch.")
        if dtype in ("float16", "bfloat16"):
            raise ValueError(
                "weights must be trained in 32 bits, since in 16 most updates are "
                f"rounded away or underflow: got {name} in {dtype}. Convert the "
                'model to float32 and pass TrainConfig(precision="bfloat16"), which '
                "multiplies in 16 bits and keeps the weights in 32."
            )
        if not dtype.startswith(("float", "complex")):
            raise ValueError(
                f"weights must be fractions to be trained: got {name} in {dtype}. A "
                "quantized model writes; train it before it is quantized."
            )
    if config.evaluate_every is not None and evaluate is None:
        raise ValueError(
            f"evaluate_every={config.evaluate_every} needs something to call: pass "
            "evaluate=, a function of the model that returns a number."
        )
    if checkpoint is None and (resume or config.checkpoint_every is not None):
        raise ValueError(
            "a checkpoint needs a file: pass checkpoint=, such as 'run.safetensors' "
            f"(got resume={resume}, checkpoint_every={config.checkpoint_every})."
        )


def check_stack(batches: list[tuple[Any, ...]]) -> None:
    """Refuse batches of different shapes, which cannot be stacked."""
    shapes = [[tuple(array.shape) for array in batch] for batch in batches]
    for shape in shapes:
        if shape != shapes[0]:
            raise ValueError(
                "every batch must have the same shapes, for which a step is compiled "
                f"once: got {shapes[0]} and {shape}. Pad the shorter one, or leave the "
                "last short batch out."
            )
