"""Byte-pair encoding (BPE) as a tokenizer; `course_lib.tokens.bpe` is the algorithm."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Self

from course_lib.tokens.bpe import PIECES, apply_merges, byte_alphabet, learn_merges
from course_lib.tokens.tokenizer import (
    Tokenizer,
    as_texts,
    room_for_more,
    special_tokens,
)

__all__ = ["BPE"]


class BPE(Tokenizer):
    """Byte-pair encoding: subwords; frequent words are one token, rare ones several.

    Args:
        tokens: The token of each id. With `byte_level`, a token spells its bytes in the
            alphabet of `byte_alphabet`.
        merges: Pairs of tokens in the order in which they were learned.
        byte_level: Whether the smallest tokens are bytes and not characters.
        specials: As in `Tokenizer`.
        unknown: As in `Tokenizer`.
    """

    kind = "byte-pair encoding"

    def __init__(
        self,
        tokens: Sequence[str],
        *,
        merges: Iterable[Sequence[str]],
        byte_level: bool = False,
        specials: Sequence[str] = (),
        unknown: str | None = None,
    ) -> None:
        super().__init__(tokens, specials=specials, unknown=unknown)
        self.merges = tuple((left, right) for left, right in merges)
        self.byte_level = byte_level
        for left, right in self.merges:
            for token in (left, right, left + right):
                if token not in self.ids:
                    raise ValueError(
                        f"merges must be made of tokens: got {left!r} + {right!r}, but "
                        f"{token!r} is not one."
                    )
        self._rank = {pair: rank for rank, pair in enumerate(self.merges)}
        self._cache: dict[str, list[str]] = {}  # the same words come again and again

    @classmethod
    def train(
        cls,
        texts: str | Iterable[str],
        *,
        vocab_size: int,
        byte_level: bool = False,
        specials: Sequence[str] = (),
        unknown: str | None = None,
    ) -> Self:
        """Learn the merges.

        Args:
            texts: One text or several; no token crosses from one to the next.
            vocab_size: Special tokens, alphabet and merges together. Learning stops
                earlier when no pair is frequent enough.
            byte_level: Begin with the 256 bytes rather than the characters of the text.
            specials: Special tokens; they get the first ids.
            unknown: A special token for characters that the texts lack. With
                `byte_level` there are none.
        """
        specials = special_tokens(specials, unknown)
        options: dict[str, Any] = {
            "byte_level": byte_level,
            "specials": specials,
            "unknown": unknown,
        }
        letters = byte_alphabet().values() if byte_level else ()
        bare = cls((*specials, *letters), merges=(), **options)
        counts = Counter(
            bare._spell(piece)
            for text in as_texts(texts)
            for part in bare._at_specials(text)[::2]
            for piece in PIECES.findall(part)
        )
        alphabet = sorted(set(letters or set().union(*counts)) - set(specials))
        tokens = [*specials, *alphabet]
        room = room_for_more(vocab_size, len(tokens))
        merges = learn_merges(counts, tokens, n_new=room)
        return cls(tokens, merges=merges, **options)

    def _spell(self, piece: str) -> str:
        if not self.byte_level:
            return piece
        try:
            return "".join(map(byte_alphabet().__getitem__, piece.encode("utf-8")))
        except UnicodeEncodeError as error:
            raise ValueError(
                "text must be valid Unicode: got a lone surrogate, "
                f"{piece[error.start]!r}. Read the file with the encoding it has."
            ) from None

    def _split(self, text: str) -> list[str]:
        found: list[str] = []
        for piece in PIECES.findall(text):
            if piece not in self._cache:
                if len(self._cache) > 100_000:
                    self._cache.clear()
                self._cache[piece] = apply_merges([*self._spell(piece)], self._rank)
            found += self._cache[piece]
        return found

    def _join(self, tokens: list[str]) -> str:
        if not self.byte_level:
            return "".join(tokens)
        # Special tokens are text; the rest spells bytes. Half a character, where
        # generation stopped too early, becomes U+FFFD.
        bytes_of = {letter: byte for byte, letter in byte_alphabet().items()}
        raw = b"".join(
            token.encode()
            if token in self.specials
            else bytes(bytes_of[letter] for letter in token)
            for token in tokens
        )
        return raw.decode("utf-8", errors="replace")

    def _state(self) -> dict[str, Any]:
        return {
            **super()._state(),
            "byte_level": self.byte_level,
            "merges": self.merges,
        }
