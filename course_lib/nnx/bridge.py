"""Weights in and out of a model, as plain arrays (Flax NNX).

The course's exchange format is a dictionary from a parameter's dotted path to a NumPy
array in PyTorch's layout. Both wings name their parts alike, so weights read from one
go straight into the other: a table of five rows turns the layouts into each other.
"""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from flax import nnx
from jax import Array

from course_lib.arrays import to_numpy
from course_lib.checks import check_weights

__all__ = ["from_builtin", "get_weights", "set_weights"]

# What NNX calls a parameter, what PyTorch calls it, and how its axes move from NNX's
# layout to PyTorch's, by the number of axes. Anything else keeps its name and layout.
_TABLE = {
    ("kernel", 2): ("weight", (1, 0)),  # Linear: in out -> out in
    ("kernel", 3): ("weight", (2, 1, 0)),  # Conv: width in out -> out in width
    ("kernel", 4): ("weight", (3, 2, 0, 1)),  # Conv: height width in out -> out in h w
    ("scale", 1): ("weight", (0,)),  # LayerNorm, RMSNorm
    ("embedding", 2): ("weight", (0, 1)),  # Embed
}


def _torch_name(path: tuple[Any, ...], p: nnx.Param) -> tuple[str, tuple[int, ...]]:
    """A parameter's name in PyTorch, and its axes' way to PyTorch's layout."""
    *parts, leaf = (str(part) for part in path)
    leaf, axes = _TABLE.get((leaf, p.ndim), (leaf, tuple(range(p.ndim))))
    return ".".join([*parts, leaf]), axes


def _parameters(model: nnx.Module) -> dict[str, tuple[nnx.Param, tuple[int, ...]]]:
    """Each parameter under PyTorch's name, with the axes' way to PyTorch's layout."""
    found = {}
    for path, p in nnx.to_flat_state(nnx.state(model, nnx.Param)):
        name, axes = _torch_name(path, p)
        found[name] = (p, axes)
    return found


def get_weights(model: nnx.Module) -> dict[str, np.ndarray]:
    """Copy every parameter out of a model: arrays by path, in PyTorch's layout."""
    return {
        name: to_numpy(p[...]).copy().transpose(axes)
        for name, (p, axes) in _parameters(model).items()
    }


def set_weights(model: nnx.Module, weights: dict[str, np.ndarray]) -> None:
    """Copy arrays by path, in PyTorch's layout, into a model, cast to its dtypes."""
    _check(model, weights)
    for name, (p, axes) in _parameters(model).items():
        p[...] = _array(p, axes, np.array(weights[name]))


def _check(model: nnx.Module, weights: dict[str, np.ndarray]) -> None:
    shapes = {
        name: tuple(p.shape[axis] for axis in axes)
        for name, (p, axes) in _parameters(model).items()
    }
    check_weights(shapes, weights)


def _array(p: nnx.Param, axes: tuple[int, ...], array: np.ndarray) -> Array:
    """In NNX's layout. It may go on using the memory of `array`."""
    turned = array.transpose(np.argsort(axes))
    return jax.device_put(np.asarray(turned, dtype=p.dtype, order="C"))


def from_weights(
    piece: Callable[..., nnx.Module],
    weights: dict[str, np.ndarray],
    *args: Any,
    dtype: str = "float32",
    **options: Any,
) -> nnx.Module:
    """`piece(*args, **options)` with these weights, which are taken out of the dict.

    No random start is computed only to be thrown away: the model is traced for its
    shapes, which are then filled. It holds parameters and dropout's streams alone.
    """
    model = nnx.eval_shape(lambda: piece(*args, **options, rngs=nnx.Rngs(0)))
    _check(model, weights)
    graphdef, shapes, streams = nnx.split(model, nnx.Param, nnx.RngState)
    shapes = jax.tree.map(lambda p: jax.ShapeDtypeStruct(p.shape, dtype), shapes)
    filled = []
    for path, p in nnx.to_flat_state(shapes):
        name, axes = _torch_name(path, p)
        filled.append((path, p.replace(_array(p, axes, weights.pop(name)))))
    for i, (path, stream) in enumerate(nnx.to_flat_state(streams)):
        is_key = isinstance(stream, nnx.RngKey)
        start = jax.random.key(i) if is_key else np.zeros(stream.shape, np.uint32)
        filled.append((path, stream.replace(jax.device_put(start))))
    return nnx.merge(graphdef, nnx.from_flat_state(filled))


def from_builtin(layer: nnx.MultiHeadAttention) -> dict[str, np.ndarray]:
    """Read the framework's own multi-head layer as `MultiHeadAttention`'s weights."""
    if not layer.in_features == layer.qkv_features == layer.out_features:
        raise ValueError(
            "nnx.MultiHeadAttention must have in_features = qkv_features = "
            f"out_features: got {layer.in_features}, {layer.qkv_features}, "
            f"{layer.out_features}."
        )
    if layer.query_ln is not None:
        raise ValueError(
            "nnx.MultiHeadAttention must have normalize_qk=False: ours does not "
            "normalize queries and keys."
        )
    width = layer.in_features
    weights = {}
    names = {"q": layer.query, "k": layer.key, "v": layer.value, "o": layer.out}
    for name, part in names.items():
        kernel = np.array(part.kernel[...]).reshape(width, width)  # heads lie flat
        weights[f"{name}_proj.weight"] = kernel.T
        if part.bias is not None:
            weights[f"{name}_proj.bias"] = np.array(part.bias[...]).reshape(width)
    return weights
