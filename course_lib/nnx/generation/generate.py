"""Autoregressive generation: a GPT writes token after token (Flax NNX)."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from flax import nnx

from course_lib.config.sampling import Sampling
from course_lib.generation.beam_search import Hypothesis
from course_lib.generation.inputs import GenerationInputs, generation_inputs
from course_lib.generation.stopping import gathered, in_order
from course_lib.nnx.evaluation import evaluating
from course_lib.nnx.generation.write import rounded, write, write_beams
from course_lib.nnx.gpt import GPT

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
    """Autoregressive generation: continue each prompt, one token after another."""
    sampling = Sampling(**how)
    ends = {"max_new_tokens": max_new_tokens, "stop_token": stop_token, "stop": stop}
    given = generation_inputs(prompts, model, **ends, seed=seed, crop=crop)
    return gathered(given, _columns(model, given, sampling, use_cache))


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

    The weights are those that the model has when it begins. The device is asked after
    each token, so that `generate` is faster.
    """
    sampling = Sampling(**how)
    ends = {"max_new_tokens": max_new_tokens, "stop_token": stop_token, "stop": stop}
    given = generation_inputs(prompts, model, **ends, seed=seed, crop=crop)
    return in_order(given, _columns(model, given, sampling, use_cache, at_once=1))


def _columns(
    model: GPT,
    given: GenerationInputs,
    how: Sampling,
    use_cache: bool,
    at_once: int | None = None,
) -> Iterator[list[int]]:
    """What `write` says, with a cache for as much as the model reads at once."""
    (rows, length), most = given.ids.shape, given.most
    room = rounded(length, None if most is None or length > most else most)
    given = replace(given, ids=np.pad(given.ids, ((0, 0), (0, room - length))))
    held = min(room, most or room)
    with evaluating(model):
        cache = nnx.split(model.begin(rows, held)) if use_cache else None
        return write(nnx.split(model), cache, given, how, at_once=at_once)


def beam_search(
    model: GPT,
    prompt: Iterable[int],
    *,
    n_beams: int,
    max_new_tokens: int,
    stop_token: int | None = None,
    length_penalty: float = 0.0,
) -> list[Hypothesis]:
    """Beam search for the likeliest continuations of a prompt, the best first."""
    ends = {"max_new_tokens": max_new_tokens, "stop_token": stop_token}
    given = generation_inputs([prompt], model, **ends)
    with evaluating(model):
        return write_beams(
            nnx.split(model),
            given.ids[0, : given.start].tolist(),
            model.positions.max_len,
            n_beams=n_beams,
            max_new_tokens=max_new_tokens,
            stop_token=stop_token,
            length_penalty=length_penalty,
        )
