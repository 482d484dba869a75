"""A household's receipts and a reader's questions: short texts with known answers.

Receipts are lines such as a budget survey collects, each with its price and its
division in the UN's classification of consumption by purpose (COICOP 2018,
unstats.un.org/unsd/classifications). Some are labelled, and the others are to be
sorted by what they mean. Questions come with passages, one of which answers each. All
of them, in `receipts.txt` and `questions.txt`, were written before any model was tried
on them.
"""

from dataclasses import dataclass
from importlib import resources

__all__ = ["Receipts", "economics_questions", "receipts"]

DIVISIONS = (
    *("food", "clothing", "housing", "health"),
    *("transport", "communication", "recreation", "restaurants"),
)


@dataclass(frozen=True, kw_only=True)
class Receipts:
    """Lines of a household's receipts."""

    texts: list[str]  #: What was bought
    prices: list[float]  #: In francs
    divisions: list[int]  #: What each is, a number into `DIVISIONS`


def receipts() -> tuple[Receipts, Receipts]:
    """Read 64 labelled lines, and 48 others to be sorted, with their right answers."""
    labelled, others = map(_receipts, _text("receipts.txt").split("\n\n"))
    return labelled, others


def economics_questions() -> tuple[list[str], list[str]]:
    """Read twenty questions, and the passages that answer them, in the same order."""
    lines = _text("questions.txt").splitlines()
    return lines[::2], lines[1::2]


def _text(name: str) -> str:
    return (resources.files("course_lib.data") / name).read_text("ascii")


def _receipts(lines: str) -> Receipts:
    found = [line.split(" ", 2) for line in lines.splitlines()]
    divisions, prices, texts = map(list, zip(*found, strict=True))
    return Receipts(
        texts=texts,
        prices=list(map(float, prices)),
        divisions=list(map(DIVISIONS.index, divisions)),
    )
