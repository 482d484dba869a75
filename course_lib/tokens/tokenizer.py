"""What every tokenizer does: text to token ids and back, with special tokens."""

import json
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, ClassVar

__all__ = ["Tokenizer"]


class Tokenizer(ABC):
    """A vocabulary, and the rule that cuts text into its tokens.

    Made by `train` of a subclass or by `load`, not by hand. Ids run from 0: special
    tokens first, then the rest.

    Args:
        tokens: The token of each id.
        specials: Special tokens such as "[PAD]": found before the text is cut, and
            never cut.
        unknown: The special token for whatever is not in the vocabulary, or None to
            refuse such text.
    """

    kind: ClassVar[str]

    def __init__(
        self,
        tokens: Sequence[str],
        *,
        specials: Sequence[str] = (),
        unknown: str | None = None,
    ) -> None:
        self.tokens = tuple(tokens)
        self.specials = special_tokens(specials, unknown)
        self.unknown = unknown
        self.ids = {token: i for i, token in enumerate(self.tokens)}
        if len(self.ids) < len(self.tokens):
            twice = next(t for t, n in Counter(self.tokens).items() if n > 1)
            raise ValueError(f"tokens must differ: got {twice!r} twice.")
        if self.tokens[: len(self.specials)] != self.specials:
            raise ValueError(
                f"tokens must begin with the special ones: got {self.tokens[:5]} for "
                f"{self.specials}."
            )
        longest_first = sorted(self.specials, key=len, reverse=True)
        self._special = re.compile("(" + "|".join(map(re.escape, longest_first)) + ")")

    @property
    def vocab_size(self) -> int:
        """Number of tokens, special ones included."""
        return len(self.tokens)

    def split(self, text: str) -> list[str]:
        """The tokens of a text as strings, unknown ones as they are spelled."""
        found: list[str] = []
        for i, part in enumerate(self._at_specials(text)):
            found += [part] if i % 2 else self._split(part)
        return found

    def encode(self, text: str) -> list[int]:
        """Token ids of a text; special tokens are found wherever they are spelled."""
        unknown = None if self.unknown is None else self.ids[self.unknown]
        ids = []
        for token in self.split(text):
            i = self.ids.get(token, unknown)
            if i is None:
                raise ValueError(
                    "text must be made of tokens of the vocabulary: got "
                    f"{token!r}, which is not among them. Train with "
                    "unknown='[UNK]' to let one token stand for all such."
                )
            ids.append(i)
        return ids

    def decode(self, ids: Iterable[int]) -> str:
        """The text of token ids, special tokens among it."""
        tokens = []
        for i in ids:
            if not 0 <= i < self.vocab_size:
                raise ValueError(
                    f"ids must run from 0 to {self.vocab_size - 1}: got {i}."
                )
            tokens.append(self.tokens[i])
        return self._join(tokens)

    def save(self, path: str | Path) -> None:
        """Write the tokenizer to a JSON file, for `load`."""
        text = json.dumps(self._state(), ensure_ascii=False, indent=1)
        Path(path).write_text(text + "\n", encoding="utf-8")

    def _state(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "specials": self.specials,
            "unknown": self.unknown,
            "tokens": self.tokens,
        }

    def _at_specials(self, text: str) -> list[str]:
        """Plain text at even places, special tokens between at odd ones."""
        return self._special.split(text) if self.specials else [text]

    @abstractmethod
    def _split(self, text: str) -> list[str]: ...

    @abstractmethod
    def _join(self, tokens: list[str]) -> str: ...


def as_texts(texts: str | Iterable[str]) -> Iterable[str]:
    """Several texts, also where one was given."""
    return [texts] if isinstance(texts, str) else texts


def special_tokens(specials: Sequence[str], unknown: str | None) -> tuple[str, ...]:
    """The special tokens, `unknown` in front if it is not among them."""
    if isinstance(specials, str):
        raise ValueError(
            f"specials must be a list of tokens: got the string {specials!r}. "
            f"For one token write [{specials!r}]."
        )
    if unknown is not None and unknown not in specials:
        specials = (unknown, *specials)
    if "" in specials:
        raise ValueError("specials must not be empty: got '' among them.")
    return tuple(specials)


def room_for_more(vocab_size: int, taken: int) -> int:
    """How many tokens can be added to those that must be there."""
    if vocab_size < taken:
        raise ValueError(
            "vocab_size must have room for the special tokens and the alphabet, which "
            f"are {taken}: got {vocab_size}."
        )
    return vocab_size - taken
