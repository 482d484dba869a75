"""Translation: the target is written autoregressively, token after token (PyTorch).

The source is read once. The target starts as the start token alone; the likeliest next
token is put behind it until the stop token comes. What has been computed for the source
and for the tokens before is cached, so each token is read once too. Training is
different (teacher forcing): there the true target is given, and all its positions are
predicted at once.
"""

from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Int
from torch import Tensor

from course_lib.generation.beam_search import Hypothesis, beam_search
from course_lib.generation.inputs import check_translation, cut
from course_lib.torch.evaluation import evaluating
from course_lib.torch.extra.recurrent_seq2seq import RecurrentSeq2Seq
from course_lib.torch.seq2seq import Seq2Seq


def translate(
    model: Seq2Seq | RecurrentSeq2Seq,
    source: Int[Tensor, "B S"],
    *,
    start_token: int,
    stop_token: int,
    max_new_tokens: int,
    source_mask: Bool[Tensor, "..."] | None = None,
) -> list[list[int]]:
    """Greedy decoding: write the likeliest next token, again and again.

    Args:
        model: Used in evaluation mode; each part's own mode is restored.
        source: Token ids.
        start_token: What the target began with in training.
        stop_token: What it ended with.
        max_new_tokens: Longest target.
        source_mask: True at real source tokens, such as
            `padding_mask_from_ids(source, pad_id)`.

    Returns:
        One target for each source, without start and stop token.

    Raises:
        ValueError: A token is not in its vocabulary, or a size is not positive.
    """
    _check(model, source, start_token, stop_token, max_new_tokens)
    with evaluating(model), torch.inference_mode():
        memory = model.encode(source, source_mask=source_mask)
        cache: Any = model.begin(memory, max_new_tokens)  # each model has its own
        token = torch.full_like(source[:, :1], start_token)
        written, done = [], torch.zeros_like(token, dtype=torch.bool)
        for _ in range(max_new_tokens):
            logits = model.decode(token, memory, source_mask=source_mask, cache=cache)
            token = logits.argmax(dim=-1)
            written.append(token)
            done |= token == stop_token
            if done.all():
                break
    return [cut(row, stop_token) for row in torch.cat(written, dim=1).tolist()]


def beam_translate(
    model: Seq2Seq | RecurrentSeq2Seq,
    source: Int[Tensor, "1 S"],
    *,
    n_beams: int,
    start_token: int,
    stop_token: int,
    max_new_tokens: int,
    length_penalty: float = 0.0,
) -> list[Hypothesis]:
    """Beam search for the likeliest target of one source.

    Args:
        model: As in `translate`.
        source: Token ids of one source.
        n_beams: Beginnings kept; one is greedy decoding.
        start_token: What the target began with in training.
        stop_token: What it ended with.
        max_new_tokens: Longest target.
        length_penalty: At least 0; larger favors longer targets. See
            `course_lib.generation.beam_search`.

    Returns:
        At most `n_beams` targets, the best first, each with its log-probability.
    """
    _check(model, source, start_token, stop_token, max_new_tokens)
    with evaluating(model), torch.inference_mode():
        memory = model.encode(source)

        def next_log_probs(rows: np.ndarray) -> np.ndarray:
            ids = torch.from_numpy(rows).to(source.device)
            logits = model.decode(ids, memory.expand(len(rows), -1, -1))[:, -1]
            return logits.log_softmax(dim=-1).double().cpu().numpy()

        return beam_search(
            next_log_probs,
            [start_token],
            n_beams=n_beams,
            max_new_tokens=max_new_tokens,
            stop_token=stop_token,
            length_penalty=length_penalty,
        )


def _check(
    model: Seq2Seq | RecurrentSeq2Seq,
    source: Tensor,
    start_token: int,
    stop_token: int,
    max_new_tokens: int,
) -> None:
    if isinstance(model, RecurrentSeq2Seq):
        tables = model.source_embedding, model.target_embedding
        sizes = tables[0].num_embeddings, tables[1].num_embeddings
    else:
        sizes = model.config.vocab_size, model.config.vocab_target
    check_translation(source, sizes, start_token, stop_token, max_new_tokens)
