"""Pack the stored GPT that writes like a president as a script, for its live figure.

    python book/checkpoints/president.py              # into _static/explore/weights
    python book/checkpoints/president.py some/folder  # into another folder

A second. The file, president.js, is a script, since a page opened from a folder may
load nothing else. It holds the weights under the package's names, in base64: matrices
in 8 bits, as they are stored, and everything else, the scales of their rows too, in 32;
the byte pairs, as pairs of ids; and the text that the figure shows at first.
"""

import base64
from pathlib import Path
from typing import Any

import numpy as np
import store
from presidents import PIECES, PROMPT
from safetensors.numpy import load_file

from course_lib import data
from course_lib.data.trained import trained
from course_lib.tokens.bpe import byte_alphabet

YEAR = 1990  # of the text at first


def base(parts: list[np.ndarray]) -> str:
    """Numbers one after the other, lowest byte first."""
    little = [a.astype(a.dtype.newbyteorder("<")).tobytes() for a in parts]
    return base64.b64encode(b"".join(little)).decode()


def pairs(stored: data.Presidents) -> list[list[int]]:
    """The byte pairs as ids; each makes the next id behind the bytes'."""
    t = stored.tokenizer
    expected = [*sorted(byte_alphabet().values()), *(a + b for a, b in t.merges)]
    if list(t.tokens) != expected or len(expected) != PIECES:
        raise ValueError("the tokens must be the 256 bytes and one of each merge.")
    return [[t.ids[a], t.ids[b]] for a, b in t.merges]


def as_script() -> str:
    """What the live figure loads."""
    stored, arrays = data.presidents(), load_file(trained("presidents"))
    whole = {name: a for name, a in arrays.items() if a.dtype == np.int8}
    rest = {name: a for name, a in arrays.items() if name not in whole}
    given: dict[str, Any] = {
        "layers": stored.config.n_layers,
        "heads": stored.config.n_heads,
        "most": stored.config.max_len,
        "prompt": PROMPT,
        "year": YEAR,
        "text": stored.history["texts"][str(YEAR)],
        "merges": pairs(stored),
        "matrices": {name: a.shape for name, a in whole.items()},
        "vectors": {name: a.size for name, a in rest.items()},
        "whole": base([*whole.values()]),
        "floats": base([*rest.values()]),
    }
    return store.as_script("president", given)


def main(folder: Path) -> None:
    """Write the file."""
    (folder / "president.js").write_text(as_script(), "utf-8")


if __name__ == "__main__":
    store.run_command(main, store.SCRIPTS)
