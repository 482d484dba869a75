"""What a generation starts from and what it leaves: plain lists, for both wings.

Prompts of different lengths go side by side without padding in between. All rows are
written from the shortest prompt's end on; where a longer prompt still has a token, that
token is taken and not drawn. So no row sees padding, and none depends on its neighbors.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from course_lib.checks import check_sampling, check_size


@dataclass(frozen=True)
class GenerationInputs:
    """Everything that is known before the first token is drawn.

    Args:
        ids: Prompts, each followed by zeros, `B T`; T is the longest prompt and all the
            new tokens.
        lengths: Tokens of each prompt, `B`.
        uniforms: A number in [0, 1) for each draw, `B N`, N the number of new tokens.
            Row b depends on the seed and on b alone.
    """

    ids: np.ndarray
    lengths: np.ndarray
    uniforms: np.ndarray

    @property
    def start(self) -> int:
        """Where the first row begins to write."""
        return int(self.lengths.min())

    @property
    def end(self) -> int:
        """Where the last row stops writing, at the latest."""
        return int(self.lengths.max()) + self.uniforms.shape[1]


def generation_inputs(
    prompts: Iterable[Any],
    config: Any,
    *,
    max_new_tokens: int,
    temperature: float,
    top_k: int | None,
    top_p: float | None,
    seed: int,
) -> GenerationInputs:
    """Check what is asked for, and lay it out.

    Args:
        prompts: Token ids, one sequence a text.
        config: The model's `GPTConfig`.
        max_new_tokens: N.
        temperature: At least 0; 0 is greedy.
        top_k: None keeps all.
        top_p: None keeps all.
        seed: Where the draws start.

    Returns:
        The layout.

    Raises:
        ValueError: A prompt is empty or holds an id that is not in the vocabulary, the
            text would be longer than the model's positions, or a setting is out of
            range.
    """
    check_size("max_new_tokens", max_new_tokens)
    check_sampling(temperature, top_k, top_p)
    rows = [np.asarray(prompt).reshape(-1).tolist() for prompt in prompts]
    if not rows or not all(rows):
        raise ValueError(
            "each prompt must hold at least one token: got lengths "
            f"{[len(row) for row in rows]}. Begin with the start token that the model "
            "was trained with."
        )
    wrong = [t for row in rows for t in row if not 0 <= t < config.vocab_size]
    if wrong or any(t != int(t) for row in rows for t in row):
        raise ValueError(
            f"token ids must be whole numbers from 0 to {config.vocab_size - 1}: got "
            f"{(wrong or rows)[0]}."
        )
    longest = max(map(len, rows))
    if (
        config.position in ("learned", "sinusoidal")
        and longest + max_new_tokens > config.max_len
    ):
        raise ValueError(
            f"prompt and new tokens must fit into max_len={config.max_len}: got "
            f"{longest} and {max_new_tokens}. Ask for fewer new tokens, or shorten the "
            "prompt from the left."
        )
    ids = np.zeros((len(rows), longest + max_new_tokens), dtype=np.int64)
    for row, prompt in zip(ids, rows, strict=True):
        row[: len(prompt)] = prompt
    uniforms = [
        np.random.default_rng((seed, b)).random(max_new_tokens, dtype=np.float32)
        for b in range(len(rows))
    ]
    return GenerationInputs(
        ids, np.array([len(row) for row in rows]), np.stack(uniforms)
    )


def new_tokens(
    inputs: GenerationInputs, ids: np.ndarray, stop_token: int | None
) -> list[list[int]]:
    """Cut what was written into texts.

    Args:
        inputs: What was asked for.
        ids: Prompts and what follows them, `B T`.
        stop_token: Ends a text; None means that only the length does.

    Returns:
        The new tokens of each text, up to its stop token, which is left out.
    """
    texts = []
    for row, length in zip(ids, inputs.lengths, strict=True):
        text = row[length : length + inputs.uniforms.shape[1]].tolist()
        texts.append(cut(text, stop_token))
    return texts


def cut(text: list[int], stop_token: int | None) -> list[int]:
    """What stands before the stop token; everything, if it did not come."""
    return text[: text.index(stop_token)] if stop_token in text else text


def check_translation(start_token: int, stop_token: int, max_new_tokens: int) -> None:
    """Refuse what no target can be written with.

    Raises:
        ValueError: A token id is negative, or the longest target has no tokens.
    """
    check_size("max_new_tokens", max_new_tokens)
    for name, token in (("start_token", start_token), ("stop_token", stop_token)):
        if token < 0:
            raise ValueError(f"{name} must be a token id, at least 0: got {token}.")
