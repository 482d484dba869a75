"""Attention maps of a whole model: every layer's weights in one call (Flax NNX)."""

from collections.abc import Iterator
from typing import Any
from unittest import mock

from flax import nnx
from jax import Array
from jaxtyping import Float

from course_lib.checks import check_no_cache
from course_lib.nnx.multihead import MultiHeadAttention


def attention_maps(
    model: nnx.Module, *inputs: Any, **options: Any
) -> list[Float[Array, "*B H T S"]]:
    """Attention maps of every layer of a model, while it reads its inputs.

    NNX has no hooks: while the model runs, the layers' class is called through a
    function that listens. The model itself is not changed.

    Args:
        model: Any module of this wing, in evaluation mode; dropout elsewhere in it
            would show in the maps.
        inputs: What the model is called with.
        options: What it is called with by name.

    Returns:
        The maps of each `MultiHeadAttention` that was called, in the order in which the
        model defines them.

    Raises:
        ValueError: It was called with a cache.
    """
    found: dict[int, Array] = {}
    call = MultiHeadAttention.__call__

    def listen(layer: Any, *args: Any, cache: Any = None, **kwargs: Any) -> Array:
        check_no_cache(cache)
        found[id(layer)] = layer.maps(*args, **kwargs)
        return call(layer, *args, **kwargs)

    with mock.patch.object(MultiHeadAttention, "__call__", listen):
        model(*inputs, **options)
    return [found[id(layer)] for layer in _layers(model) if id(layer) in found]


def _layers(part: Any) -> Iterator[MultiHeadAttention]:
    """The attention layers in the order in which they are defined, not by name."""
    if isinstance(part, MultiHeadAttention):
        yield part
    elif isinstance(part, nnx.Module):
        yield from _layers(list(vars(part).values()))
    elif isinstance(part, list):
        for child in part:
            yield from _layers(child)
