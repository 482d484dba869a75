"""What generation starts from: prompts, draws and limits, for both wings.

Prompts of different lengths go side by side without padding in between. All rows are
written from the shortest prompt's end on; where a longer prompt still has a token, that
token is taken and not drawn. So no row sees padding, and none depends on its neighbors.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from course_lib.arrays import to_numpy
from course_lib.checks import check_size


@dataclass(frozen=True)
class GenerationInputs:
    """Everything that is known before the first token is drawn.

    Args:
        ids: Prompts, each followed by zeros, `B T`; T is the longest prompt and all the
            new tokens.
        lengths: Tokens of each prompt, `B`.
        uniforms: A number in [0, 1) for each draw, `B N`, N the number of new tokens.
            Row b depends on the seed and on b alone.
        stops: Each sequence that ends a text, `K W`; shorter ones have -1 in front.
        most: Tokens that the model reads at once, the newest; None means all.
    """

    ids: np.ndarray
    lengths: np.ndarray
    uniforms: np.ndarray
    stops: np.ndarray
    most: int | None = None

    @property
    def start(self) -> int:
        """Where the first row begins to write."""
        return int(self.lengths.min())

    @property
    def end(self) -> int:
        """Where the last row stops writing, at the latest."""
        return int(self.lengths.max()) + self.uniforms.shape[1]


def longest(*models: Any) -> int | None:
    """Positions that all of these models have; None means any number."""
    limits = [model.positions.max_len for model in models]
    return min((limit for limit in limits if limit is not None), default=None)


def generation_inputs(
    prompts: Iterable[Any],
    *models: Any,
    max_new_tokens: int,
    stop_token: int | None = None,
    stop: Iterable[Any] = (),
    seed: int = 0,
    crop: bool = False,
) -> GenerationInputs:
    """Check the arguments of `generate`, which are described there, and lay them out.

    The models share a vocabulary, and read the text together.

    Raises:
        ValueError: A prompt or a stop word is no sequence of the vocabulary's ids, or
            the text would be longer than a model's positions, and not cropped.
    """
    vocab_size, max_len = models[0].config.vocab_size, longest(*models)
    check_size("max_new_tokens", max_new_tokens)
    prompts = [prompts] if isinstance(prompts, str) else prompts
    rows = [_token_ids("prompt", prompt, vocab_size) for prompt in prompts]
    words = [_token_ids("stop word", word, vocab_size) for word in stop]
    ends = [] if stop_token is None else [[stop_token]]
    ends = [_token_ids("stop token", end, vocab_size) for end in ends]
    if not all(words):
        raise ValueError(
            f"each stop word must hold at least one token: got {words}. Leave empty "
            "ones out."
        )
    if not rows:
        raise ValueError(
            "there must be a prompt: got none. A text from nothing begins with the "
            "start token that the model was trained with."
        )
    if not all(rows):
        raise ValueError(
            "each prompt must hold at least one token: got lengths "
            f"{[len(row) for row in rows]}. Begin with the start token that the model "
            "was trained with."
        )
    length = max(map(len, rows))
    if not crop and max_len is not None and length + max_new_tokens > max_len:
        raise ValueError(
            f"prompt and new tokens must fit into max_len={max_len}: got "
            f"{length} and {max_new_tokens}. Ask for fewer new tokens, shorten the "
            f"prompt from the left, or let `generate` read the last {max_len} tokens "
            "alone with crop=True."
        )
    ids = np.zeros((len(rows), length + max_new_tokens), dtype=np.int64)
    for row, prompt in zip(ids, rows, strict=True):
        row[: len(prompt)] = prompt
    uniforms = [
        np.random.default_rng((seed, b)).random(max_new_tokens, dtype=np.float32)
        for b in range(len(rows))
    ]
    return GenerationInputs(
        ids,
        np.array([len(row) for row in rows]),
        np.stack(uniforms),
        _stops(ends + words),
        max_len,
    )


def _stops(words: list[list[int]]) -> np.ndarray:
    width = max(map(len, words), default=1)
    rows = [[-1] * (width - len(word)) + word for word in words]
    return np.array(rows, dtype=np.int64).reshape(-1, width)


def _token_ids(name: str, given: Any, vocab_size: int) -> list[int]:
    try:
        ids = to_numpy(given)
    except ValueError:  # rows of different lengths
        ids = np.zeros((0, 0))
    if ids.dtype.kind in "US":
        raise ValueError(
            f"a {name} must be a sequence of token ids: got the text {given!r:.60}. "
            "Turn it into ids with tokenizer.encode(text)."
        )
    if ids.ndim != 1 or ids.dtype.kind not in "iuf":
        raise ValueError(
            f"a {name} must be a sequence of token ids: got {given!r:.60}. Several "
            f"{name}s are a list of such sequences, and so is a single one: "
            "[[1, 2, 3]]."
        )
    _check_range(f"a {name}", ids, vocab_size)
    return [int(token) for token in ids]


def _check_range(where: str, ids: np.ndarray, vocab_size: int) -> None:
    allowed = (ids >= 0) & (ids < vocab_size) & (ids % 1 == 0)
    if not allowed.all():
        raise ValueError(
            f"token ids must be whole numbers from 0 to {vocab_size - 1}: got "
            f"{ids[~allowed][0]} in {where}. Use the tokenizer that the model was "
            "trained with."
        )


def translation_inputs(
    source: Any,
    vocab_sizes: tuple[int, int],
    start_token: int,
    stop_token: int,
    max_new_tokens: int,
) -> GenerationInputs:
    """Check the arguments of `translate`, which are described there, and lay them out.

    The prompt is the start token. The source's shape and kind are the model's to check;
    `vocab_sizes` are of the source and of the target.

    Raises:
        ValueError: A token is not in its vocabulary, or the longest target has none.
    """
    check_size("max_new_tokens", max_new_tokens)
    for name, token in (("start token", start_token), ("stop token", stop_token)):
        _token_ids(name, [token], vocab_sizes[1])
    found = to_numpy(source)
    if found.dtype.kind in "iu":
        _check_range("source", found, vocab_sizes[0])
    ids = np.zeros((len(found), 1 + max_new_tokens), dtype=np.int64)
    ids[:, 0] = start_token
    none = np.zeros((len(found), max_new_tokens), dtype=np.float32)  # nothing is drawn
    stops = _stops([[stop_token]])
    return GenerationInputs(ids, np.ones(len(found), dtype=np.int64), none, stops)
