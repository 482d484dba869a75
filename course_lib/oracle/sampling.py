"""Sampling the next token: cuts, penalty, inversion, and with a draft (speculative)."""

import numpy as np

from course_lib.oracle.attention import softmax

__all__ = [
    "keep_min_p", "keep_top_k", "keep_top_p", "penalize_repetition", "sample",
    "speculative_rule",
]  # fmt: skip


def keep_top_k(logits: np.ndarray, k: int) -> np.ndarray:
    """Top-k: one row of logits with -inf for all but the k likeliest tokens."""
    ranked = sorted(range(len(logits)), key=lambda i: (-logits[i], i))
    kept = np.full(len(logits), -np.inf)
    for i in ranked[:k]:
        kept[i] = logits[i]
    return kept


def keep_top_p(logits: np.ndarray, p: float) -> np.ndarray:
    """Nucleus (top-p): -inf outside the fewest likeliest tokens with mass >= p.

    Holtzman et al. 2019, section 3.1, arXiv:1904.09751.
    """
    probabilities = softmax(logits)
    ranked = sorted(range(len(logits)), key=lambda i: (-probabilities[i], i))
    kept, mass = np.full(len(logits), -np.inf), 0.0
    for i in ranked:
        if mass >= p:
            break
        kept[i], mass = logits[i], mass + probabilities[i]
    return kept


def keep_min_p(logits: np.ndarray, p: float) -> np.ndarray:
    """Min-p: -inf for tokens with less than p times the largest probability.

    Nguyen et al. 2024, arXiv:2407.01082.
    """
    probabilities = softmax(logits)
    least = p * max(probabilities)
    pairs = zip(logits, probabilities, strict=True)
    return np.array([z if share >= least else -np.inf for z, share in pairs])


def penalize_repetition(
    logits: np.ndarray, text: list[int], penalty: float
) -> np.ndarray:
    """Repetition penalty: one row of logits, lowered for each token of the text.

    Keskar et al. 2019, section 4.1, arXiv:1909.05858, but a negative score, which
    division would raise, is multiplied.
    """
    lowered = np.array(logits, dtype=float)
    for i in set(text):
        lowered[i] = logits[i] / penalty if logits[i] > 0 else logits[i] * penalty
    return lowered


def sample(logits: np.ndarray, uniform: float) -> int:
    """The token into whose share of [0, 1) a uniform number falls."""
    passed = 0.0
    for i, share in enumerate(softmax(logits)):
        passed += share
        if uniform < passed:
            return i
    return int(np.flatnonzero(softmax(logits))[-1])


def speculative_rule(p: np.ndarray, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Speculative sampling of a token drafted from q: what leaves exactly p.

    The probability to accept each token, and the distribution to draw from after a
    rejection; if there can be none, that is p. Leviathan et al. 2023, algorithm 1,
    arXiv:2211.17192.
    """
    pairs = list(zip(p, q, strict=True))
    accept = np.array([min(1.0, a / b) if b > 0 else 1.0 for a, b in pairs])
    rest = np.array([max(a - b, 0.0) for a, b in pairs])
    return accept, rest / rest.sum() if rest.sum() > 0 else p
