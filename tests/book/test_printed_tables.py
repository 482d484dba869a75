"""Which outputs become tables, and what stands in them: the words that were printed."""

import pytest
from docutils import nodes
from printed_tables import find_table, split, write_table

ERRORS = """\
error in francs     left out   new
all columns alike        213   210
learned, no dice          98   136
line, 21 columns         129   132
"""
GROUPS = """\
              too tired          too wide
head       animal  street     animal  street
3-1         0.677   0.050      0.281   0.121
5-11        0.673   0.021      0.558   0.035
"""
NAMES = """\
            parameters  nats above      more than
                         the floor          GPT-2
GPT-2          105,472        0.20
RMSNorm        105,152        0.20   +0.00 ± 0.01
2 kv heads      97,152        0.20   +0.00 ± 0.02
"""
CLOSE = """\
quarters ahead   1    4    8  all
AR            0.67 0.66 0.66 0.65
transformer   0.78 0.68 0.75 0.71
"""


def found(text):
    table = find_table(text)
    assert table is not None
    return table


def test_a_header_and_rows_are_a_table():
    table = found(ERRORS)
    assert table.header == ["error in francs", "left out", "new"]
    assert table.rows[1] == ["learned, no dice", "98", "136"]
    assert table.right == [False, True, True]


def test_a_line_above_the_header_names_groups_of_columns():
    table = found(GROUPS)
    assert table.groups == [("", 1), ("too tired", 2), ("too wide", 2)]
    assert table.rows[0] == ["3-1", "0.677", "0.050", "0.281", "0.121"]
    html = write_table(table)
    assert (
        '<td></td><th scope="colgroup" colspan="2" class="number">too\xa0tired' in html
    )


def test_or_it_begins_their_names():
    table = found(NAMES)
    assert table.header == ["", "parameters", "nats above the floor", "more than GPT-2"]
    assert table.rows[0] == ["GPT-2", "105,472", "0.20", ""]


def test_numbers_that_stand_close_find_their_columns():
    table = found(CLOSE)
    assert table.header == ["quarters ahead", "1", "4", "8", "all"]
    assert table.rows[1] == ["transformer", "0.78", "0.68", "0.75", "0.71"]


@pytest.mark.parametrize(
    "text",
    [
        "none    0.50\nlearned 1.00\nRoPE    1.00",  # no header
        "[[0.284 0.14  0.576]\n [0.248 0.248 0.503]\n [0.178 0.088 0.734]]",
        "weights\n[0.283 0.313 0.404]\n[0.142 0.172 0.687]",
        "rate 0.25: [1.0, 0.5]\nrate 0.75: [1.0, -0.5]\nrate 1.0: [1.0, -1.0]",
        "AR   all errors: width 2.3\nVAR  40 errors: width 1.6\nVAR  2 errors: width 9",
        "income  prediction\n   500         371",  # one row
        # Names too long for numbers to stand under their own.
        "              right\nthe first   0.98\nthe second one   0.89",
    ],
)
def test_what_only_stands_in_columns_is_none(text):
    assert find_table(text) is None


def test_what_is_printed_around_a_table_stays_around_it():
    text = f"two lists\n{ERRORS}\nTruman's of 1948: 1954 by words\n"
    block = nodes.literal_block(text, text, classes=["output", "stream"])
    before, table, after = split(block)
    assert before.astext() == "two lists"
    assert table.astext().count("<tr>") == 4
    assert after.astext() == "Truman's of 1948: 1954 by words"
    assert after["classes"] == ["output", "stream"]


def test_a_table_says_of_which_row_and_column_each_number_is():
    html = write_table(found(ERRORS))
    assert '<th scope="col" class="number">left\xa0out</th>' in html
    assert '<th scope="row">line, 21 columns</th><td class="number">129</td>' in html
