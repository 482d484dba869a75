"""What the recap's gpt.py makes of a longer text, beside tables of counts.

    python book/checkpoints/recap.py               # into course_lib/data/trained
    python book/checkpoints/recap.py some/folder   # into another folder

The text is the presidents' addresses since 1980, in the order of time. The programs
learn it from three starts, one in PyTorch and two in NNX, for ten minutes or so on one
core, and keep their models. These are judged on the last tenth, which they haven't
read, each letter with at least half a window before it; so are counts with memories of
three to seven letters. The file, recap.safetensors, holds nats a letter, a number a
start or a memory, and the three settings.
"""

import runpy
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jax
import numpy as np
import torch
from flax import nnx
from page_cells import BOOK
from safetensors.numpy import save_file
from store import run_command

from course_lib import data
from course_lib.baselines import NGram

SETTINGS = ("--steps=5000", "--batch=8", "--rate=0.004")
STARTS, MEMORIES, SINCE = {"torch": 1, "nnx": 2}, range(3, 8), 1980


def text() -> str:
    """The addresses, with an empty line between two."""
    return "\n\n".join(a.text for a in data.addresses() if a.year >= SINCE)


def parts() -> tuple[np.ndarray, np.ndarray, int]:
    """Ids of what is read and of what is held out, and how many letters differ."""
    letters, ids = np.unique([*text()], return_inverse=True)
    read, unseen = np.split(ids, [len(ids) * 9 // 10])
    return read, unseen, len(letters)


def program(wing: str) -> Path:
    """The file to take home."""
    return BOOK / "architectures" / "recap" / wing / "gpt.py"


def in_torch(path: Path) -> Callable[[np.ndarray], np.ndarray]:
    """The losses of a model that PyTorch's program kept."""
    found = runpy.run_path(str(program("torch")))
    letters, sizes, weights = torch.load(path)
    model = found["GPT"](SimpleNamespace(vocab_size=len(letters), **sizes))
    model.load_state_dict(weights)

    def losses(windows: np.ndarray) -> np.ndarray:
        ids = torch.from_numpy(windows)
        with torch.no_grad():
            log_p = model(ids[:, :-1]).log_softmax(dim=-1)
        return -log_p.gather(-1, ids[:, 1:, None])[..., 0].numpy()

    return losses


def in_nnx(path: Path) -> Callable[[np.ndarray], np.ndarray]:
    """The losses of a model that NNX's program kept."""
    found = runpy.run_path(str(program("nnx")))
    letters, sizes, *weights = np.load(path).values()
    config = dict(zip(found["SIZES"], sizes.tolist(), strict=True))
    config = SimpleNamespace(vocab_size=len(str(letters)), **config)
    model = found["GPT"](config, rngs=nnx.Rngs(0))
    shape = jax.tree.structure(nnx.state(model))
    nnx.update(model, jax.tree.unflatten(shape, weights))
    forward = nnx.jit(found["GPT"].__call__)

    def losses(windows: np.ndarray) -> np.ndarray:
        log_p = np.asarray(jax.nn.log_softmax(forward(model, windows[:, :-1])))
        return -np.take_along_axis(log_p, windows[:, 1:, None], axis=-1)[..., 0]

    return losses


WINGS: dict[str, Any] = {"torch": in_torch, "nnx": in_nnx}


def judged(losses: Callable[[np.ndarray], np.ndarray], ids: np.ndarray) -> float:
    """Nats a letter where at least half a window of 128 comes before it."""
    starts = np.arange(0, len(ids) - 128, 64)
    windows = ids[starts[:, None] + np.arange(129)]
    cut = range(0, len(windows) // 32 * 32, 32)  # batches of one shape
    return float(np.mean([losses(windows[i : i + 32])[:, 64:].mean() for i in cut]))


def main(folder: Path) -> None:
    """Train, judge and write the file."""
    torch.set_num_threads(1)
    read, unseen, n_letters = parts()
    counted = [NGram(n + 1, n_letters).fit(read).losses(unseen)[64:] for n in MEMORIES]
    ends: dict[str, Any] = {"counts": [losses.mean() for losses in counted]}
    with tempfile.TemporaryDirectory() as place:
        (Path(place) / "text.txt").write_text(text(), "utf-8")
        for wing, load in WINGS.items():
            ends[wing] = []
            for start in range(STARTS[wing]):
                given = (*SETTINGS, f"--seed={start}", "--model=model")
                command = [sys.executable, str(program(wing)), "text.txt", *given]
                subprocess.run(command, cwd=place, check=True)
                ends[wing].append(judged(load(Path(place) / "model"), unseen))
    ends["settings"] = [float(option.partition("=")[2]) for option in SETTINGS]
    arrays = {name: np.array(end, dtype=np.float32) for name, end in ends.items()}
    save_file(arrays, folder / "recap.safetensors")


if __name__ == "__main__":
    run_command(main)
