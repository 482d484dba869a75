"""From text to ids and back: characters, words, byte-pair encoding.

Three tokenizers with one interface: `train` on texts, `encode`, `decode`, `save`, and
`load` for all three. Ids run from 0: special tokens first, then the rest.

Byte-pair encoding itself stands in `course_lib.tokens.bpe`.
"""

import json
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

from course_lib.tokens.bpe import PIECES, apply_merges, byte_alphabet, learn_merges

WORDS = re.compile(r"\w+|[^\w\s]")


class Tokenizer(ABC):
    """What all tokenizers can do; made by `train` or `load`, not by hand.

    Args:
        tokens: The token of each id; special tokens come first.
        specials: Tokens that are found before anything is cut, and never cut.
        unknown: The special token that stands for what is not in the vocabulary, or
            None to refuse such text.

    Raises:
        ValueError: A token occurs twice, or a special one is not in front.
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
        self.specials = _special_tokens(specials, unknown)
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

    def id_of(self, token: str) -> int:
        """The id of one token.

        Raises:
            ValueError: There is no such token.
        """
        if token not in self.ids:
            raise ValueError(
                f"token must be in the vocabulary: got {token!r}, which is not among "
                f"the {self.vocab_size} tokens. Text becomes ids with encode()."
            )
        return self.ids[token]

    def split(self, text: str) -> list[str]:
        """The tokens of a text, before they become ids; unknown ones as they stand."""
        if not self.specials:
            return self._split(text)
        found: list[str] = []
        for i, part in enumerate(self._special.split(text)):
            found += [part] if i % 2 else self._split(part)
        return found

    def encode(self, text: str) -> list[int]:
        """Ids of a text.

        Special tokens are recognized wherever their spelling occurs.

        Raises:
            ValueError: A token is not in the vocabulary and there is no `unknown`.
        """
        ids = []
        for token in self.split(text):
            i = self.ids.get(token)
            if i is None:
                if self.unknown is None:
                    raise ValueError(
                        "text must be made of tokens of the vocabulary: got "
                        f"{token!r}, which is not among them. Train with "
                        "unknown='[UNK]' to let one token stand for all such."
                    )
                i = self.ids[self.unknown]
            ids.append(i)
        return ids

    def decode(self, ids: Iterable[int], *, skip_specials: bool = False) -> str:
        """The text of the ids.

        Args:
            ids: Whole numbers; an array of one axis will do.
            skip_specials: Leave special tokens out of the text.

        Raises:
            ValueError: An id is not in the vocabulary.
        """
        tokens = []
        for i in ids:
            if not 0 <= i < self.vocab_size:
                raise ValueError(
                    f"ids must run from 0 to {self.vocab_size - 1}: got {i}."
                )
            if not (skip_specials and i < len(self.specials)):
                tokens.append(self.tokens[i])
        return self._join(tokens)

    def save(self, path: str | Path) -> None:
        """Write everything to a JSON file, from which `load` makes it again."""
        text = json.dumps(self._state(), ensure_ascii=False, indent=1)
        Path(path).write_text(text + "\n", encoding="utf-8")

    def _state(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "specials": self.specials,
            "unknown": self.unknown,
            "tokens": self.tokens,
        }

    @abstractmethod
    def _split(self, text: str) -> list[str]: ...

    @abstractmethod
    def _join(self, tokens: list[str]) -> str: ...


def load(path: str | Path) -> Tokenizer:
    """Read a tokenizer that was saved, of whichever kind it is.

    Raises:
        ValueError: The file holds no tokenizer of this library.
    """
    try:
        state = json.loads(Path(path).read_text(encoding="utf-8"))
        kind = _KINDS[state.pop("kind")]
    except (json.JSONDecodeError, KeyError, AttributeError, TypeError):
        raise ValueError(
            f"path must name a file that a tokenizer of this library saved: got {path}."
        ) from None
    return kind(state.pop("tokens"), **state)


class _Counted(Tokenizer):
    """A tokenizer whose vocabulary is the most frequent pieces of the text."""

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
            specials: Tokens that are never cut, such as "[PAD]"; they get the first
                ids.
            unknown: A special token for all that is not in the vocabulary; it is added
                to `specials` if it is not among them.

        Raises:
            ValueError: The special tokens alone are too many.
        """
        specials = _special_tokens(specials, unknown)
        bare = cls(specials, specials=specials, unknown=unknown)
        counts = Counter(t for text in _texts(texts) for t in bare.split(text))
        for special in specials:
            del counts[special]
        ordered = sorted(counts, key=lambda token: (-counts[token], token))
        room = None if vocab_size is None else _room(vocab_size, len(specials))
        return cls((*specials, *ordered[:room]), specials=specials, unknown=unknown)


class Characters(_Counted):
    """Every character is a token: few tokens, long sequences, nothing to learn."""

    kind = "characters"

    def _split(self, text: str) -> list[str]:
        return list(text)

    def _join(self, tokens: list[str]) -> str:
        return "".join(tokens)


class Words(_Counted):
    """Words and punctuation marks are tokens; whitespace only separates.

    `decode` puts one space between tokens, so a text comes back with its whitespace
    changed: `decode(encode(text))` joins what `split(text)` gives.
    """

    kind = "words"

    def _split(self, text: str) -> list[str]:
        return WORDS.findall(text)

    def _join(self, tokens: list[str]) -> str:
        return " ".join(tokens)


class BPE(Tokenizer):
    """Byte-pair encoding: frequent words are one token, rare ones several.

    Args:
        tokens: The token of each id, as `Tokenizer` says. With `byte_level`, a token
            spells its bytes in the alphabet of `byte_alphabet`.
        merges: Pairs of tokens in the order in which they were learned.
        byte_level: Whether the smallest tokens are bytes and not characters.
        specials: Tokens that are never cut.
        unknown: The token for characters that were not met in training, or None.

    Raises:
        ValueError: As `Tokenizer`, or a merge is made of tokens that are not there.
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
        self._cache: dict[str, list[str]] = {}  # words come again and again

    @classmethod
    def train(
        cls,
        texts: str | Iterable[str],
        *,
        vocab_size: int,
        byte_level: bool = False,
        specials: Sequence[str] = (),
        unknown: str | None = None,
        min_count: int = 2,
    ) -> Self:
        """Learn the merges.

        Args:
            texts: One text or several; no token crosses from one to the next.
            vocab_size: Special tokens, alphabet and merges together. Learning stops
                earlier when no pair is frequent enough.
            byte_level: Begin with the 256 bytes rather than the characters of the text.
            specials: Tokens that are never cut; they get the first ids.
            unknown: A special token for characters that the texts lack. With
                `byte_level` there are none.
            min_count: A pair that occurs less often is not joined.

        Raises:
            ValueError: The alphabet alone is larger than `vocab_size`.
        """
        specials = _special_tokens(specials, unknown)
        bare = cls(
            (*specials, *(byte_alphabet().values() if byte_level else ())),
            merges=(),
            byte_level=byte_level,
            specials=specials,
            unknown=unknown,
        )
        counts = Counter(
            bare._spell(piece)
            for text in _texts(texts)
            for i, part in enumerate(bare._special.split(text) if specials else [text])
            if i % 2 == 0
            for piece in PIECES.findall(part)
        )
        alphabet = set(byte_alphabet().values()) if byte_level else set().union(*counts)
        alphabet = sorted(alphabet - set(specials))
        room = _room(vocab_size, len(specials) + len(alphabet))
        tokens = [*specials, *alphabet]
        merges = learn_merges(counts, tokens, n_new=room, min_count=min_count)
        return cls(
            tokens,
            merges=merges,
            byte_level=byte_level,
            specials=specials,
            unknown=unknown,
        )

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
        letters = {letter: byte for byte, letter in byte_alphabet().items()}
        # Special tokens are text; the rest spells bytes. Half a character, where
        # generation stopped too early, becomes U+FFFD.
        raw = b"".join(
            token.encode()
            if token in self.specials
            else bytes(letters[letter] for letter in token)
            for token in tokens
        )
        return raw.decode("utf-8", errors="replace")

    def _state(self) -> dict[str, Any]:
        return {
            **super()._state(),
            "byte_level": self.byte_level,
            "merges": self.merges,
        }


def _texts(texts: str | Iterable[str]) -> Iterable[str]:
    return [texts] if isinstance(texts, str) else texts


def _special_tokens(specials: Sequence[str], unknown: str | None) -> tuple[str, ...]:
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


def _room(vocab_size: int, taken: int) -> int:
    if vocab_size < taken:
        raise ValueError(
            "vocab_size must have room for the special tokens and the alphabet, which "
            f"are {taken}: got {vocab_size}."
        )
    return vocab_size - taken


_KINDS: dict[str, type[Tokenizer]] = {cls.kind: cls for cls in (Characters, Words, BPE)}
