"""Train the model of the page on GPT as the page does, for its live figure.

    python book/checkpoints/gpt.py               # where the book reads them
    python book/checkpoints/gpt.py some/folder   # into another folder

The cells of the page run as they stand there, those of PyTorch only, up to its
training: a quarter of a minute. The file gpt.js, in book/_static/explore/weights, is a
script, since a page opened from a folder may load nothing else. It holds the weights
under the page's names, as 16-bit numbers in base64, and the language: words, and from
each state of its source (class of the next word, probability, next state). The file
gpt.safetensors, in course_lib/data/trained, holds the same 16-bit numbers for Python.
"""

import base64
import json
from pathlib import Path
from typing import Any

import numpy as np
import store
from page_cells import run_cells
from safetensors.numpy import save_file

from course_lib import data

LAST = "losses = ct.fit(model"  # what the last cell does


def train() -> dict[str, Any]:
    """Run the page's cells up to its training; return their names."""
    return run_cells("architectures/gpt.md", LAST)


def as_script(weights: dict[str, np.ndarray]) -> str:
    """Write weights and language as the script that the live figure loads."""
    language = data.grammar()
    classes = list(dict.fromkeys(language.classes))
    source, own = language.source, np.array(language.classes)
    states = [
        [
            [classes.index(name), round(p, 12), int(source.next_state[state, ids[0]])]
            for name in classes
            for ids in [np.flatnonzero(own == name)]
            if (p := source.emission[state, ids].sum()) > 0
        ]
        for state in range(source.n_states)
    ]
    halves = [a.astype("<f2").tobytes() for a in weights.values()]
    given = {
        "words": language.words,
        "classes": [classes.index(name) for name in language.classes],
        "names": classes,
        "states": states,
        "shapes": {name: a.shape for name, a in weights.items()},
        "half": base64.b64encode(b"".join(halves)).decode(),
    }
    return store.as_script("gpt", given)


def from_script(text: str) -> dict[str, np.ndarray]:
    """Read the weights, in 64 bits, from what `as_script` wrote."""
    given = json.loads(text.partition("given.gpt = ")[2].rstrip("\n;"))
    shapes = given["shapes"]
    halves = np.frombuffer(base64.b64decode(given["half"]), "<f2").astype(float)
    *parts, rest = np.split(halves, np.cumsum([np.prod(s) for s in shapes.values()]))
    if rest.size:
        raise ValueError(f"the shapes must hold all weights: {rest.size} are left.")
    return {n: a.reshape(shapes[n]) for n, a in zip(shapes, parts, strict=True)}


def main(folder: Path) -> None:
    """Train and write both files; each to its place, if no other folder is named."""
    trained = train()["model"].state_dict()
    weights = {name: a.numpy().astype("<f2") for name, a in trained.items()}
    (folder / "gpt.js").write_text(as_script(weights), "utf-8")
    folder = store.TRAINED if folder == store.SCRIPTS else folder
    metadata = {"format": "course_lib weights 1"}
    save_file(weights, folder / "gpt.safetensors", metadata)


if __name__ == "__main__":
    store.run_command(main, store.SCRIPTS)
