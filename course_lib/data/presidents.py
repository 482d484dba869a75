"""A GPT that writes like a president: weights, byte pairs, and how it was trained.

`book/checkpoints/presidents.py` trains it on nine of ten annual addresses. The first
token of each text says the decade. Matrices are stored in 8 bits with a scale a row,
since one number in 127 of the largest is fine enough to write with.
"""

import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from course_lib.config import GPTConfig
from course_lib.data.trained import trained
from course_lib.optional import missing
from course_lib.tokens import BPE

__all__ = ["Presidents", "presidents"]

SCALE = ".scale"  # behind a matrix's name: what one step of each row's is worth
FIRST, LAST = 1790, 2029


@dataclass(frozen=True, eq=False)
class Presidents:
    """What either wing makes the trained model of, and what stands around it."""

    config: GPTConfig
    weights: dict[str, np.ndarray]  #: For `set_weights`, float32
    tokenizer: BPE  #: Its ids come first, then those of the decades
    history: dict[str, Any]  #: How the training went

    def encode(self, text: str, *, year: int) -> list[int]:
        """The token of the year's decade, and those of the text."""
        return [
            decade_token(year, self.tokenizer.vocab_size),
            *self.tokenizer.encode(text),
        ]

    def decode(self, ids: list[int]) -> str:
        """The text of ids, without decades."""
        known = self.tokenizer.vocab_size
        return self.tokenizer.decode([int(i) for i in ids if i < known])


def presidents() -> Presidents:
    """Read the stored model: `set_weights(model, stored.weights)` of either wing.

    The model is made first, `ct.GPT(stored.config)` or `cn.GPT(stored.config, rngs=…)`.
    """
    try:
        from safetensors import safe_open
    except ImportError as error:
        raise missing("Stored weights need", "safetensors", "torch") from error
    with safe_open(trained("presidents"), framework="numpy") as file:
        about = file.metadata()
        arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    history = json.loads(about["history"])
    return Presidents(
        config=GPTConfig(**history["model"]),
        weights=_unsqueeze(arrays),
        tokenizer=BPE(**json.loads(about["tokenizer"])),
        history=history,
    )


def decade_token(year: int, n_pieces: int) -> int:
    """The id of a year's decade, behind those of the byte pairs."""
    if not FIRST <= year <= LAST:  # `check_range` would write 1,790
        raise ValueError(f"year must be from {FIRST} to {LAST}: got {year}.")
    return n_pieces + (year - FIRST) // 10


def _unsqueeze(small: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Matrices from whole numbers and the scale of each row; the rest as it is."""
    return {
        name: array * small[name + SCALE] if array.dtype == np.int8 else array
        for name, array in small.items()
        if not name.endswith(SCALE)
    }
