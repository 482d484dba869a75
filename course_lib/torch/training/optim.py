r"""AdamW and gradient clipping (PyTorch).

    m <- β1 m + (1 - β1) g,   v <- β2 v + (1 - β2) g²                        (eq. 1)
    w <- w - η [ (m / (1 - β1^t)) / (sqrt(v / (1 - β2^t)) + ε) + λ w ]       (eq. 2)

Loshchilov and Hutter 2019, algorithm 2, arXiv:1711.05101, where the decay λ is also
multiplied by the rate η, as both frameworks do. λ pulls on parameters with two axes or
more; biases and norms, with one, are left alone.
"""

import math
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.utils import get_total_norm

from course_lib.config import TrainConfig
from course_lib.torch.training.distributed import shard, whole

__all__ = ["adamw", "clip_gradient"]


def adamw(model: nn.Module, config: TrainConfig) -> Any:
    """The optimizer of a training run: AdamW of all parameters.

    In its fused form, one call for all; what wants no gradient is left alone.
    """
    parameters = [p for p in model.parameters() if p.requires_grad]
    groups = [
        {
            "params": [p for p in parameters if p.ndim >= 2],
            "weight_decay": config.weight_decay,
        },
        {"params": [p for p in parameters if p.ndim < 2], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(
        groups,
        lr=config.learning_rate,
        betas=config.betas,
        eps=config.eps,
        fused=True,
    )


def clip_gradient(
    grads: Any, longest: float | None, scale: Any = 1.0
) -> tuple[Any, Float[Tensor, ""]]:
    """Gradient clipping by norm: shorten a gradient that is longer than `longest`.

    All its arrays are taken as one vector (Pascanu et al. 2013, algorithm 1,
    arXiv:1211.5063). It is multiplied by `scale` first. Returns the gradient, and the
    length that it had between the two, on an accelerator infinity where squares
    overflow.
    """
    norm = whole(get_total_norm(grads))
    if norm.device.type == "cpu" and norm.isinf():  # an accelerator would be waited for
        largest = float(whole(get_total_norm(grads, math.inf)))
        if largest < math.inf:
            shares = whole(get_total_norm([g / largest for g in grads]))
            wide = torch.promote_types(shares.dtype, torch.float32)
            norm = shares.to(wide) * largest
    norm = norm * scale
    if longest is not None:
        scale = scale * torch.clamp(longest / norm, max=1.0)
    if not (isinstance(scale, float) and scale == 1.0):
        torch._foreach_mul_([shard(g) for g in grads], scale)  # pyright: ignore
    return grads, norm
