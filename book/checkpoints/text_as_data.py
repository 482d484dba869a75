"""Store what two models make of presidents' paragraphs, for the page on text as data.

    python book/checkpoints/text_as_data.py               # into course_lib/data/trained
    python book/checkpoints/text_as_data.py some/folder   # into another folder

Four minutes of one core. The file, text-as-data.safetensors, has two arrays. A row of
"minilm" for each of `data.paragraphs()` is the mean of the tokens' vectors, scaled to
length one, as half precision numbers. A row of "decades" for each of those that are
held out is -log P(text | decade), in nats, by the stored GPT that writes like a
president, from the 1790s to the 2020s. The history has the texts' SHA-256, so that
vectors of other texts are noticed.
"""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from presidents import DECADES, PIECES, Text, in_turn, surprise
from safetensors.numpy import save_file
from store import run_command
from tokenizers import BertWordPieceTokenizer

import course_lib.torch as ct
from course_lib import data, hub

LONGEST = 256  # tokens, as the encoder was trained; the rest of a text is not read
BATCH = 24


def digest(texts: Sequence[str]) -> str:
    """What tells one list of texts from another."""
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()


@torch.no_grad()
def embed(texts: Sequence[str]) -> np.ndarray:
    """A vector of length one for each text: (texts, 384)."""
    folder = hub.fetch(hub.MINILM)
    bert = hub.load(folder, "torch")
    tokenizer = BertWordPieceTokenizer(str(folder / "vocab.txt"))
    tokenizer.enable_truncation(LONGEST)
    tokenizer.enable_padding()
    # Texts of like length together, so that little is padding.
    order = np.argsort([len(one.ids) for one in map(tokenizer.encode, texts)])
    rows = np.empty((len(texts), 384), np.float32)
    for start in range(0, len(order), BATCH):
        some = order[start : start + BATCH]
        found = tokenizer.encode_batch([texts[i] for i in some])
        ids = torch.tensor([one.ids for one in found])
        keep = ids != 0
        x = bert(ids, mask=keep[:, None, None]) * keep[..., None]
        rows[some] = torch.nn.functional.normalize(x.sum(dim=1), dim=-1).numpy()
    return rows


@torch.no_grad()
def by_decade(texts: Sequence[str]) -> np.ndarray:
    """-log P of each text after each decade's token, in windows: (texts, DECADES)."""
    stored = data.presidents()
    model = ct.GPT(stored.config).eval()
    ct.set_weights(model, stored.weights)
    ids = [np.array(stored.tokenizer.encode(text)) for text in texts]
    tokens = range(PIECES, PIECES + DECADES)
    rows = [[in_turn(Text([token], [one], 0)) for token in tokens] for one in ids]
    found = [[surprise(model, part).item() for part in row] for row in rows]
    return np.array(found, np.float32)


def main(folder: Path) -> None:
    """Write the file."""
    p = data.paragraphs()
    texts, held_out = p.text, np.flatnonzero(p.held_out)
    vectors = {
        "minilm": embed(texts).astype(np.float16),
        "decades": by_decade([texts[n] for n in held_out]),
    }
    history = json.dumps({"sha256": digest(texts), "longest": LONGEST})
    metadata = {"format": "course_lib vectors 1", "history": history}
    save_file(vectors, folder / "text-as-data.safetensors", metadata)


if __name__ == "__main__":
    torch.set_num_threads(1)
    run_command(main)
