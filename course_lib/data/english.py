"""Real English that is on every machine: the prose of Python's own documentation.

`pydoc_data.topics` holds the language reference that `help()` shows. Only prose is kept
(no code, grammar rules, tables or notes on versions), one paragraph a line, in ASCII; a
paragraph that several topics share is kept once. Whole topics are held out, by their
names.

The documentation changes with Python. `english.txt` lists the fingerprints (CRC-32) of
the paragraphs that Python 3.11, 3.13 and 3.14 have in common, by topic and in order, so
that those versions give one and the same text.
"""

import re
import sys
from dataclasses import dataclass
from importlib import resources
from zlib import crc32

_PLAIN = str.maketrans("“”‘’–—\xa0", "\"\"''-- ") | {ord("…"): "..."}
_CODE = (">>>", "::=", "==", " = ", "New in", "Changed in", "Deprecated", "Added in")


@dataclass(frozen=True)
class English:
    """A training text and a held-out text.

    Args:
        train: One paragraph a line, an empty line between topics; a character is a
            byte.
        held_out: The same, about other topics.
        train_topics: Names of the topics in `train`, in order.
        held_out_topics: Names of the topics in `held_out`.
        n_missing: Listed paragraphs that this version of Python does not have: 0 where
            the text is exactly the one that the course was written with.
    """

    train: str
    held_out: str
    train_topics: tuple[str, ...]
    held_out_topics: tuple[str, ...]
    n_missing: int


def english(*, everything: bool = False) -> English:
    """Read the text: about 117,000 characters, a tenth of them held out.

    Args:
        everything: Keep all prose that this version of Python has: nearly twice as
            much, and different in each version.
    """
    found = _paragraphs()
    n_missing = 0
    if everything:
        topics: dict[str, list[str]] = {}
        for paragraph, topic in found.items():
            topics.setdefault(topic, []).append(paragraph)
    else:
        by_print = {f"{crc32(p.encode()):08x}": p for p in found}
        listed = resources.files("course_lib.data").joinpath("english.txt")
        wanted = {
            topic: prints
            for topic, *prints in map(str.split, listed.read_text("ascii").splitlines())
        }
        n_missing = sum(p not in by_print for ps in wanted.values() for p in ps)
        topics = {
            topic: [by_print[p] for p in prints if p in by_print]
            for topic, prints in wanted.items()
        }
    sides: tuple[list[str], list[str]] = ([], [])
    for topic in topics:
        sides[crc32(topic.encode()) % 10 == 0].append(topic)
    train, held_out = (
        "\n\n".join("\n".join(topics[topic]) for topic in side) + "\n" for side in sides
    )
    return English(train, held_out, tuple(sides[0]), tuple(sides[1]), n_missing)


def _paragraphs() -> dict[str, str]:
    """Each paragraph of prose, with the first topic that has it."""
    try:
        from pydoc_data.topics import topics
    except ImportError as error:
        raise ImportError(
            "The text comes with Python's own documentation (pydoc_data), which this "
            f"Python {sys.version_info.major}.{sys.version_info.minor} was installed "
            "without. Install the whole standard library."
        ) from error
    found: dict[str, str] = {}
    for topic in sorted(topics):
        for block in re.split(r"\n\s*\n", topics[topic].translate(_PLAIN)):
            paragraph = re.sub(r"^([*+-]|\d+\.) ", "", " ".join(block.split()))
            if _is_prose(paragraph):
                found.setdefault(paragraph, topic)
    return found


def _is_prose(paragraph: str) -> bool:
    letters = sum(c.isalpha() or c == " " for c in paragraph)
    return (
        len(paragraph) >= 80
        and paragraph.isascii()
        and paragraph[0].isupper()
        and paragraph[-1] in ".:"
        and letters > 0.88 * len(paragraph)
        and not any(sign in paragraph for sign in _CODE)
    )
