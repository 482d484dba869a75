"""Speculative decoding: a small GPT drafts, a large one verifies (PyTorch).

The rule and its sources are in `course_lib.generation.speculative`. Rejected tokens
leave the cache again: it is rewound to what it shares with the text to be read.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
import torch

from course_lib.checks import check_vocabularies
from course_lib.config.sampling import Sampling
from course_lib.generation import speculative
from course_lib.generation.inputs import generation_inputs
from course_lib.generation.speculative import (
    Speculation,
    chooser,
    shared,
    unpenalized,
)
from course_lib.torch.evaluation import evaluating
from course_lib.torch.generation.write import any_length, probabilities
from course_lib.torch.gpt import GPT

__all__ = ["speculate"]


class Reader:
    """A GPT's distributions of the next token, in a text that it reads on.

    Args:
        model: In evaluation mode.
        room: Tokens of the longest text.
        how: Temperature and cuts.
    """

    def __init__(self, model: GPT, room: int, how: Sampling):
        self.model, self.how, self.known = model, how, []
        self.cache = model.begin(1, room)

    def __call__(self, text: list[int], n: int) -> np.ndarray:
        """The distributions after each of the last n tokens, `n V`."""
        start = shared(self.known, text, len(text) - n)
        self.cache.rewind(start)
        device = next(self.model.parameters()).device
        ids = torch.tensor([text[start:]], device=device)
        with torch.inference_mode(), any_length(device):
            logits = self.model.read(ids, self.cache)[0, -n:].float()
            shares = probabilities(logits, self.how)
        self.known = list(text)
        return shares.cpu().double().numpy()  # no device of Apple's has 64


def speculate(
    model: GPT,
    draft: GPT,
    prompts: Iterable[Any],
    *,
    max_new_tokens: int,
    n_draft: int = 4,
    stop_token: int | None = None,
    stop: Iterable[Any] = (),
    seed: int = 0,
    **how: Any,
) -> list[Speculation]:
    """Speculative decoding: what `generate` could have written, with fewer readings.

    The distribution of the texts is the model's, whatever the draft, and at temperature
    0 so are the texts. Otherwise a seed gives another text than in `generate`. Prompts
    are continued one after the other, since each accepts another number of tokens.

    Args:
        model: The target, whose texts they are.
        draft: A smaller GPT with the same vocabulary.
        prompts: As all that follows, described in `generate`.
        max_new_tokens: Longest continuation.
        n_draft: Tokens drafted before the target reads.
        stop_token: Ends a text.
        stop: Stop words, which end a text.
        seed: Of the draws.
        **how: How both models draw: `temperature`, and the cuts `top_k`, `top_p` and
            `min_p`.
    """
    check_vocabularies(model.config.vocab_size, draft.config.vocab_size)
    sampling = unpenalized(**how)
    ends = {"max_new_tokens": max_new_tokens, "stop_token": stop_token, "stop": stop}
    given = generation_inputs(prompts, model, draft, **ends, seed=seed)
    room = given.ids.shape[1]
    with evaluating(model), evaluating(draft):
        reader, drafter = (Reader(m, room, sampling) for m in (model, draft))
        return [
            speculative.speculate(
                reader,
                drafter,
                given,
                row,
                n_draft=n_draft,
                choose=chooser((seed, row)),
            )
            for row in range(len(given.ids))
        ]
