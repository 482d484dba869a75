"""The drawing of the causal mask's rows: what its code draws is what the page shows."""

import book_scripts
import matplotlib as mpl
import pytest

from course_lib import plot


@pytest.fixture
def masking():
    with mpl.rc_context():
        plot.use_style()
        yield book_scripts.load("masking")


def test_a_row_reads_its_own_word_and_those_before_and_says_the_next(masking):
    (ax,) = masking.rows().axes
    words = masking.TEXT.split()
    by_row = {}
    for text in ax.texts:
        if text.get_text() in words:
            by_row.setdefault(round(text.get_position()[1], 6), []).append(
                (text.get_position()[0], text.get_text())
            )
    rows = [[word for _, word in sorted(by_row[y])] for y in sorted(by_row)[::-1]]
    assert rows == [words[: i + 2] for i in range(len(words) - 1)]
