"""Store what MiniLM's heads make of the active and the passive voice, for a figure.

    python book/checkpoints/voices.py               # into book/figures
    python book/checkpoints/voices.py some/folder   # into another folder

The file, voices.json, has the maps of two heads for *The cat saw the dog.* and for
*The dog was seen by the cat.*, to three decimals: query, key. It also has, for each of
the 72 heads, in how many of 792 sentences of either voice the verb gives more weight to
the noun that something is done to than to the one that does it: layer, head.
"""

import json
import sys
from itertools import permutations, product
from pathlib import Path

import numpy as np
import torch
from tokenizers import BertWordPieceTokenizer

import course_lib.torch as ct
from course_lib import hub

ROOT = Path(__file__).resolve().parents[2]
NOUNS = (
    "cat", "dog", "man", "woman", "king", "child", "teacher", "student", "farmer",
    "worker", "bank", "firm",
)  # fmt: skip
VERBS = {
    "saw": "seen",
    "chased": "chased",
    "helped": "helped",
    "paid": "paid",
    "trusted": "trusted",
    "followed": "followed",
}
HEADS = {"word before": (0, 2), "whom": (3, 1)}
# Tokens: [CLS] the a saw the b . [SEP] and [CLS] the b was seen by the a . [SEP]
PLACES = {"active": (3, 2, 5), "passive": (4, 7, 2)}  # verb, who does it, to whom


def voices(a: str, verb: str, b: str) -> dict[str, str]:
    """What a did to b, said in both voices."""
    passive = f"The {b} was {VERBS[verb]} by the {a}."
    return {"active": f"The {a} {verb} the {b}.", "passive": passive}


@torch.no_grad()
def maps(model: ct.BERT, ids: list[list[int]]) -> np.ndarray:
    """The maps of sentences of one length: sentence, layer, head, query, key."""
    return torch.stack(list(ct.attention_maps(model, torch.tensor(ids))), 1).numpy()


def measure() -> dict:
    """All that the file holds."""
    folder = hub.fetch(hub.MINILM)
    model = hub.load(folder)
    tokenizer = BertWordPieceTokenizer(str(folder / "vocab.txt"))
    acts = [(a, v, b) for v, (a, b) in product(VERBS, permutations(NOUNS, 2))]
    held: dict = {"sentences": {}, "pairs": len(acts), "to_whom": {}}
    for voice, (verb, who, whom) in PLACES.items():
        example = tokenizer.encode(voices("cat", "saw", "dog")[voice])
        (found,) = maps(model, [example.ids])
        shown = {
            head: found[at].astype(float).round(3).tolist()
            for head, at in HEADS.items()
        }
        held["sentences"][voice] = {"tokens": example.tokens} | shown
        texts = tokenizer.encode_batch([voices(*act)[voice] for act in acts])
        rows = maps(model, [text.ids for text in texts])[:, :, :, verb]
        held["to_whom"][voice] = (rows[..., whom] > rows[..., who]).sum(0).tolist()
    return held


def main(folder: Path) -> None:
    """Write the file."""
    (folder / "voices.json").write_text(json.dumps(measure()) + "\n", "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "book" / "figures")
