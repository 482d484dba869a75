"""A small model that an exercise on generation hands to the answer."""

import importlib
from typing import Any

import numpy as np


class ToyModel:
    """A language model with a cache, called as GPT is, that notices how it is read.

        logits, keys, values = model(ids, keys, values)

    The logits depend on the last token and on the mean over all tokens so far. What it
    calls keys is the sum for this mean, and values how many tokens are in it.

    Args:
        last: Logits by the last token, `V V`.
        past: What a token adds to later logits, `V V`.
        prompt: Tokens of the prompt.
        cached: Whether the answer is to use the cache.
    """

    def __init__(self, last: np.ndarray, past: np.ndarray, prompt: int, cached: bool):
        self.last, self.past = last, past
        self.prompt, self.cached = prompt, cached

    def __repr__(self) -> str:
        return "a model"

    def __call__(self, ids: Any, keys: Any = None, values: Any = None) -> Any:
        """Logits `B T V`, and the cache with `ids` in it."""
        self._check(ids.shape[1], keys, values)
        return self.read(ids, keys, values)

    def read(self, ids: Any, keys: Any = None, values: Any = None) -> Any:
        """The same, however it is read."""
        last, past = (_like(ids, table) for table in (self.last, self.past))
        sums = past[ids].cumsum(1)
        n = (0 * ids + 1).cumsum(1)[..., None]
        if keys is not None:
            sums, n = sums + keys, n + values
        return last[ids] + sums / n, sums[:, -1:], n[:, -1:]

    def _check(self, length: int, keys: Any, values: Any) -> None:
        if (keys is None) != (values is None):
            raise ValueError("keys and values must come together, or neither.")
        if not self.cached and keys is not None:
            raise ValueError("with cached=False no keys and values may be handed in.")
        if self.cached and keys is None and length != self.prompt:
            raise ValueError(
                "with cached=True only the prompt may be read without keys and values: "
                f"got {length} tokens, and the prompt has {self.prompt}."
            )
        if self.cached and keys is not None and length != 1:
            raise ValueError(
                "with cached=True each call behind the prompt must read one token: "
                f"got {length}."
            )


def _like(x: Any, table: np.ndarray) -> Any:
    """The table as an array of the framework of x; floats in float32, but in NumPy."""
    root = type(x).__module__.partition(".")[0]
    if root == "numpy":
        return table
    if root == "torch":
        return importlib.import_module("torch").from_numpy(table.astype(np.float32))
    return importlib.import_module("jax.numpy").asarray(table, "float32")
