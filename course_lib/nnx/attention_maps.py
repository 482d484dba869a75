"""Attention maps of a whole model: every layer's weights in one call (Flax NNX)."""

from collections.abc import Iterator
from typing import Any

from flax import nnx
from jax import Array
from jaxtyping import Float

from course_lib.checks import check_no_cache
from course_lib.nnx.multihead import MultiHeadAttention

__all__ = ["attention_maps"]


def attention_maps(
    model: nnx.Module, *inputs: Any, **options: Any
) -> list[Float[Array, "*B H T S"]]:
    """Attention maps of every layer of a model, while it reads its inputs.

    Maps come in the order in which the model defines its layers; one that is not called
    has none. NNX has no hooks: a copy that shares the arrays has layers that listen.
    Dropout elsewhere would show in the maps of a model in training mode.
    """
    found: dict[int, Array] = {}

    class Listening(MultiHeadAttention):
        def __call__(self, *args: Any, cache: Any = None, **kwargs: Any) -> Array:
            check_no_cache(cache)
            found[id(self)] = self.maps(*args, **kwargs)
            return super().__call__(*args, **kwargs)

    twin = nnx.clone(model)
    pairs = zip(nnx.iter_graph(model), nnx.iter_graph(twin), strict=True)
    twins = {id(part): copy for (_, part), (_, copy) in pairs}
    layers = [twins[id(layer)] for layer in _layers(model)]
    for layer in layers:
        layer.__class__ = Listening
    twin(*inputs, **options)  # pyright: ignore[reportCallIssue]
    return [found[id(layer)] for layer in layers if id(layer) in found]


def _layers(part: Any) -> Iterator[MultiHeadAttention]:
    """The attention layers in the order in which they are defined, not by name."""
    if isinstance(part, MultiHeadAttention):
        yield part
    elif isinstance(part, nnx.Module):
        yield from _layers(list(vars(part).values()))
    elif isinstance(part, list):
        for child in part:
            yield from _layers(child)
