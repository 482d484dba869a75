"""Autoregressive generation: a GPT writes token after token (PyTorch).

The model gives a distribution of the next token; one is chosen (sampling.py) and put
behind the others, and the model reads on. With a cache (cache.py) it reads each token
once.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from course_lib.generation.beam_search import Hypothesis
from course_lib.generation.beam_search import beam_search as search
from course_lib.generation.inputs import generation_inputs, new_tokens
from course_lib.torch.evaluation import evaluating
from course_lib.torch.generation.cache import KVCache
from course_lib.torch.generation.sampling import greedy, keep_top_k, keep_top_p, sample
from course_lib.torch.gpt import GPT


def generate(
    model: GPT,
    prompts: Iterable[Any],
    *,
    max_new_tokens: int,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    stop_token: int | None = None,
    seed: int = 0,
    use_cache: bool = True,
) -> list[list[int]]:
    """Autoregressive generation: continue each prompt, one token after another.

    The draws are fixed by the seed beforehand, one for each row and place, so that both
    wings write the same text and no text depends on what else is in the batch.

    Args:
        model: Used in evaluation mode; each part's own mode is restored.
        prompts: One sequence of token ids a text; lengths may differ.
        max_new_tokens: Longest continuation.
        temperature: 1 draws with the model's own probabilities, less makes likely
            tokens likelier, 0 takes the likeliest (greedy decoding).
        top_k: Draw from the k likeliest tokens only.
        top_p: Then draw from the smallest set of them with mass p only (nucleus
            sampling).
        stop_token: Ends a text; None means that only the length does.
        seed: Of the draws.
        use_cache: False reads the whole text again for each token; the text is the
            same.

    Returns:
        The new tokens of each text, without the stop token.

    Raises:
        ValueError: A prompt is not a sequence of the vocabulary's ids, or too long; a
            setting is out of range.
    """
    asked = generation_inputs(
        prompts,
        model.config,
        max_new_tokens=max_new_tokens,
        temperature=temperature,
        top_k=top_k,
        top_p=top_p,
        seed=seed,
    )
    device = next(model.parameters()).device
    ids = torch.from_numpy(asked.ids).to(device)
    lengths = torch.from_numpy(asked.lengths).to(device)
    uniforms = torch.from_numpy(asked.uniforms).to(device)
    with evaluating(model), torch.inference_mode():
        cache = _cache(model, ids) if use_cache else None
        done = torch.zeros_like(lengths, dtype=torch.bool)
        read = 0  # tokens that the cache has taken in
        for t in range(asked.start, asked.end):
            logits = model(ids[:, read:t], cache=cache)[:, -1].float()
            read = t if use_cache else 0
            draw = (t - lengths).clamp(0, max_new_tokens - 1)
            uniform = uniforms.gather(1, draw[:, None])[:, 0]
            token = _choose(logits, uniform, temperature, top_k, top_p)
            given = t < lengths  # a longer prompt knows its next token
            ids[:, t] = torch.where(given, ids[:, t], token)
            done |= ~given & (t - lengths >= max_new_tokens - 1)
            if stop_token is not None:
                done |= ~given & (token == stop_token)
            if done.all():
                break
    return new_tokens(asked, ids.cpu().numpy(), stop_token)


def _cache(model: GPT, ids: Tensor) -> KVCache:
    c, table = model.config, model.tokens.weight
    n_kv_heads = c.n_heads if c.n_kv_heads is None else c.n_kv_heads
    return KVCache(
        c.n_layers, ids.shape[0], n_kv_heads, ids.shape[1], c.d_head, like=table
    )


def _choose(
    logits: Tensor,
    uniform: Tensor,
    temperature: float,
    top_k: int | None,
    top_p: float | None,
) -> Tensor:
    if temperature == 0:
        return greedy(logits)
    logits = logits / temperature
    if top_k is not None:
        logits = keep_top_k(logits, top_k)
    if top_p is not None:
        logits = keep_top_p(logits, top_p)
    return sample(logits, uniform)


def beam_search(
    model: GPT,
    prompt: Iterable[int],
    *,
    n_beams: int,
    max_new_tokens: int,
    stop_token: int | None = None,
    length_penalty: float = 0.0,
) -> list[Hypothesis]:
    """Beam search for the likeliest continuation of a prompt.

    Args:
        model: As in `generate`.
        prompt: Token ids.
        n_beams: Beginnings kept; one is greedy decoding.
        max_new_tokens: Longest continuation.
        stop_token: Ends a text; None means that only the length does.
        length_penalty: At least 0; larger favors longer texts; see
            `course_lib.generation.beam_search`.

    Returns:
        At most `n_beams` continuations, the best first, each with its log-probability.
    """
    asked = generation_inputs([prompt], model.config, max_new_tokens=max_new_tokens)
    device = next(model.parameters()).device

    def next_log_probs(rows: np.ndarray) -> np.ndarray:
        logits = model(torch.from_numpy(rows).to(device))[:, -1]
        return logits.log_softmax(dim=-1).double().cpu().numpy()

    with evaluating(model), torch.inference_mode():
        return search(
            next_log_probs,
            asked.ids[0, : asked.start].tolist(),
            n_beams=n_beams,
            max_new_tokens=max_new_tokens,
            stop_token=stop_token,
            length_penalty=length_penalty,
        )
