"""Autoregressive generation: a GPT writes token after token (PyTorch).

The model gives a distribution of the next token; one is chosen (sampling.py) and put
behind the others, and the model reads on. With a cache (cache.py) it reads each token
once. The loop is in write.py.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import torch

from course_lib.config.sampling import Sampling
from course_lib.generation.beam_search import Hypothesis
from course_lib.generation.inputs import GenerationInputs, generation_inputs
from course_lib.generation.stopping import gathered, in_order
from course_lib.torch.evaluation import evaluating
from course_lib.torch.generation.cache import KVCache
from course_lib.torch.generation.write import write, write_beams
from course_lib.torch.gpt import GPT

__all__ = ["beam_search", "generate", "stream"]


def generate(
    model: GPT,
    prompts: Iterable[Any],
    *,
    max_new_tokens: int,
    stop_token: int | None = None,
    stop: Iterable[Any] = (),
    seed: int = 0,
    use_cache: bool = True,
    crop: bool = False,
    **how: Any,
) -> list[list[int]]:
    """Autoregressive generation: continue each prompt, one token after another.

    The draws are fixed by the seed beforehand, one for each row and place, so that both
    wings write the same text and no text depends on what else is in the batch.

    Args:
        model: Used in evaluation mode; each part's own mode is restored.
        prompts: One sequence of token ids a text; lengths may differ.
        max_new_tokens: Longest continuation.
        stop_token: Ends a text, and is left out of it.
        stop: Stop words, sequences of token ids. So does each of these, once all of it
            has been written.
        seed: Of the draws.
        use_cache: False reads the whole text again for each token.
        crop: Write past the model's `max_len`: from there on each token comes after the
            last `max_len` alone, which are read anew as if nothing had been before
            them. Where positions have no end there is nothing to crop.
        **how: How a token is drawn, the fields of `Sampling`: `temperature`, where 0 is
            greedy decoding, `top_k`, `top_p`, `min_p` and `repetition_penalty`.
    """
    sampling = Sampling(**how)
    ends = {"max_new_tokens": max_new_tokens, "stop_token": stop_token, "stop": stop}
    given = generation_inputs(prompts, model, **ends, seed=seed, crop=crop)
    with evaluating(model):
        cache = _begin(model, given) if use_cache else None
        return gathered(given, write(model, cache, given, sampling))


def stream(
    model: GPT,
    prompts: Iterable[Any],
    *,
    max_new_tokens: int,
    stop_token: int | None = None,
    stop: Iterable[Any] = (),
    seed: int = 0,
    use_cache: bool = True,
    crop: bool = False,
    **how: Any,
) -> Iterator[tuple[int, int]]:
    """Streaming: the tokens of `generate`, one after another while it writes them.

    Arguments and texts are those of `generate`. A token that may begin a stop word of
    several comes when it has turned out not to. Between two tokens the model is in the
    mode that it was given in.

    Yields:
        The prompt's place in the list, and the next token of its text.
    """
    sampling = Sampling(**how)
    ends = {"max_new_tokens": max_new_tokens, "stop_token": stop_token, "stop": stop}
    given = generation_inputs(prompts, model, **ends, seed=seed, crop=crop)
    cache = _begin(model, given) if use_cache else None
    columns = write(model, cache, given, sampling)

    def steps() -> Iterator[list[int]]:
        while True:
            with evaluating(model):
                column = next(columns, None)
            if column is None:
                return
            yield column

    return in_order(given, steps())


@torch.inference_mode()
def _begin(model: GPT, given: GenerationInputs) -> KVCache:
    """A cache for the texts, or for as much of them as the model reads at once.

    A tensor from outside of inference mode takes half as long again to write to.
    """
    batch, length = given.ids.shape
    return model.begin(batch, min(length, given.most or length))


def beam_search(
    model: GPT,
    prompt: Iterable[int],
    *,
    n_beams: int,
    max_new_tokens: int,
    stop_token: int | None = None,
    length_penalty: float = 0.0,
) -> list[Hypothesis]:
    """Beam search for the likeliest continuations of a prompt, the best first.

    `n_beams` beginnings are kept; one is greedy decoding. A larger `length_penalty`
    favors longer texts; see `course_lib.generation.beam_search`.
    """
    ends = {"max_new_tokens": max_new_tokens, "stop_token": stop_token}
    given = generation_inputs([prompt], model, **ends)
    with evaluating(model), torch.inference_mode():
        return write_beams(
            model,
            next(model.parameters()).device,
            given.ids[0, : given.start].tolist(),
            n_beams=n_beams,
            max_new_tokens=max_new_tokens,
            stop_token=stop_token,
            length_penalty=length_penalty,
        )
