"""A saved tokenizer, of whichever kind."""

import json
from pathlib import Path

from course_lib.tokens.byte_pairs import BPE
from course_lib.tokens.tokenizer import Tokenizer
from course_lib.tokens.words import Characters, Words

__all__ = ["load"]

KINDS: dict[str, type[Tokenizer]] = {cls.kind: cls for cls in (Characters, Words, BPE)}


def load(path: str | Path) -> Tokenizer:
    """Read a tokenizer that `save` wrote, of whichever class."""
    try:
        state = json.loads(Path(path).read_text(encoding="utf-8"))
        kind = KINDS[state.pop("kind")]
    except (json.JSONDecodeError, KeyError, AttributeError, TypeError):
        raise ValueError(
            f"path must name a file that a tokenizer of this library saved: got {path}."
        ) from None
    return kind(state.pop("tokens"), **state)
