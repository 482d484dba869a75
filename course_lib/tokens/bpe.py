r"""Byte-pair encoding (BPE), the algorithm: subword merges learned from word counts.

It begins with single characters (or bytes) and joins, again and again, the most
frequent pair of neighbors in the training text (Gage 1994; Sennrich et al. 2015,
arXiv:1508.07909). Text is cut into words first, and no token crosses a cut; a word
keeps the space before it, so that nothing is lost. On bytes of UTF-8 every string has
tokens, in any script (Radford et al. 2019, section 2.2).

Of equally frequent pairs, the one whose left token has the smaller id is joined first,
then the one whose right token has: the rule of the `tokenizers` library.
"""

import heapq
import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from functools import cache
from itertools import pairwise

# GPT-2's rule: English contractions; words, numbers and other signs, each with the
# space before it; then whitespace. `[^\W\d_]` stands for a letter, which `re` has no
# name for.
PIECES = re.compile(
    r"'(?:s|t|re|ve|m|ll|d)"
    r"| ?[^\W\d_]+| ?\d+| ?(?:[^\s\w]|_)+"
    r"|\s+(?!\S)|\s+"
)


def learn_merges(
    counts: Mapping[str, int], tokens: list[str], *, n_new: int
) -> list[tuple[str, str]]:
    """Learn BPE merges: join the most frequent pair of neighbors, again and again.

    Pairs are counted once; a merge updates the counts of the words that hold the pair.
    A heap keeps the most frequent pair on top; an outdated entry is put back with its
    new count. It stops where no pair occurs twice.

    Args:
        counts: How often each word occurs; a word's characters are its first tokens.
        tokens: The alphabet, in the order of ids. New tokens are appended to it.
        n_new: How many tokens to add at most.

    Returns:
        The pairs, in the order in which they were joined. Two pairs may spell the same
        token ("a" + "bc", "ab" + "c"), so there can be more merges than new tokens.
    """
    ids = {token: i for i, token in enumerate(tokens)}
    room = len(tokens) + n_new
    words = [list(word) for word in counts]
    times = list(counts.values())
    pair_counts: Counter[tuple[str, str]] = Counter()
    where: defaultdict[tuple[str, str], set[int]] = defaultdict(set)
    for w, word in enumerate(words):
        for pair in pairwise(word):
            pair_counts[pair] += times[w]
            where[pair].add(w)

    def entry(pair: tuple[str, str]) -> tuple[int, int, int, tuple[str, str]]:
        left, right = pair
        return -pair_counts[pair], ids[left], ids[right], pair

    heap = [entry(pair) for pair in pair_counts]
    heapq.heapify(heap)
    merges = []
    while heap and len(tokens) < room:
        count, *_, pair = heapq.heappop(heap)
        if -count != pair_counts[pair]:
            if pair_counts[pair] > 0:
                heapq.heappush(heap, entry(pair))
            continue
        if -count < 2:
            break
        merges.append(pair)
        new = pair[0] + pair[1]
        if new not in ids:
            ids[new] = len(tokens)
            tokens.append(new)
        grown = set()
        for w in where.pop(pair):
            before = Counter(pairwise(words[w]))
            words[w] = _join_pair(words[w], pair)
            after = Counter(pairwise(words[w]))
            for other in before.keys() | after.keys():
                change = after[other] - before[other]
                pair_counts[other] += change * times[w]
                if change > 0:
                    where[other].add(w)
                    grown.add(other)
        for other in grown:
            heapq.heappush(heap, entry(other))
    return merges


def _join_pair(tokens: list[str], pair: tuple[str, str]) -> list[str]:
    """Join every occurrence of a pair of neighbors, from left to right.

    >>> _join_pair(["a", "a", "a"], ("a", "a"))
    ['aa', 'a']
    """
    new, i = [], 0
    while i < len(tokens):
        if tokens[i : i + 2] == [*pair]:
            new.append(pair[0] + pair[1])
            i += 2
        else:
            new.append(tokens[i])
            i += 1
    return new


@cache
def byte_alphabet() -> dict[int, str]:
    """A printable character for each of the 256 bytes, as GPT-2 chose them.

    Bytes that print as themselves in Latin-1 keep their character; the others, such as
    the space, get those from U+0100 on ("Ġ" is a space).
    """
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    return {byte: chr(byte) for byte in printable} | {
        byte: chr(256 + i) for i, byte in enumerate(others)
    }


def apply_merges(tokens: list[str], rank: Mapping[tuple[str, str], int]) -> list[str]:
    """Cut one word's characters into tokens: replay the merges in order of `rank`."""
    while len(tokens) > 1:
        pairs = pairwise(tokens)
        first = min(pairs, key=lambda pair: rank.get(pair, len(rank)))
        if first not in rank:
            break
        tokens = _join_pair(tokens, first)
    return tokens
