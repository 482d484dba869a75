"""Weights in and out of a model, as plain arrays (PyTorch).

The course's exchange format is a dictionary from a parameter's dotted path to a NumPy
array in PyTorch's layout. Both wings name their parts alike, so weights read from one
go straight into the other: here nothing changes, in the NNX wing a table of five rows
does.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from course_lib.arrays import to_numpy
from course_lib.checks import check_weights

__all__ = ["from_builtin", "get_weights", "set_weights"]


def get_weights(model: nn.Module) -> dict[str, np.ndarray]:
    """Copy every parameter out of a model: arrays by path, in PyTorch's layout.

    A parameter shared by two parts is listed once, under the name it was made with, and
    one of bfloat16 as float32, exactly.
    """
    return {name: to_numpy(p).copy() for name, p in parameters(model).items()}


def parameters(model: nn.Module) -> dict[str, nn.Parameter]:
    """Parameters by path, without what torch.compile puts into the paths."""
    return {uncompiled(name): p for name, p in model.named_parameters()}


def uncompiled(name: str) -> str:
    """A path without what torch.compile puts into it."""
    return name.replace("_orig_mod.", "")


def set_weights(model: nn.Module, weights: dict[str, np.ndarray]) -> None:
    """Copy arrays by path, in PyTorch's layout, into a model, cast to its dtypes.

    Missing and unknown paths and other shapes are all listed in one error, which leaves
    the model as it was.
    """
    _fill(model, dict(weights))


def from_weights(
    piece: Callable[..., nn.Module],
    weights: dict[str, np.ndarray],
    *args: Any,
    dtype: str = "float32",
    **options: Any,
) -> nn.Module:
    """`piece(*args, **options)` with these weights, which are taken out of the dict.

    No random start is computed only to be thrown away. Parameters are all that the
    models here have; buffers of others would stay empty.
    """
    with torch.device("meta"), _NoStart():
        model = piece(*args, **options).to(getattr(torch, dtype))
    _fill(model.to_empty(device=torch.get_default_device()), weights)
    return model


class _NoStart(TorchFunctionMode):
    """Nothing is drawn: on "meta" a normal start would import a compiler first."""

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        given = kwargs or {}
        if func is nn.init.normal_:
            return given["tensor"]
        return func(*args, **given)


def _fill(model: nn.Module, weights: dict[str, np.ndarray]) -> None:
    """`set_weights`, forgetting each array once it is copied: less memory at a time."""
    found = parameters(model)
    check_weights({name: tuple(p.shape) for name, p in found.items()}, weights)
    with torch.no_grad():
        for name, p in found.items():
            # PyTorch takes no read-only arrays, negative strides or foreign byte order.
            array = to_numpy(weights.pop(name))
            array = np.require(array, array.dtype.newbyteorder("="), ["C", "W"])
            p.copy_(torch.from_numpy(array))


def from_builtin(layer: nn.MultiheadAttention) -> dict[str, np.ndarray]:
    """Read the framework's own multi-head layer as `MultiHeadAttention`'s weights.

    Its queries, keys and values must have one width, as ours do.
    """
    if layer.in_proj_weight is None or layer.bias_k is not None or layer.add_zero_attn:
        raise ValueError(
            "nn.MultiheadAttention must have kdim = vdim = embed_dim and neither "
            "add_bias_kv nor add_zero_attn: ours has no such parts."
        )
    parts = {"q_proj": {}, "k_proj": {}, "v_proj": {}}
    names = tuple(parts)
    for name, w in zip(names, layer.in_proj_weight.chunk(3), strict=True):
        parts[name]["weight"] = w
    parts["o_proj"] = {"weight": layer.out_proj.weight}
    if layer.in_proj_bias is not None:
        for name, b in zip(names, layer.in_proj_bias.chunk(3), strict=True):
            parts[name]["bias"] = b
        parts["o_proj"]["bias"] = layer.out_proj.bias
    return {
        f"{part}.{kind}": to_numpy(p).copy()
        for part, kinds in parts.items()
        for kind, p in kinds.items()
    }
