"""Losses: cross-entropy of one of V classes, pinball loss of quantiles (JAX)."""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, Int

from course_lib.checks import check_levels, check_logits

__all__ = ["cross_entropy", "cross_entropy_sum", "next_token_loss", "pinball"]


def cross_entropy_sum(
    logits: Float[Array, "*B V"],
    targets: Int[Array, "*B"],
    *,
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
) -> tuple[Float[Array, ""], Int[Array, ""]]:
    """Cross-entropy summed over the targets, in nats, and how many they are."""
    check_logits(logits, targets, label_smoothing, ignore_index)
    logits = logits.astype(jnp.promote_types(logits.dtype, jnp.float32))
    counts = targets != ignore_index
    # -log p(v) = log Z - score(v), so no array of all the log p is needed.
    log_z = jax.nn.logsumexp(logits, axis=-1)
    # A class below 0 would count from the end; one past the end becomes NaN.
    n_classes = logits.shape[-1]
    index = jnp.where(targets < 0, n_classes, targets)
    index = jnp.where(counts, index, 0)[..., None]
    chosen = jnp.take_along_axis(logits, index, axis=-1, mode="fill")[..., 0]
    surprise = log_z - (1 - label_smoothing) * chosen
    if label_smoothing > 0:
        surprise = surprise - label_smoothing * logits.mean(axis=-1)
    return jnp.where(counts, surprise, 0).sum(), counts.sum()


def cross_entropy(
    logits: Float[Array, "*B V"],
    targets: Int[Array, "*B"],
    *,
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
) -> Float[Array, ""]:
    """Cross-entropy averaged over the targets that count: eq. 1; 0 if none does."""
    total, count = cross_entropy_sum(
        logits, targets, ignore_index=ignore_index, label_smoothing=label_smoothing
    )
    return total / count.clip(1).astype(total.dtype)


def next_token_loss(
    model: Callable[..., Any], ids: Int[Array, "B T"]
) -> Float[Array, ""]:
    """Cross-entropy of a causal model's next token, at every position but the last."""
    return cross_entropy(model(ids[:, :-1]), ids[:, 1:])


def pinball(
    quantiles: Float[Array, "*B Q"],
    actual: Float[Array, "*B"],
    levels: Sequence[float],
) -> Float[Array, ""]:
    """Pinball loss, averaged over all quantiles of all forecasts: eq. 2."""
    check_levels(levels, quantiles.shape[-1:])
    quantiles = quantiles.astype(jnp.promote_types(quantiles.dtype, jnp.float32))
    rank = jnp.asarray(levels, quantiles.dtype)
    above = actual[..., None] - quantiles  # *B Q
    losses = jnp.maximum(rank * above, (rank - 1) * above)
    return losses.mean() if losses.size else losses.sum()
