"""Real English: the prose of Python's own documentation, a paragraph a line, in ASCII.

`english.txt` holds what Python 3.11, 3.13 and 3.14 have in common of the language
reference that `help()` shows: no code, grammar rules, tables or notes on versions.
Whole topics are held out, by their names. The text is the Python Software Foundation's,
under the license in `english-license.txt`.
"""

from dataclasses import dataclass
from importlib import resources
from zlib import crc32

__all__ = ["English", "english"]


@dataclass(frozen=True)
class English:
    """A training text and a held-out text."""

    train: str  #: One paragraph a line, an empty line between topics, all in ASCII
    held_out: str  #: The same, about other topics
    train_topics: tuple[str, ...]  #: Names of the topics in `train`, in order
    held_out_topics: tuple[str, ...]  #: Names of the topics in `held_out`


def english() -> English:
    """Read the text: about 117,000 characters, a tenth of them held out."""
    text = (resources.files("course_lib.data") / "english.txt").read_text("ascii")
    sides: tuple[list[str], list[str]] = ([], [])
    names: tuple[list[str], list[str]] = ([], [])
    for topic in text.strip().split("\n\n"):
        name, _, paragraphs = topic.partition("\n")
        held_out = crc32(name.encode()) % 10 == 0
        sides[held_out].append(paragraphs)
        names[held_out].append(name)
    train, held_out = ("\n\n".join(side) + "\n" for side in sides)
    return English(train, held_out, tuple(names[0]), tuple(names[1]))
