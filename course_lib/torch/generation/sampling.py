r"""From scores to the next token (PyTorch).

    P(i) = exp(z_i / temperature) / sum_j exp(z_j / temperature)         (eq. 1)

Top-k sampling draws from the k likeliest tokens: Fan et al. 2018, section 5.4,
arXiv:1805.04833. Nucleus (top-p) sampling draws from the smallest set of likeliest
tokens whose mass is at least p: Holtzman et al. 2019, section 3.1, arXiv:1904.09751.
Min-p sampling draws from the tokens with at least p times the probability of the
likeliest: Nguyen et al. 2024, arXiv:2407.01082. The repetition penalty divides the
scores of tokens that the text already holds: Keskar et al. 2019, section 4.1,
arXiv:1909.05858. Departure: negative scores, which division would raise, are multiplied
by it, as in the library transformers.
Drawing is by the inverse of the distribution function: a number between 0 and 1 that
was drawn beforehand falls into one token's share. The same number and the same scores
give the same token in both wings.
"""

import math

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from course_lib.checks import check_tensors
from course_lib.config.sampling import Sampling

__all__ = [
    "greedy", "keep_min_p", "keep_top_k", "keep_top_p", "penalize_repetition", "sample",
]  # fmt: skip


def greedy(logits: Float[Tensor, "*B V"]) -> Int[Tensor, "*B"]:
    """Greedy decoding: the likeliest token; of equals, the one with the smallest id."""
    check_tensors(torch.Tensor, logits=logits)
    return logits.argmax(dim=-1)


def keep_top_k(logits: Float[Tensor, "*B V"], k: int) -> Float[Tensor, "*B V"]:
    """Top-k sampling: forbid all but the k likeliest tokens, of equals the later."""
    check_tensors(torch.Tensor, logits=logits)
    Sampling(top_k=k)
    return logits.masked_fill(_rank(logits) >= k, -math.inf)


def keep_top_p(logits: Float[Tensor, "*B V"], p: float) -> Float[Tensor, "*B V"]:
    """Nucleus sampling: keep the smallest set of tokens with mass p or more.

    The likeliest token always stays.
    """
    check_tensors(torch.Tensor, logits=logits)
    Sampling(top_p=p)
    shares = logits.softmax(dim=-1, dtype=_wide(logits))
    ordered, order = shares.sort(dim=-1, descending=True, stable=True)
    before = ordered.cumsum(dim=-1) - ordered  # mass of the likelier ones
    out = (before >= p) & (before > 0) & (p < 1)  # a mass of 1 is of all
    out = out.gather(-1, order.argsort(dim=-1))
    return logits.masked_fill(out, -math.inf)


def keep_min_p(logits: Float[Tensor, "*B V"], p: float) -> Float[Tensor, "*B V"]:
    """Min-p sampling: forbid tokens with less than p times the largest probability."""
    check_tensors(torch.Tensor, logits=logits)
    Sampling(min_p=p)
    scores = logits.to(_wide(logits))
    share = (scores - scores.amax(dim=-1, keepdim=True)).exp()  # of the likeliest's
    return logits.masked_fill(share < p, -math.inf)


def penalize_repetition(
    logits: Float[Tensor, "*B V"], seen: Bool[Tensor, "*#B V"], penalty: float
) -> Float[Tensor, "*B V"]:
    """Repetition penalty: make tokens less likely that are `seen` in the text.

    A penalty of 1 changes nothing, and one below 1 favors repetition.
    """
    check_tensors(torch.Tensor, logits=logits)
    penalty = Sampling(repetition_penalty=penalty).repetition_penalty
    lowered = torch.where(logits > 0, logits / penalty, logits * penalty)
    return torch.where(seen, lowered, logits)


def sample(
    logits: Float[Tensor, "*B V"], uniform: Float[Tensor, "*B"]
) -> Int[Tensor, "*B"]:
    """Draw a token with the probability that its score gives it, never one at -inf.

    It is the first whose cumulated probability passes `uniform`, a number in [0, 1)
    that was drawn beforehand.
    """
    check_tensors(torch.Tensor, logits=logits, uniform=uniform)
    reached = logits.softmax(dim=-1, dtype=_wide(logits)).cumsum(dim=-1)
    total = reached[..., -1:]
    drawn = (reached <= uniform[..., None] * total).sum(dim=-1)
    last = (reached < total).sum(dim=-1)  # rounding must not push beyond the last share
    return torch.minimum(drawn, last)


def _wide(logits: Tensor) -> torch.dtype:
    """What probabilities are compared with settings in: 32 bits or more."""
    return torch.promote_types(logits.dtype, torch.float32)


def _rank(logits: Tensor) -> Tensor:
    """0 for the likeliest token, 1 for the next, and so on."""
    order = logits.argsort(dim=-1, descending=True, stable=True)
    return order.argsort(dim=-1)
