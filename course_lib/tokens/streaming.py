"""Incremental decoding: a text while it is written, in whole characters."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

__all__ = ["decode_stream"]


def decode_stream(
    tokenizer: Any, stream: Iterable[tuple[int, int]]
) -> Iterator[tuple[int, str]]:
    """Incremental decoding (detokenization): the texts of tokens that come one by one.

    A token alone has no text: a character may take several, and whether a space comes
    first depends on what stands before. So each is decoded behind the last ones said.

    Args:
        tokenizer: Of this library or of `tokenizers`: anything whose `decode` makes a
            text of token ids.
        stream: Texts' places and tokens, as `stream` of either wing yields them.

    Yields:
        A text's place and what is new of it, whole characters. Joined, these are
        `decode` of all its tokens.
    """
    # Of each text the tokens from the last piece on, and how many of them are said.
    open_: defaultdict[int, tuple[list[int], int]] = defaultdict(lambda: ([], 0))
    for place, token in stream:
        ids, said = open_[place]
        ids.append(token)
        before, text = tokenizer.decode(ids[:said]), tokenizer.decode(ids)
        # It ends with U+FFFD as long as bytes of its last character are to come.
        if len(text) > len(before) and not text.endswith("\N{REPLACEMENT CHARACTER}"):
            yield place, text[len(before) :]
            open_[place] = ids[said:], len(ids) - said
    for place, (ids, said) in open_.items():
        if rest := tokenizer.decode(ids)[len(tokenizer.decode(ids[:said])) :]:
            yield place, rest
