r"""Quantized linear maps: weights of 8 or 4 bits, for a model that writes (Flax NNX).

    s = max |w| / q,    c = round(w / s),    w' = s c                    (eq. 1)

in each row of a matrix, or in each `group` of a row's inputs (absmax quantization).
q is 127 ("int8") or 7 ("int4", two in a byte), and 448 if c is rounded to the nearest
E4M3 number ("e4m3").

Dettmers et al. 2022 (LLM.int8()), section 2, arXiv:2208.07339. Groups: Frantar et al.
2022 (GPTQ), section 4, arXiv:2210.17323. E4M3: Micikevicius et al. 2022, table 1,
arXiv:2209.05433. Departure: the product is taken in the dtype of x, after the weights
are written out again, so memory is saved and arithmetic is not. Scales have at least
32 bits, in which a small row's do not underflow.

Codes and scales are in PyTorch's layout here too, a row for each output.
"""

from typing import Any

import jax.numpy as jnp
from flax import nnx
from jax import Array, lax
from jaxtyping import Float, Integer

from course_lib.checks import check_choice, check_divides, check_even
from course_lib.config import LARGEST

__all__ = ["QuantizedLinear", "dequantize_weight", "quantize", "quantize_weight"]


def quantize_weight(
    w: Float[Array, "Dout Din"], *, kind: str = "int8", group: int | None = None
) -> tuple[Integer[Array, "Dout Bytes"], Float[Array, "Dout Groups"]]:
    """Absmax quantization: eq. 1's codes as they are stored, and the scales."""
    check_choice("kind", kind, tuple(LARGEST))
    group = w.shape[1] if group is None else group
    check_divides("group", group, "in_features", w.shape[1])
    wide = w.astype(jnp.promote_types(w.dtype, jnp.float32))
    q, groups = LARGEST[kind], wide.reshape(len(w), -1, group)  # Dout Groups group
    scale = jnp.abs(groups).max(axis=-1) / q
    scale = jnp.where(scale > 0, scale, 1.0)  # a group of zeros
    numbers = jnp.clip(groups / scale[..., None], -q, q).reshape(w.shape)
    if kind == "e4m3":
        return lax.bitcast_convert_type(
            numbers.astype(jnp.float8_e4m3fn), jnp.uint8
        ), scale
    codes = jnp.round(numbers).astype(jnp.int8)
    if kind == "int4":
        check_even("in_features", w.shape[1], "a byte holds two weights")
        codes = (codes + 8).astype(jnp.uint8)
        codes = codes[:, ::2] | codes[:, 1::2] << 4
    return codes, scale


def dequantize_weight(
    codes: Integer[Array, "Dout Bytes"], scale: Float[Array, "Dout Groups"], kind: str
) -> Float[Array, "Dout Din"]:
    """The weights that codes and scales stand for, in the dtype of the scales."""
    check_choice("kind", kind, tuple(LARGEST))
    if kind == "e4m3":
        codes = lax.bitcast_convert_type(codes, jnp.float8_e4m3fn)
    if kind == "int4":
        codes = jnp.stack([codes & 15, codes >> 4], axis=-1).reshape(len(codes), -1)
    numbers = codes.astype(scale.dtype) - (8 if kind == "int4" else 0)
    groups = numbers.reshape(*scale.shape, -1)
    return (groups * scale[..., None]).reshape(numbers.shape)


class QuantizedLinear(nnx.Module):
    """Quantized linear layer: a linear layer with its weights rounded to a few bits.

    The bias stays as it is. Codes and scales are parameters, so they are saved and
    loaded as weights are, but `nnx.grad` can't be asked for a gradient in them.
    """

    def __init__(
        self, layer: nnx.Linear, *, kind: str = "int8", group: int | None = None
    ):
        w = layer.kernel[...].T
        codes, scale = quantize_weight(w, kind=kind, group=group)
        self.kind = kind
        self.in_features, self.out_features = layer.in_features, layer.out_features
        self.codes, self.scale = nnx.Param(codes), nnx.Param(scale)
        self.bias = nnx.data(layer.bias)

    def __call__(self, x: Float[Array, "*B Din"]) -> Float[Array, "*B Dout"]:
        """The linear map with the rounded weights."""
        w = dequantize_weight(self.codes[...], self.scale[...], self.kind)
        y = x @ w.T.astype(x.dtype)
        return y if self.bias is None else y + self.bias[...]


def quantize(
    model: nnx.Module, *, kind: str = "int8", group: int | None = None
) -> None:
    """Round the weights of every linear layer of a model, in place."""
    options = {"kind": kind, "group": group}
    found = [
        (path, QuantizedLinear(layer, **options))
        for path, layer in nnx.iter_graph(model)
        if path and type(layer) is nnx.Linear
    ]
    if not found:
        raise ValueError(
            f"a model to quantize must have linear layers: {type(model).__name__} has "
            "none, or they are quantized. A single layer goes into QuantizedLinear."
        )
    for (*path, last), layer in found:
        part: Any = model
        for name in path:
            part = part[name] if isinstance(name, int) else getattr(part, str(name))
        if isinstance(last, int):  # in a list
            part[last] = layer
        else:
            setattr(part, str(last), layer)
