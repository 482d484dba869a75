"""Store the attention maps of the page on published weights, for its live figure.

    python book/checkpoints/heads.py               # into book/_static/explore/weights
    python book/checkpoints/heads.py some/folder   # into another folder

All 72 maps of MiniLM for the page's two sentences. The file, heads.js, is a script. It
holds the tokens and, in base64, the weights as bytes: 255 is the weight 1, so that each
is right to 0.002. Their order is sentence, layer, head, query, key.
"""

import base64
from pathlib import Path

import numpy as np
import torch
from store import SCRIPTS, run_command, write_script
from tokenizers import BertWordPieceTokenizer

import course_lib.torch as ct
from course_lib import hub

TIRED = "The animal didn't cross the street because it was too tired."
SENTENCES = (TIRED, TIRED.replace("tired", "wide"))


@torch.no_grad()
def maps() -> tuple[list[list[str]], np.ndarray]:
    """The tokens of each sentence, and its maps: sentence, layer, head, query, key."""
    folder = hub.fetch(hub.MINILM)
    tokenizer = BertWordPieceTokenizer(str(folder / "vocab.txt"))
    found = tokenizer.encode_batch(list(SENTENCES))
    ids = torch.tensor([one.ids for one in found])
    layers = ct.attention_maps(hub.load(folder), ids)
    return [one.tokens for one in found], torch.stack(list(layers), 1).numpy()


def main(folder: Path) -> None:
    """Write the file."""
    tokens, weights = maps()
    levels = np.rint(255 * weights).astype("u1").tobytes()
    given = {
        "tokens": tokens,
        "shape": weights.shape,
        "bytes": base64.b64encode(levels).decode(),
    }
    write_script("heads", given, folder)


if __name__ == "__main__":
    run_command(main, SCRIPTS)
