"""Translation: the target is written autoregressively, token after token (PyTorch).

The source is read once. The target starts as the start token alone; the likeliest next
token is put behind it until the stop token comes. What has been computed for the source
and for the tokens before is cached, so each token is read once too. Training is
different (teacher forcing): there the true target is given, and all its positions are
predicted at once.
"""

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from course_lib.generation.inputs import translation_inputs
from course_lib.generation.stopping import gathered
from course_lib.torch.evaluation import evaluating
from course_lib.torch.generation.write import write
from course_lib.torch.seq2seq import Seq2Seq

__all__ = ["translate"]


def translate(
    model: Seq2Seq,
    source: Int[Tensor, "B S"],
    *,
    start_token: int,
    stop_token: int,
    max_new_tokens: int,
    source_mask: Bool[Tensor, "..."] | None = None,
) -> list[list[int]]:
    """Greedy decoding: write the likeliest next token, again and again.

    Returns one target for each source, without start and stop token. Padding of the
    source is where `source_mask`, such as `padding_mask_from_ids(source, pad_id)`, is
    False. The model is used in evaluation mode, and each part's own mode is restored.
    """
    given = translation_inputs(
        source, model.vocab_sizes, start_token, stop_token, max_new_tokens
    )
    with evaluating(model), torch.inference_mode():
        memory = model.encode(source, source_mask=source_mask)
        cache = model.begin(memory, max_new_tokens, source_mask=source_mask)
        return gathered(given, write(model, cache, given))
