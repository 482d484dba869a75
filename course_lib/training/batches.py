"""Batches: which examples a step sees, as a function of the step.

The position of a generator cannot be saved. A function of the step has none: a run
resumed at step 40 gets batch 40, as the unbroken run did, and two processes that ask
for the same batch can each take their share of it.
"""

import hashlib
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from course_lib.checks import check_size, check_sizes, check_whole
from course_lib.config import TrainConfig

__all__ = ["Batches", "Windows", "in_turn"]

Batch = tuple[Any, ...]  # NumPy arrays, or the framework's own


class Batches:
    """Mini-batches of a data set, shuffled anew in every epoch.

    Calling it with a step returns that step's batch; `len` is the batches of one epoch.
    What is left over at the end of an epoch, less than a batch, is not seen in it.

    Args:
        *arrays: The data, one example a row, all with equally many rows.
        batch_size: Examples in a batch.
        seed: Seed of the orders.
        shuffle: False keeps the order of the rows, the same in every epoch.
    """

    def __init__(
        self,
        *arrays: np.ndarray,
        batch_size: int,
        seed: int = 0,
        shuffle: bool = True,
    ):
        check_size("batch_size", batch_size)
        check_whole("seed", seed)
        self.arrays = _check_rows(arrays)
        self.batch_size, self.seed, self.shuffle = batch_size, seed, shuffle
        self.n_rows = len(self.arrays[0])
        if self.n_rows < batch_size:
            raise ValueError(
                "a batch must not be larger than the data: got "
                f"batch_size={batch_size} for {self.n_rows} rows."
            )
        self._epoch, self._order = -1, np.arange(self.n_rows)

    def __len__(self) -> int:
        return self.n_rows // self.batch_size

    def __call__(self, step: int) -> Batch:
        """The batch of this step."""
        epoch, place = divmod(step, len(self))
        if self.shuffle and epoch != self._epoch:
            draw = np.random.default_rng([self.seed, epoch])
            self._epoch, self._order = epoch, draw.permutation(self.n_rows)
        rows = self._order[place * self.batch_size : (place + 1) * self.batch_size]
        return tuple(array[rows] for array in self.arrays)

    @cached_property  # the data is hashed once, and only if there is a checkpoint
    def order(self) -> dict[str, Any]:
        """What decides the batches; a checkpoint holds it and compares."""
        return {
            "rows": self.n_rows,
            "batch_size": self.batch_size,
            "seed": self.seed,
            "shuffle": self.shuffle,
            "data": fingerprint(*self.arrays),
        }


class Windows:
    """Windows of one long row of tokens, drawn at random places for each step.

    Calling it with a step returns that step's batch, one array `B T+1`: with teacher
    forcing, inputs are its first T columns and targets its last T.

    Args:
        tokens: The row.
        length: T, positions in a window.
        batch_size: Windows in a batch.
        seed: Seed of the places.
    """

    def __init__(
        self, tokens: np.ndarray, *, length: int, batch_size: int, seed: int = 0
    ):
        check_sizes(length=length, batch_size=batch_size)
        check_whole("seed", seed)
        self.tokens = np.asarray(tokens)
        if self.tokens.ndim != 1 or len(self.tokens) <= length:
            raise ValueError(
                "tokens must be one row, longer than a window: got shape "
                f"{self.tokens.shape} for length={length}."
            )
        self.length, self.batch_size, self.seed = length, batch_size, seed

    def __call__(self, step: int) -> Batch:
        """The batch of this step."""
        draw = np.random.default_rng([self.seed, step])
        starts = draw.integers(0, len(self.tokens) - self.length, self.batch_size)
        return (self.tokens[starts[:, None] + np.arange(self.length + 1)],)

    @cached_property
    def order(self) -> dict[str, Any]:
        """What decides the batches; a checkpoint holds it and compares."""
        return {
            "tokens": len(self.tokens),
            "length": self.length,
            "batch_size": self.batch_size,
            "seed": self.seed,
            "data": fingerprint(self.tokens),
        }


def in_turn(*arrays: np.ndarray, batch_size: int) -> list[Batch]:
    """Mini-batches in the order of the rows, every row once, for evaluation.

    The last batch may be shorter.
    """
    check_size("batch_size", batch_size)
    arrays = _check_rows(arrays)
    starts = range(0, len(arrays[0]), batch_size)
    return [tuple(a[start : start + batch_size] for a in arrays) for start in starts]


def _check_rows(arrays: Sequence[np.ndarray]) -> Batch:
    """Refuse arrays that do not have equally many rows, at least one."""
    arrays = tuple(np.asarray(array) for array in arrays)
    shapes = [array.shape for array in arrays]
    if not arrays or any(not s or s[0] == 0 or s[0] != shapes[0][0] for s in shapes):
        raise ValueError(
            "arrays must have equally many rows, one for each example: got "
            f"{', '.join(map(str, shapes)) or 'no array'}."
        )
    return arrays


def batch_at(batches: Any) -> Callable[[int], Batch]:
    """Read `fit`'s batches as a function of the step that returns a tuple of arrays."""
    if isinstance(batches, Sequence) and len(batches):
        return lambda step: _as_tuple(batches[step % len(batches)])
    if not callable(batches):
        raise ValueError(
            "batches must be a function of the step, or a list that is not empty: got "
            f"{type(batches).__name__}. A run that is resumed asks for a batch by its "
            "step, which a generator cannot give; take "
            "course_lib.training.batches.Batches, or list(...)."
        )
    return lambda step: _as_tuple(batches(step))


def config_of(
    batches: Any, learning_rate: float | None, config: TrainConfig | None
) -> TrainConfig:
    """`fit`'s configuration: as given, or Adam for one pass through a list.

    The rate then rises for a tenth of the steps and falls to 0.
    """
    if learning_rate is None:
        return TrainConfig() if config is None else config
    if config is not None or not isinstance(batches, Sequence):
        raise ValueError(
            "learning_rate needs a list of batches, gone through once, and no config: "
            f"got {type(batches).__name__} and config={config}. In a config it is "
            "TrainConfig(learning_rate=...), beside steps."
        )
    steps = max(1, len(batches))
    return TrainConfig(
        steps=steps,
        learning_rate=learning_rate,
        schedule="linear",
        warmup=steps // 10,
        weight_decay=0.0,
        clip=None,
    )


def order_of(batches: Any) -> dict[str, Any]:
    """What decides `fit`'s batches: their own `order`, or a list's fingerprint.

    Empty for any other function of the step.
    """
    if isinstance(batches, Sequence):
        arrays = (array for batch in batches for array in _as_tuple(batch))
        return {"batches": len(batches), "data": fingerprint(*arrays)}
    return getattr(batches, "order", {})


def fingerprint(*arrays: np.ndarray) -> str:
    """Checksum of arrays: SHA-256 of dtypes, shapes and bytes, 64 hex digits."""
    digest = hashlib.sha256()
    for array in map(np.asarray, arrays):
        digest.update(f"{array.dtype} {array.shape} ".encode())
        digest.update(np.ascontiguousarray(array).reshape(-1).view("uint8").data)
    return digest.hexdigest()


def check_parts(batch: Batch, n_parts: int, n_processes: int = 1) -> None:
    """Refuse a batch that does not fall into equal parts, each shared out equally."""
    n_rows = len(_check_rows(batch)[0])
    if n_rows % (n_parts * n_processes):
        raise ValueError(
            "a batch must divide into equal parts: got "
            f"{n_rows} rows for accumulate={n_parts} on {n_processes} "
            f"process{'es' if n_processes > 1 else ''} or devices (remainder "
            f"{n_rows % (n_parts * n_processes)})."
        )


def _as_tuple(batch: Any) -> Batch:
    return tuple(batch) if isinstance(batch, (tuple, list)) else (batch,)
