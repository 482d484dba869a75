r"""Losses: cross-entropy of one of V classes, pinball loss of quantiles (PyTorch).

    L = -sum_n [(1 - ε) log p_n(y_n) + (ε / V) sum_v log p_n(v)] / N          (eq. 1)

where p_n is the softmax of row n of the logits, y_n its target, ε the label smoothing
(Szegedy et al. 2016, section 7, arXiv:1512.00567) and N the number of targets that
count.

A departure from the framework's own: where no target counts, the loss is 0, not NaN.

    rho_τ(u) = max(τ u, (τ - 1) u),   u = y - q                          (eq. 2)

is the pinball loss of q as the quantile of level τ (Koenker and Bassett 1978,
doi:10.2307/1913643).
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from course_lib.checks import check_levels, check_logits, check_targets

__all__ = ["cross_entropy", "cross_entropy_sum", "next_token_loss", "pinball"]


def cross_entropy_sum(
    logits: Float[Tensor, "*B V"],
    targets: Int[Tensor, "*B"],
    *,
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
) -> tuple[Float[Tensor, ""], Int[Tensor, ""]]:
    """Cross-entropy summed over the targets, in nats, and how many they are.

    A loss that returns this pair lets `fit` divide by the right number when a batch is
    gone through in parts or by several processes, where padding is spread unevenly.
    Targets of `ignore_index` do not count; `label_smoothing` is ε.
    """
    check_logits(logits, targets, label_smoothing, ignore_index)
    rows = logits.flatten(0, -2)
    try:
        total = F.cross_entropy(
            rows.float() if logits.itemsize < 4 else rows,
            targets.flatten().long(),
            ignore_index=ignore_index,
            label_smoothing=label_smoothing,
            reduction="sum",
        )
    except IndexError:  # on a processor; a GPU can't say which one it was
        check_targets(targets, logits.shape[-1], ignore_index)
        raise
    return total, (targets != ignore_index).sum()


def cross_entropy(
    logits: Float[Tensor, "*B V"],
    targets: Int[Tensor, "*B"],
    *,
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
) -> Float[Tensor, ""]:
    """Cross-entropy averaged over the targets that count: eq. 1; 0 if none does."""
    total, count = cross_entropy_sum(
        logits, targets, ignore_index=ignore_index, label_smoothing=label_smoothing
    )
    return total / count.clamp(min=1)


def next_token_loss(
    model: Callable[..., Any], ids: Int[Tensor, "B T"]
) -> Float[Tensor, ""]:
    """Cross-entropy of a causal model's next token, at every position but the last."""
    return cross_entropy(model(ids[:, :-1]), ids[:, 1:])


def pinball(
    quantiles: Float[Tensor, "*B Q"],
    actual: Float[Tensor, "*B"],
    levels: Sequence[float],
) -> Float[Tensor, ""]:
    """Pinball loss, averaged over all quantiles of all forecasts: eq. 2.

    Its mean is smallest where each q is the quantile of its level, which rise from one
    to the next, between 0 and 1. Of no forecasts it is 0. It is computed in 32 bits.
    """
    check_levels(levels, quantiles.shape[-1:])
    quantiles = quantiles.float() if quantiles.itemsize < 4 else quantiles
    rank = quantiles.new_tensor(levels)
    above = actual[..., None] - quantiles  # *B Q
    losses = torch.maximum(rank * above, (rank - 1) * above)
    return losses.mean() if losses.numel() else losses.sum()
