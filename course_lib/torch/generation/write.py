"""The one loop in which GPT and the translators write (PyTorch).

A writer is a model with `read(tokens, cache)`: logits after each of the newest tokens,
which the cache, what its `begin` returned, takes in. Whoever asks for tokens stops
asking when all texts have ended, as `course_lib.generation.stopping` says.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from course_lib.config.sampling import GREEDY, Sampling
from course_lib.generation.beam_search import Hypothesis, beam_search
from course_lib.generation.inputs import GenerationInputs
from course_lib.torch.generation.sampling import (
    greedy,
    keep_min_p,
    keep_top_k,
    keep_top_p,
    penalize_repetition,
    sample,
)


def write(
    model: Any,
    cache: Any,
    given: GenerationInputs,
    how: Sampling = GREEDY,
) -> Iterator[list[int]]:
    """Put token after token behind the prompts: at each place, those of all rows.

    Without a cache everything is read again for each token, and so is the newest of a
    text that is longer than what the model reads at once.
    """
    arrays = given.ids, given.lengths, given.uniforms
    device = next(model.parameters()).device
    ids, lengths, uniforms = (torch.from_numpy(a).to(device) for a in arrays)
    read, n, longest = 0, uniforms.shape[1], int(given.lengths.max())
    for t in range(given.start, given.end):
        if given.most is not None and t > given.most:
            cache, read = None, t - given.most
        with torch.inference_mode(), any_length(device):
            logits = model.read(ids[:, read:t], cache)[:, -1].float()
            read = 0 if cache is None else t
            if how.repetition_penalty != 1:
                seen = torch.zeros_like(logits, dtype=torch.bool)
                seen.scatter_(1, ids[:, :t], True)
                logits = penalize_repetition(logits, seen, how.repetition_penalty)
            if how.temperature == 0:
                token = greedy(logits)
            else:
                draw = (t - lengths).clamp(0, n - 1)
                uniform = uniforms.gather(1, draw[:, None])[:, 0]
                token = sample(_cut(logits, how), uniform)
            token = token.where(logits.amax(dim=-1).isfinite(), -1)
            if t < longest:  # a longer prompt knows its next token
                token = torch.where(t < lengths, ids[:, t], token)
            ids[:, t] = token
        yield token.tolist()


def any_length(device: torch.device) -> AbstractContextManager[Any]:
    """Attention's kernels on a GPU without cuDNN's, which plans for each new length.

    A cache is longer by one at each token, and in 16 bits, where that kernel comes
    first, a plan takes longer than several tokens.
    """
    kernels = [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION]
    other = device.type != "cuda"
    return nullcontext() if other else sdpa_kernel([*kernels, SDPBackend.MATH])


def probabilities(logits: Tensor, how: Sampling) -> Tensor:
    """What the next token is drawn from, `*B V`; all on one token at temperature 0."""
    if how.temperature == 0:  # plus 0, or NaN where there is NaN
        nothing = 0 * logits.amax(dim=-1, keepdim=True)
        return F.one_hot(greedy(logits), logits.shape[-1]) + nothing
    return _cut(logits, how).softmax(dim=-1)


def _cut(logits: Tensor, how: Sampling) -> Tensor:
    """The scores of the tokens that may be drawn, at this temperature."""
    # From the largest down: a quotient may be -inf, and never infinity.
    scores = (logits - logits.amax(dim=-1, keepdim=True)) / how.temperature
    if how.top_k is not None:
        scores = keep_top_k(scores, how.top_k)
    if how.top_p is not None:
        scores = keep_top_p(scores, how.top_p)
    return scores if how.min_p is None else keep_min_p(scores, how.min_p)


def write_beams(
    read: Callable[[Tensor], Tensor],
    device: torch.device,
    prompt: list[int],
    **settings: Any,
) -> list[Hypothesis]:
    """Beam search, with `read` for the logits of whole texts."""

    def next_log_probs(rows: np.ndarray) -> np.ndarray:
        logits = read(torch.from_numpy(rows).to(device))[:, -1]
        logits = logits.float() if logits.itemsize < 4 else logits
        return logits.log_softmax(dim=-1).cpu().double().numpy()

    return beam_search(next_log_probs, prompt, **settings)
