"""Sentences of presidents, coded by people: texts with labels that a codebook explains.

Five hundred sentences of 23 State of the Union addresses, 1947 to 2016, of eight words
or more, drawn at random. Coders of the U.S. Policy Agendas Project gave each one topic
of the project's codebook (comparativeagendas.net), reading it where it stands in the
address. Both are from the replication data of Laurer et al. 2023,
doi:10.1017/pan.2023.20, `data_clean/df_cap_sotu_test.csv`. The texts are free. The
topics are under the license in `coded_sentences-license.txt`, and the project asks to
be cited.
"""

import csv
from dataclasses import dataclass
from importlib import resources

import numpy as np

__all__ = ["CodedSentences", "coded_sentences"]

#: Four codes of ours, and which of the project's topics are in each.
CODES = {
    "economy": (1, 5, 15, 18),  # macroeconomics, labor, commerce, foreign trade
    "foreign policy": (16, 19),  # defense, international affairs
    "domestic policy": (2, 3, 4, 6, 7, 8, 9, 10, 12, 13, 14, 17, 20, 21, 23),
    "no policy": (99,),
}


@dataclass(frozen=True, eq=False)
class CodedSentences:
    """Sentences in the order of time, `N` of them."""

    text: tuple[str, ...]
    code: np.ndarray  #: One of `CODES`
    year: np.ndarray  #: int64
    president: np.ndarray  #: str
    party: np.ndarray  #: "Democratic" or "Republican"


def coded_sentences() -> CodedSentences:
    """Read the sentences, and the code that people gave to each."""
    path = resources.files("course_lib.data") / "coded_sentences.csv"
    rows = list(csv.DictReader(path.read_text("utf-8").splitlines()))
    code_of = {str(topic): code for code, topics in CODES.items() for topic in topics}
    return CodedSentences(
        text=tuple(row["text"] for row in rows),
        code=np.array([code_of[row["topic"]] for row in rows]),
        year=np.array([int(row["year"]) for row in rows], dtype=np.int64),
        president=np.array([row["president"] for row in rows]),
        party=np.array([row["party"] for row in rows]),
    )
