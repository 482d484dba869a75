"""Speculative decoding: a small model drafts tokens, the large one reads them at once.

    accept x with probability min(1, p(x) / q(x)),
    otherwise draw from max(p - q, 0) / sum max(p - q, 0)                (eq. 1)

q is the draft's distribution of the next token and p the target's: what is written has
exactly the target's distribution. Leviathan et al. 2023, algorithm 1, arXiv:2211.17192;
Chen et al. 2023, algorithm 2, arXiv:2302.01318. The bookkeeping is the same for every
model, so it stands here once; the probabilities come from each wing's `speculate.py`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from course_lib.checks import check_size
from course_lib.config.sampling import Sampling
from course_lib.generation.inputs import GenerationInputs
from course_lib.generation.stopping import check_scored, stop_words, sure

Reader = Callable[[list[int], int], np.ndarray]  # (text, n) -> the last n rows, `n V`
Choice = Callable[[np.ndarray], int]  # weights -> the place drawn in proportion to them


@dataclass(frozen=True)
class Speculation:
    """A continuation, and how much reading it took.

    Args:
        tokens: The new tokens.
        n_reads: How often the target read.
        n_tested: Drafted tokens that it accepted or rejected. Those behind a rejected
            one are neither.
        n_accepted: Those that it accepted.
    """

    tokens: list[int]
    n_reads: int
    n_tested: int
    n_accepted: int


def unpenalized(**how: Any) -> Sampling:
    """The settings; a penalty would be another one after each of the drafted tokens."""
    sampling = Sampling(**how)
    if sampling.repetition_penalty != 1:
        raise ValueError(
            "speculate draws without a repetition_penalty: got "
            f"{sampling.repetition_penalty}. With one, call generate."
        )
    return sampling


def chooser(seed: Sequence[int]) -> Choice:
    """Draws by inversion: one seed gives the same places in both wings."""
    rng = np.random.default_rng(seed)

    def choose(weights: np.ndarray) -> int:
        reached = weights.cumsum()
        uniform = rng.random(dtype=np.float32) * reached[-1]
        return int(reached.searchsorted(uniform, side="right"))

    return choose


def shared(known: list[int], text: list[int], most: int) -> int:
    """How many tokens two texts begin with alike, at most `most`."""
    pairs = enumerate(zip(known[:most], text[:most], strict=False))
    return next((i for i, (a, b) in pairs if a != b), min(len(known), most))


def _verify(
    p: np.ndarray, q: np.ndarray, drafted: list[int], choose: Choice
) -> list[int]:
    """Speculative sampling, eq. 1: the drafted tokens that stay, and one more.

    Args:
        p: The target's distributions of each of the `K` drafted tokens, and of the one
            behind them, `K+1 V`.
        q: The draft's, `K V`.
        drafted: The `K` tokens, each drawn from its row of q.
        choose: Draws.
    """
    for i, token in enumerate(drafted):
        stays = min(p[i, token], q[i, token])
        if not choose(np.array([q[i, token] - stays, stays])):
            rest = np.maximum(p[i] - q[i], 0)
            rest = rest if rest.any() else p[i]  # equal but for rounding
            return [*drafted[:i], choose(rest)]
    return [*drafted, choose(p[-1])]


def speculate(
    target: Reader,
    draft: Reader,
    given: GenerationInputs,
    row: int,
    *,
    n_draft: int,
    choose: Choice,
) -> Speculation:
    """Continue one prompt, up to `n_draft` + 1 tokens for each reading of the target.

    A reader maps a text to its distributions of the next token after each of the last n
    tokens. The draft's can be any: it decides how many tokens are accepted.
    """
    check_size("n_draft", n_draft)
    start, n_new = int(given.lengths[row]), given.uniforms.shape[1]
    text, end = given.ids[row, :start].tolist(), start + n_new
    words, stays, ended = stop_words(given.stops), 0, False
    n_reads = n_tested = n_accepted = 0
    while len(text) < end and not ended:
        guess, q = list(text), []
        for _ in range(min(n_draft, end - len(text) - 1)):
            q.append(draft(guess, 1)[-1])
            check_scored(q[-1], f"token {len(guess)} of the draft")
            guess.append(choose(q[-1]))
        drafted = guess[len(text) :]
        p = target(guess, len(drafted) + 1)
        check_scored(p, f"a token from {len(text)} on")
        new = _verify(p, np.array(q), drafted, choose)
        n_reads, n_accepted = n_reads + 1, n_accepted + len(new) - 1
        n_tested += min(len(new), len(drafted))
        for token in new:
            text.append(token)
            stays, ended = sure(text[start:], words)
            if ended:
                break
    tokens = text[start : start + stays if ended else end]
    return Speculation(tokens, n_reads, n_tested, n_accepted)
