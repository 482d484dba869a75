"""BERT inputs: segments with special tokens, and pairs for sentence-pair tasks.

    [CLS] do many banks that like the new firm [SEP] grow ? [SEP]

The layout is that of Devlin et al. 2019, figure 2, arXiv:1810.04805: `[CLS]` opens,
`[SEP]` ends each segment, and a token type says which segment a token belongs to.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from course_lib.data.grammar import SPECIALS, grammar, reachable
from course_lib.data.masked import IGNORE, Masked, mask_words

__all__ = ["Continuations", "continuations", "frame", "masked_segments"]

_PAD, _CLS, _SEP = (SPECIALS.index(name) for name in ("[PAD]", "[CLS]", "[SEP]"))
KINDS = ("statement, singular", "statement, plural", "question")
LONGEST = (8, 5)  # words of a beginning and of an end


def frame(
    firsts: Sequence[Sequence[int] | np.ndarray] | np.ndarray,
    seconds: Sequence[Sequence[int] | np.ndarray] | np.ndarray | None = None,
    *,
    length: int | None = None,
    cls_id: int = _CLS,
    sep_id: int = _SEP,
) -> tuple[np.ndarray, np.ndarray]:
    """Lay segments out as `[CLS] first [SEP]` or `[CLS] first [SEP] second [SEP]`.

    Padding stands on the right, up to `length` or as far as the longest needs. For
    targets, pass `IGNORE` as the id of `[CLS]` and `[SEP]`.

    Returns:
        Ids and token types, both `N T`. The second segment and its `[SEP]` have type 1,
        all else type 0.
    """
    if seconds is not None and len(seconds) != len(firsts):
        raise ValueError(
            f"firsts and seconds must be equally many: got {len(firsts)} and "
            f"{len(seconds)}."
        )
    extra = 2 if seconds is None else 3
    rest = [()] * len(firsts) if seconds is None else seconds
    sizes = [len(a) + len(b) + extra for a, b in zip(firsts, rest, strict=True)]
    longest = max(sizes, default=extra)
    length = longest if length is None else length
    if longest > length:
        raise ValueError(
            f"length must hold the longest row, special tokens included: got {length} "
            f"for {longest}."
        )
    ids = np.full((len(firsts), length), _PAD, dtype=np.int64)
    types = np.zeros_like(ids)
    for row, (a, b) in enumerate(zip(firsts, rest, strict=True)):
        middle, end = len(a) + 2, sizes[row]
        ids[row, 0], ids[row, 1 : middle - 1], ids[row, middle - 1] = cls_id, a, sep_id
        if seconds is not None:
            ids[row, middle : end - 1], ids[row, end - 1] = b, sep_id
            types[row, middle:end] = 1
    return ids, types


def masked_segments(
    n: int, length: int, *, seed: int | tuple[int, ...]
) -> tuple[Masked, tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Masked language modeling on the grammar: masked texts, cut into two segments.

    The cut is drawn without looking at the words, so it tells nothing about them, and
    the best loss is that of the whole text: `guess_losses(best_guess(grammar(),
    masked), masked)`.

    Returns:
        The masked words in the uncut texts, for the best guess; and what a model is
        given: ids, token types and targets, all `N T`.
    """
    language, seeds = grammar(), np.random.default_rng(seed).integers(2**32, size=2)
    masked = mask_words(
        language.sample(n, length, seed=int(seeds[0])),
        seed=int(seeds[1]),
        vocab_size=language.vocab_size,
        mask_id=language.mask_id,
    )
    cuts = np.random.default_rng(seeds).integers(1, length, n)
    ids, types = frame(*_cut(masked.inputs, cuts))
    targets, _ = frame(*_cut(masked.targets, cuts), cls_id=IGNORE, sep_id=IGNORE)
    return masked, (ids, types, targets)


def _cut(rows: np.ndarray, cuts: np.ndarray) -> tuple[list, list]:
    pairs = [(row[:cut], row[cut:]) for row, cut in zip(rows, cuts, strict=True)]
    return [first for first, _ in pairs], [second for _, second in pairs]


@dataclass(frozen=True, eq=False)
class Continuations:
    """Sentence pairs: beginnings of sentences with ends that fit them, or do not."""

    tokens: np.ndarray  #: `[CLS] beginning [SEP] end [SEP]`, padded on the right, `N T`
    token_types: np.ndarray  #: 0 for the beginning and 1 for the end, `N T`
    labels: np.ndarray  #: 1 if the end fits, else 0, `N`
    #: What the beginning and the end belong to, indices into `KINDS`, `N 2`.
    kinds: np.ndarray


def continuations(n: int, *, seed: int) -> Continuations:
    """Sentences of the grammar, cut before their main verb; half of the ends swapped.

    The beginning is a statement about one or about many, or a question, and so is the
    end; the end fits if the kinds are equal. The beginning's kind is uniform, the end's
    is equal to it with probability 1/2 and one of the other two otherwise, so labels
    are uncorrelated with every function of one side: the best logistic regression on
    the counts of each side is a constant. Half of the labels are 1 (the odd one is 0).
    """
    rng = np.random.default_rng(seed)
    labels = rng.permutation((np.arange(n) % 2 == 1).astype(np.int64))
    kinds = rng.integers(0, len(KINDS), (n, 2))
    away = rng.integers(1, len(KINDS), n)
    kinds[:, 1] = (kinds[:, 0] + np.where(labels == 1, 0, away)) % len(KINDS)
    sides = [_draw(rng, kinds[:, side], side, LONGEST[side]) for side in (0, 1)]
    tokens, types = frame(*sides, length=sum(LONGEST) + 3)
    return Continuations(tokens, types, labels, kinds)


def _draw(
    rng: np.random.Generator, kinds: np.ndarray, side: int, longest: int
) -> list[np.ndarray]:
    """For each kind, one beginning (side 0) or end (side 1) of a sentence."""
    halves: list[list[np.ndarray]] = [[] for _ in KINDS]
    needed = np.bincount(kinds, minlength=len(KINDS))
    while any(len(h) < m for h, m in zip(halves, needed, strict=True)):
        for kind, *pair in _sentences(int(rng.integers(2**32)), n=len(kinds) + 16):
            if len(pair[side]) <= longest:
                halves[kind].append(pair[side])
    used = [iter(h) for h in halves]
    return [next(used[kind]) for kind in kinds]


def _sentences(seed: int, *, n: int) -> list[tuple[int, np.ndarray, np.ndarray]]:
    """Kind, words before the main verb, words from it on, of the first sentences."""
    source = grammar().source
    states = reachable()
    texts = grammar().sample(n, 48, seed=seed)
    found = []
    for text in texts:
        at, cut, kind = source.start, 0, 0
        for t, word in enumerate(text):
            after = int(source.next_state[at, word])
            if not cut and states[after][0] in ("object", "end"):
                _, mood, number = states[at]
                cut, kind = t, 2 if mood == "question" else int(number == "plural")
            if states[after] == ("sentence",):
                found.append((kind, text[:cut], text[cut : t + 1]))
                break
            at = after
    return found
