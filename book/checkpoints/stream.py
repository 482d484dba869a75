"""Send vectors up a hundred random blocks and gradients down, for the live figure.

    python book/checkpoints/stream.py               # into book/_static/explore/weights
    python book/checkpoints/stream.py some/folder   # into another folder

The experiment of the page on the block in 64 bits, from 12 random starts, with and
without skip connections, with the norm before each part, after it, or left out. The
file, stream.js, is a script. In each case, after each block, it has three numbers: the
mean square of the vectors, the share of it that differs between words, and the length
of the gradient, 1 at the top. Of each it holds the quartiles over the starts, as 500
times the base-10 logarithm in 16 bits, right to 0.3%. A logarithm of 60 stands for a
gradient that overflows on its way down. A second array has, as bytes, the cosines of
all pairs of words in the first start, where 0 is -1 and 255 is 1.
"""

import base64
from collections.abc import Callable
from functools import partial
from itertools import combinations
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from store import SCRIPTS, run_command, write_script
from torch import Tensor

import course_lib.torch as ct

DEPTH, STARTS, WIDTH, HEADS = 100, 12, 32, 4
TEXT = ("the", "firms", "near", "the", "bank", "grow", "again", ".")
CASES = [(skip, place) for skip in (True, False) for place in ("pre", "post", "none")]
SCALE, MOST = 500, 60  # no logarithm may pass 65, since they are stored in 16 bits
LEAST = 1e-12  # a smaller share is what rounding leaves of words that have become one

Part = Callable[[Tensor], Tensor]
norm = partial(F.layer_norm, normalized_shape=(WIDTH,), eps=1e-5)


def apply(f: Part, x: Tensor, skip: bool, place: str) -> Tensor:
    """What a part makes of the stream."""
    y = f(norm(x) if place == "pre" else x)
    y = x + y if skip else y
    return norm(y) if place == "post" else y


def run(start: int, skip: bool, place: str) -> tuple[np.ndarray, np.ndarray]:
    """Vectors after each block, and gradients: block, word, feature."""
    torch.manual_seed(start)
    blocks = [ct.Block(WIDTH, HEADS, activation="relu").double() for _ in range(DEPTH)]
    bottom, top = torch.randn(2, 1, len(TEXT), WIDTH).double()
    stream = [bottom.requires_grad_()]
    for b in blocks:
        h = apply(b.attention, stream[-1], skip, place)
        stream.append(apply(b.feed_forward, h, skip, place))
    gradients = torch.autograd.grad(stream[-1], stream, top)
    return torch.cat(stream).detach().numpy(), torch.cat(gradients).numpy()


def measure(vectors: np.ndarray, gradients: np.ndarray) -> np.ndarray:
    """Mean square, share of it that differs, length of the gradient: number, block."""
    square = np.square(vectors).mean(axis=(1, 2))
    share = np.maximum(vectors.var(axis=1).mean(axis=1) / square, LEAST)
    with np.errstate(over="ignore", invalid="ignore"):  # without norms
        length = np.sqrt(np.square(gradients).sum(axis=(1, 2)))
        logs = np.log10([square, share, length / length[-1]])
    if not np.isfinite(logs[2]).all():
        logs[2, :-1] = MOST  # such a gradient comes of rounding, at every block
    return logs


def cosines(vectors: np.ndarray) -> np.ndarray:
    """The cosine of each pair of words: block, pair."""
    units = vectors / np.linalg.norm(vectors, axis=2, keepdims=True)
    i, j = zip(*combinations(range(len(TEXT)), 2), strict=True)
    return (units @ units.swapaxes(1, 2))[:, i, j]


def case(skip: bool, place: str) -> tuple[np.ndarray, np.ndarray]:
    """What the file holds of a case: number, quartile, block; block, pair."""
    runs = [run(start, skip, place) for start in range(STARTS)]
    logs = np.stack([measure(*each) for each in runs])
    quartiles = np.quantile(logs, (0.25, 0.5, 0.75), axis=0).swapaxes(0, 1)
    bytes_ = np.rint(127.5 * (1 + cosines(runs[0][0])))
    return np.rint(SCALE * quartiles).astype("<i2"), bytes_.astype("u1")


def main(folder: Path) -> None:
    """Write the file."""
    logs, pairs = zip(*(case(*each) for each in CASES), strict=True)
    given = {
        "words": TEXT,
        "cases": CASES,
        "scale": SCALE,
        "logs": base64.b64encode(np.stack(logs).tobytes()).decode(),
        "cosines": base64.b64encode(np.stack(pairs).tobytes()).decode(),
    }
    write_script("stream", given, folder)


if __name__ == "__main__":
    run_command(main, SCRIPTS)
