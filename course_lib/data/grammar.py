"""A small English whose every probability is known.

Statements and questions about firms, banks and workers:

    the small firm near the banks that many workers see pays a worker slowly .
    do many banks that like the new firm grow ?

Words fall into classes, and a word depends on the text through its class alone. The
dependencies are long: a verb agrees with its own subject, over any number of nouns in
between, and a sentence that opens with "do" or "does" has base forms for verbs and ends
in a question mark.

The rules are regular, so the language is a hidden Markov source (`Source`): its
entropy rate, the loss of the best n-gram model, the loss of the best bidirectional
model and the exact distribution of any masked word are computed, not estimated.
"""

import itertools
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from course_lib.data.markov import Source

__all__ = ["Grammar", "grammar"]

SPECIALS = ("[PAD]", "[CLS]", "[SEP]", "[MASK]")

CLASSES = {
    "auxiliary singular": ("does",),
    "auxiliary plural": ("do",),
    "determiner": ("the",),
    "determiner singular": ("a", "each"),
    "determiner plural": ("many", "some"),
    "adjective": ("new", "small", "large", "old", "rich"),
    "noun singular": ("firm", "bank", "worker", "buyer", "city", "farmer"),
    "noun plural": ("firms", "banks", "workers", "buyers", "cities", "farmers"),
    "verb singular": ("sees", "likes", "pays", "trusts", "helps"),
    "verb plural": ("see", "like", "pay", "trust", "help"),
    "intransitive singular": ("grows", "waits", "moves"),
    "intransitive plural": ("grow", "wait", "move"),
    "relative": ("that",),
    "preposition": ("near", "behind"),
    "adverb": ("today", "slowly", "again"),
    "period": (".",),
    "question mark": ("?",),
}

State = tuple[str, ...]
Choice = tuple[float, str, State]


def _shares(n: int) -> np.ndarray:
    """How often each word of a class is chosen: in proportion to 1, 1/2, 1/3, ..."""
    weights = 1 / np.arange(1, n + 1)
    return weights / weights.sum()


def _other(number: str) -> str:
    return "singular" if number == "plural" else "plural"


def _noun_phrase(then: State) -> list[Choice]:
    """Open a noun phrase; `then` is the state after its noun, which gets the number."""
    return [
        (0.5, "determiner", ("noun", "open", *then)),
        (0.25, "determiner singular", ("noun", "singular", *then)),
        (0.25, "determiner plural", ("noun", "plural", *then)),
    ]


def _scaled(share: float, choices: list[Choice]) -> list[Choice]:
    return [(share * p, name, after) for p, name, after in choices]


def _choices(state: State) -> list[Choice]:
    """What may come next: (probability, word class, next state).

    A state is a name and what matters later: whether the sentence is a "statement" or a
    "question", the number of its subject, the number inside a relative clause.
    """
    match state:
        case ("sentence",):
            return [
                (0.15, "auxiliary singular", ("asked", "singular")),
                (0.15, "auxiliary plural", ("asked", "plural")),
                *_scaled(0.7, _noun_phrase(("subject", "statement"))),
            ]
        case ("asked", number):  # the auxiliary fixes the number
            own = ("noun", number, "subject", "question")
            return [(0.5, "determiner", own), (0.5, f"determiner {number}", own)]
        case ("noun", number, *then):
            numbers = ("singular", "plural") if number == "open" else (number,)
            return [
                (0.25, "adjective", state),
                *(
                    (0.75 / len(numbers), f"noun {n}", _after_noun(tuple(then), n))
                    for n in numbers
                ),
            ]
        case ("subject", mood, number):
            return [
                (0.3, "relative", ("clause", mood, number)),
                (0.25, "preposition", ("place", mood, number)),
                *_verbs(0.45, mood, number),
            ]
        case ("place", mood, number):
            return _noun_phrase(("placed", mood, number))
        case ("placed", mood, number):
            return [
                (0.25, "preposition", ("place", mood, number)),
                *_verbs(0.75, mood, number),
            ]
        case ("clause", mood, number):  # "that see the bank" or "that the bank sees"
            return [
                (0.5, f"verb {number}", ("clause object", mood, number)),
                *_scaled(0.5, _noun_phrase(("clause verb", mood, number))),
            ]
        case ("clause object", mood, number):
            return _noun_phrase(("clause done", mood, number))
        case ("clause verb", mood, number, inner):
            return [(1.0, f"verb {inner}", ("clause done", mood, number))]
        case ("clause done", mood, number):
            return list(_verbs(1.0, mood, number))
        case ("object", mood):
            return _noun_phrase(("end", mood))
        case ("end", mood):
            return [(0.3, "adverb", ("late", mood)), (0.7, _stop(mood), ("sentence",))]
        case ("late", mood):
            return [(1.0, _stop(mood), ("sentence",))]
    raise AssertionError(state)


def _after_noun(then: State, number: str) -> State:
    """Remember a noun's number only where a verb will ask for it."""
    return (*then, number) if then[0] in ("subject", "clause verb") else then


def _verbs(p: float, mood: str, number: str) -> list[Choice]:
    form = "plural" if mood == "question" else number  # "does the firm grow ?"
    return [
        (0.6 * p, f"verb {form}", ("object", mood)),
        (0.4 * p, f"intransitive {form}", ("end", mood)),
    ]


def _stop(mood: str) -> str:
    return "question mark" if mood == "question" else "period"


def reachable() -> list[State]:
    """Every state that can be reached, in the order in which it is found."""
    found: list[State] = [("sentence",)]
    for state in found:  # grows while it is walked
        new = (after for _, _, after in _choices(state) if after not in found)
        found.extend(dict.fromkeys(new))
    return found


@dataclass(frozen=True, eq=False)
class Grammar:
    """The language: its words, their classes, and its source."""

    #: The word of each id; ids 0 to 3 are `[PAD] [CLS] [SEP] [MASK]`, which the source
    #: never emits.
    words: tuple[str, ...]
    classes: tuple[str, ...]  #: The class of each id ("special" for the first four)
    source: Source  #: Entropies, samples and exact distributions over ids

    pad_id = SPECIALS.index("[PAD]")
    mask_id = SPECIALS.index("[MASK]")

    @property
    def vocab_size(self) -> int:
        """V, special tokens included."""
        return len(self.words)

    @property
    def entropy_rate(self) -> float:
        """Nats per word that no causal model can beat in the long run."""
        return self.source.entropy_rate

    def sample(self, n: int, length: int, *, seed: int | list[int]) -> np.ndarray:
        """Draw texts: ids, `n length`, int64.

        Each begins with a new sentence, holds several, and is cut off at its length.
        """
        return self.source.sample(n, length, seed=seed)

    def sentences(
        self, n: int, *, seed: int, shortest: int = 3, longest: int = 40
    ) -> list[np.ndarray]:
        """Draw single sentences of these lengths, each with its stop: ids `T`, int64.

        They come in the language's own proportions.
        """
        stops = self.encode(". ?")
        found: list[np.ndarray] = []
        for part in itertools.count():
            rows = self.sample(256, 64, seed=[seed, part])
            for row in rows:
                ends = np.flatnonzero(np.isin(row, stops)) + 1
                parts = np.split(row, ends)[:-1]  # what the text's end cuts off is out
                found += [s for s in parts if shortest <= len(s) <= longest]
            if len(found) >= n:
                return found[:n]
            if part == 100 and not found:
                raise ValueError(
                    "the language must have sentences of these lengths: got none of "
                    f"{shortest} to {longest} words. They have 3 words and more."
                )
        raise AssertionError

    @cached_property
    def is_noun(self) -> np.ndarray:
        """Whether the word of each id is a noun, `V`."""
        return np.char.startswith(self.classes, "noun")

    @cached_property
    def is_verb(self) -> np.ndarray:
        """Whether it is a verb, with or without an object; auxiliaries are none."""
        starts = (np.char.startswith(self.classes, w) for w in ("verb", "intransitive"))
        return np.logical_or(*starts)

    @cached_property
    def is_plural(self) -> np.ndarray:
        """Whether it is a plural noun, or the verb's form after one, `V`."""
        return (self.is_noun | self.is_verb) & np.char.endswith(self.classes, "plural")

    @cached_property
    def other_number(self) -> np.ndarray:
        """The id of a noun or verb in its other number, else the word's own, `V`."""
        ids = np.arange(self.vocab_size)
        other, classes = ids.copy(), np.array(self.classes)
        for name in ("noun", "verb", "intransitive"):
            one = ids[classes == f"{name} singular"]
            several = ids[classes == f"{name} plural"]
            other[one], other[several] = several, one
        return other

    @cached_property
    def lemma(self) -> np.ndarray:
        """The id of a noun's or verb's singular form, -1 for all other words, `V`."""
        ids = np.arange(self.vocab_size)
        forms = np.where(self.is_plural, self.other_number, ids)
        return np.where(self.is_noun | self.is_verb, forms, -1)

    def encode(self, text: str) -> list[int]:
        """Ids of words that stand between spaces."""
        ids = {word: i for i, word in enumerate(self.words)}
        strange = [word for word in text.split() if word not in ids]
        if strange:
            raise ValueError(
                f"text must hold words of the language only: got {strange[0]!r}. "
                "grammar().words lists them; punctuation stands between spaces."
            )
        return [ids[word] for word in text.split()]

    def decode(self, ids: np.ndarray | list[int]) -> str:
        """The words of the ids, with spaces between them."""
        return " ".join(self.words[i] for i in ids)

    def first_mistake(self, ids: np.ndarray | list[int]) -> int | None:
        """Where a text breaks the rules first, or None if it is grammatical so far.

        Args:
            ids: `T`, from the beginning of a sentence on.
        """
        state = self.source.start
        for t, word in enumerate(ids):
            state = self.source.next_state[state, word]
            if state < 0:
                return t
        return None


@cache
def grammar() -> Grammar:
    """The language of this course: 17 word classes, 48 words, 4 special tokens."""
    words, classes = list(SPECIALS), ["special"] * len(SPECIALS)
    for name, members in CLASSES.items():
        words += members
        classes += [name] * len(members)
    states = reachable()
    table = np.zeros((len(words), len(states), len(states)))
    for s, state in enumerate(states):
        for p, name, after in _choices(state):
            ids = [i for i, c in enumerate(classes) if c == name]
            table[ids, s, states.index(after)] += p * _shares(len(ids))
    return Grammar(tuple(words), tuple(classes), Source(table))
