r"""Quantized linear maps: weights of 8 or 4 bits, for a model that writes (PyTorch).

    s = max |w| / q,    c = round(w / s),    w' = s c                    (eq. 1)

in each row of a matrix, or in each `group` of a row's inputs (absmax quantization).
q is 127 ("int8") or 7 ("int4", two in a byte), and 448 if c is rounded to the nearest
E4M3 number ("e4m3").

Dettmers et al. 2022 (LLM.int8()), section 2, arXiv:2208.07339. Groups: Frantar et al.
2022 (GPTQ), section 4, arXiv:2210.17323. E4M3: Micikevicius et al. 2022, table 1,
arXiv:2209.05433. Departure: the product is taken in the dtype of x, after the weights
are written out again, so memory is saved and arithmetic is not. Scales have at least
32 bits, in which a small row's do not underflow.
"""

import torch
import torch.nn.functional as F
from jaxtyping import Float, Integer
from torch import Tensor, nn

from course_lib.checks import check_choice, check_divides, check_even
from course_lib.config import LARGEST

__all__ = ["QuantizedLinear", "dequantize_weight", "quantize", "quantize_weight"]


def quantize_weight(
    w: Float[Tensor, "Dout Din"], *, kind: str = "int8", group: int | None = None
) -> tuple[Integer[Tensor, "Dout Bytes"], Float[Tensor, "Dout Groups"]]:
    """Absmax quantization: eq. 1's codes as they are stored, and the scales.

    `group` None is a whole row. Of two "int4" in a byte the first has the low bits.
    """
    check_choice("kind", kind, tuple(LARGEST))
    group = w.shape[1] if group is None else group
    check_divides("group", group, "in_features", w.shape[1])
    wide = w.to(torch.promote_types(w.dtype, torch.float32))
    q, groups = LARGEST[kind], wide.unflatten(1, (-1, group))  # Dout Groups group
    scale = groups.abs().amax(dim=-1) / q
    scale = torch.where(scale > 0, scale, 1.0)  # a group of zeros
    numbers = (groups / scale[..., None]).clamp(-q, q).flatten(1)
    if kind == "e4m3":
        return numbers.to(torch.float8_e4m3fn).view(torch.uint8), scale
    codes = numbers.round().to(torch.int8)
    if kind == "int4":
        check_even("in_features", w.shape[1], "a byte holds two weights")
        low, high = (codes + 8).to(torch.uint8).unflatten(1, (-1, 2)).unbind(-1)
        codes = low | high << 4
    return codes, scale


def dequantize_weight(
    codes: Integer[Tensor, "Dout Bytes"], scale: Float[Tensor, "Dout Groups"], kind: str
) -> Float[Tensor, "Dout Din"]:
    """The weights that codes and scales stand for, in the dtype of the scales."""
    check_choice("kind", kind, tuple(LARGEST))
    if kind == "e4m3":
        codes = codes.view(torch.float8_e4m3fn)
    if kind == "int4":
        codes = torch.stack([codes & 15, codes >> 4], dim=-1).flatten(1)
    numbers = codes.to(scale.dtype) - (8 if kind == "int4" else 0)
    groups = numbers.unflatten(1, (scale.shape[1], -1))
    return (groups * scale[..., None]).flatten(1)


class QuantizedLinear(nn.Module):
    """Quantized linear layer: a linear layer with its weights rounded to a few bits.

    The bias stays as it is. Codes and scales are parameters without a gradient, so they
    are saved and loaded as weights are.
    """

    def __init__(
        self, layer: nn.Linear, *, kind: str = "int8", group: int | None = None
    ):
        super().__init__()
        w = layer.weight.detach()
        codes, scale = quantize_weight(w, kind=kind, group=group)
        self.kind = kind
        self.in_features, self.out_features = layer.in_features, layer.out_features
        self.codes = nn.Parameter(codes, requires_grad=False)
        self.scale = nn.Parameter(scale, requires_grad=False)
        self.bias = layer.bias

    def forward(self, x: Float[Tensor, "*B Din"]) -> Float[Tensor, "*B Dout"]:
        """The linear map with the rounded weights."""
        w = dequantize_weight(self.codes, self.scale, self.kind)
        return F.linear(x, w.to(x.dtype), self.bias)


def quantize(model: nn.Module, *, kind: str = "int8", group: int | None = None) -> None:
    """Round the weights of every linear layer of a model, in place.

    Embeddings, and with them a tied head, norms, biases and the matrices of a mixture's
    experts stay as they are. To load a model that was saved quantized, quantize a fresh
    one and load into it. An error leaves the model as it was.
    """
    options = {"kind": kind, "group": group}
    found = [
        (part, name, QuantizedLinear(layer, **options))
        for part in model.modules()
        for name, layer in part.named_children()
        if type(layer) is nn.Linear  # a subclass may be read by another layer
    ]
    if not found:
        raise ValueError(
            f"a model to quantize must have linear layers: {type(model).__name__} has "
            "none, or they are quantized. A single layer goes into QuantizedLinear."
        )
    for part, name, layer in found:
        setattr(part, name, layer)
