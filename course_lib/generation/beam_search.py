"""Beam search: keep the few best beginnings, and continue each.

    score(Y) = log P(Y) / ((5 + |Y|) / 6)^alpha                          (eq. 1)

Beam search as in Sutskever et al. 2014, section 3.2, arXiv:1409.3215; the length
penalty is Wu et al. 2016, eq. 14, arXiv:1609.08144, without its coverage term. The
bookkeeping is the same for every model, so it stands here once; the probabilities come
from each wing's `generate.py`.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from course_lib.checks import check_sizes
from course_lib.generation.stopping import check_scored

NextLogProbs = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Hypothesis:
    """A continuation and its score.

    Args:
        tokens: The new token ids, the stop token included if it was written.
        log_prob: Natural logarithm of their probability, given the beginning.
        score: What the search ranks by, eq. 1.
    """

    tokens: tuple[int, ...]
    log_prob: float
    score: float


def _length_factor(length: int, alpha: float) -> float:
    """Length penalty: the divisor of eq. 1, 1 for one new token or for alpha = 0."""
    return ((5 + length) / 6) ** alpha


def beam_search(
    next_log_probs: NextLogProbs,
    prompt: list[int],
    *,
    n_beams: int,
    max_new_tokens: int,
    stop_token: int | None = None,
    length_penalty: float = 0.0,
) -> list[Hypothesis]:
    """Search for the likeliest continuation, `n_beams` beginnings at a time.

    Args:
        next_log_probs: Maps token ids, `N T`, to the log-probabilities of the next
            token, `N V`.
        prompt: What comes first; every row starts with it.
        n_beams: Beginnings kept. One is greedy decoding; as many as there are texts is
            exhaustive search.
        max_new_tokens: Longest continuation.
        stop_token: Ends a text; None means that only the length does.
        length_penalty: alpha of eq. 1, at least 0.

    Returns:
        At most `n_beams` continuations, the best first.

    Raises:
        ValueError: The prompt is empty, a size is not positive, or the penalty
            negative.
    """
    check_sizes(n_beams=n_beams, max_new_tokens=max_new_tokens)
    if not prompt:
        raise ValueError(
            "the prompt must hold at least one token: got none. Begin with the start "
            "token that the model was trained with."
        )
    if not length_penalty >= 0:
        raise ValueError(
            f"length_penalty must be at least 0: got {length_penalty}. 0 ranks by "
            "probability; larger favors longer texts."
        )

    def scored(tokens: tuple[int, ...], log_prob: float) -> Hypothesis:
        score = log_prob / _length_factor(len(tokens), length_penalty)
        return Hypothesis(tokens, log_prob, score)

    beams: list[tuple[tuple[int, ...], float]] = [((), 0.0)]
    finished: list[Hypothesis] = []
    for _ in range(max_new_tokens):
        rows = np.array([[*prompt, *tokens] for tokens, _ in beams])
        step = np.asarray(next_log_probs(rows), dtype=np.float64)  # N V
        check_scored(step, f"token {rows.shape[1]} of a beam")
        totals = step + np.array([log_prob for _, log_prob in beams])[:, None]
        # One more than is kept for each beam that may stop: its place stays free.
        best = np.argsort(-totals, axis=None, kind="stable")[: n_beams + len(beams)]
        going_on = []
        places = zip(*np.unravel_index(best, totals.shape), strict=True)
        for rank, (beam, token) in enumerate(places):
            total = float(totals[beam, token])
            if total == -np.inf:
                break
            tokens = (*beams[beam][0], int(token))
            if token == stop_token:
                if rank < n_beams:  # else it is none of the best beginnings
                    finished.append(scored(tokens, total))
            elif len(going_on) < n_beams:
                going_on.append((tokens, total))
        beams = going_on
        finished.sort(key=lambda h: -h.score)
        # No text can gain by going on: log-probabilities only fall, and the divisor is
        # at most that of the longest text. A greedy one ends with its first end.
        bound = _length_factor(max_new_tokens, length_penalty)
        if not beams or (
            len(finished) >= n_beams
            and (n_beams == 1 or finished[n_beams - 1].score >= beams[0][1] / bound)
        ):
            beams = []
            break
    finished += [scored(tokens, log_prob) for tokens, log_prob in beams]
    return sorted(finished, key=lambda h: -h.score)[:n_beams]
