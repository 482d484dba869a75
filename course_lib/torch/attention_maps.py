"""Attention maps of a whole model: every layer's weights in one call (PyTorch)."""

from typing import Any

from jaxtyping import Float
from torch import Tensor, nn

from course_lib.checks import check_no_cache
from course_lib.torch.multihead import MultiHeadAttention

__all__ = ["attention_maps"]


def attention_maps(
    model: nn.Module, *inputs: Any, **options: Any
) -> list[Float[Tensor, "*B H T S"]]:
    """Attention maps of every layer of a model, while it reads its inputs.

    Maps come in the order in which the model defines its layers; one that is not called
    has none. Forward hooks listen. Dropout elsewhere would show in the maps of a model
    in training mode.
    """
    found: dict[Any, Tensor] = {}

    def listen(layer: Any, args: tuple, kwargs: dict, output: Tensor):
        check_no_cache(kwargs.pop("cache", None))
        found[layer] = layer.maps(*args, **kwargs)

    layers = [m for m in model.modules() if isinstance(m, MultiHeadAttention)]
    handles = [m.register_forward_hook(listen, with_kwargs=True) for m in layers]
    try:
        model(*inputs, **options)
    finally:
        for handle in handles:
            handle.remove()
    return [found[layer] for layer in layers if layer in found]
