"""Tokenizers by characters and by words: the vocabulary is what the text holds."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Self

from course_lib.tokens.tokenizer import (
    Tokenizer,
    as_texts,
    room_for_more,
    special_tokens,
)

__all__ = ["Characters", "Words"]

WORDS = re.compile(r"\w+|[^\w\s]")


class _Counted(Tokenizer):
    """A tokenizer whose vocabulary is the most frequent tokens of the text."""

    @classmethod
    def train(
        cls,
        texts: str | Iterable[str],
        *,
        vocab_size: int | None = None,
        specials: Sequence[str] = (),
        unknown: str | None = None,
    ) -> Self:
        """Build the vocabulary.

        Args:
            texts: One text or several.
            vocab_size: Keep the most frequent tokens, this many with the special ones;
                of equally frequent ones, the first in the alphabet. None keeps all.
            specials: Special tokens; they get the first ids.
            unknown: A special token for whatever is not in the vocabulary; it is added
                to `specials` if it is not among them.
        """
        specials = special_tokens(specials, unknown)
        bare = cls(specials, specials=specials)
        counts = Counter(t for text in as_texts(texts) for t in bare.split(text))
        for special in specials:
            del counts[special]
        ordered = sorted(counts, key=lambda token: (-counts[token], token))
        if vocab_size is not None:
            ordered = ordered[: room_for_more(vocab_size, len(specials))]
        return cls((*specials, *ordered), specials=specials, unknown=unknown)


class Characters(_Counted):
    """Character tokenizer: a small vocabulary and long sequences."""

    kind = "characters"

    def _split(self, text: str) -> list[str]:
        return list(text)

    def _join(self, tokens: list[str]) -> str:
        return "".join(tokens)


class Words(_Counted):
    """Word tokenizer: words and punctuation marks; whitespace only separates.

    `decode` puts one space between tokens, so a text comes back with its whitespace
    changed.
    """

    kind = "words"

    def _split(self, text: str) -> list[str]:
        return WORDS.findall(text)

    def _join(self, tokens: list[str]) -> str:
        return " ".join(tokens)
