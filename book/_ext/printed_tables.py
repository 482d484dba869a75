"""Tables that a cell prints become tables of the page.

A cell prints a table as anyone would, in columns, and notebooks and Colab show that. On
the page the same words stand in a table of the book's style, which a phone can scroll
and a screen reader can walk through. What else a cell prints around it stays as it is.

A table is a header and at least two rows. Two spaces part the names in the header, and
a column reaches from where its name may begin to where the next may. In each row is a
number, and a column of numbers has a name, which is no decimal number: so matrices and
lists of results are none. A line above the header names groups of columns, or begins
their names.
"""

import re
from collections.abc import Sequence
from html import escape
from itertools import pairwise
from typing import Any, NamedTuple

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

# With units of at most three letters: 2.10 GB, 34 of 48, 0.12 (0.10 to 0.14).
NUMBER = re.compile(
    r"(?:[-+−<>]? ?\d(?!.*[^\W\d_]{4})|[-+]?(?:nan|inf)$|None$|–$)", re.DOTALL
)
SEGMENT = re.compile(r"\S+(?: \S+)*")
LEAST = 3  # lines: a header and two rows
SHORT = 13  # letters: a phone doesn't break them

Span = tuple[int, int]


class Table(NamedTuple):
    """Lines `start` to `end` of an output, as cells."""

    start: int
    end: int
    groups: list[tuple[str, int]]  #: Names above the header, each over so many columns
    header: list[str]
    rows: list[list[str]]
    right: list[bool]  #: Columns whose cells end together


def cells(line: str, columns: list[Span]) -> list[str]:
    """Cut a line into the words of each column."""
    return [line[start:end].strip() for start, end in columns]


def find_columns(lines: list[str]) -> list[Span] | None:
    """Find the columns of a header and its rows, or None where a word is in the way."""
    width = max(map(len, lines))
    padded = [f" {line:{width}} " for line in lines]  # one to the right of its place
    spans = [[found.span() for found in SEGMENT.finditer(line)] for line in lines]

    def room(place: int) -> tuple[int, int, int] | None:
        """Say how well a place parts all lines; None if it cuts a word."""
        sides = [line[place : place + 2].count(" ") for line in padded]
        parted = sum(start < place < end for row in spans for start, end in row)
        return (-parted, sides.count(2), place) if min(sides) else None

    cuts = [0]
    if not spans[0]:
        return None
    first = spans[0][0][0]
    places = [found for place in range(1, first + 1) if (found := room(place))]
    if places:  # what stands before the first name has none
        cuts += [p for _, n, p in places if n == len(lines) and p < places[-1][2]]
        cuts.append(places[-1][2])
    for (_, end), (start, _) in pairwise(spans[0]):
        found = filter(None, map(room, range(end, start + 1)))
        cuts.append(max(found, default=(0, 0, 0))[2])
    columns = list(pairwise([*cuts, width]))
    # A column without words, and a name without a column, are none.
    return [
        c for c in columns if any(map(str.strip, (line[slice(*c)] for line in lines)))
    ]


def is_named(name: str, column: Sequence[str]) -> bool | None:
    """Say whether a column of numbers has a name; None if it has other words."""
    numbers = [cell for cell in column if cell]
    if not numbers or not all(map(NUMBER.match, numbers)):
        return None
    counts = name.isdigit() and all("." in cell for cell in numbers)
    return bool(name) and (counts or not NUMBER.match(name))


def name_groups(
    line: str, columns: list[Span], below: list[str]
) -> list[tuple[str, int]] | None:
    """Read the line above a header: what it says over how many columns, or nothing."""
    tight = [
        (
            min((a + len(w) - len(w.lstrip()) for w in words if w.strip()), default=a),
            max((a + len(w.rstrip()) for w in words), default=b),
        )
        for a, b in columns
        if (words := [other[a:b] for other in below])
    ]
    groups: list[tuple[str, int]] = []
    done = 0
    for found in SEGMENT.finditer(line):
        start, end = found.span()
        over = [i for i, (a, b) in enumerate(tight) if a < end and start < b]
        over = over[:1] if start < tight[0][1] else over
        if not over or over[0] < done:
            return None
        groups += [("", 1)] * (over[0] - done)
        groups.append((found[0], len(over)))
        done = over[-1] + 1
    return groups + [("", 1)] * (len(columns) - done)


def read_table(lines: list[str], start: int, end: int) -> Table | None:
    """Read the lines from `start` to `end` as a table, if they are one."""
    body = lines[start:end]
    columns = find_columns(body) if all(map(str.strip, body)) else None
    above = lines[start - 1] if start else ""
    below = lines[end] if end < len(lines) else ""
    if not columns or len(columns) < 2 or len(SEGMENT.findall(below)) > 1:
        return None
    header, *rows = (cells(line, columns) for line in body)
    groups: list[tuple[str, int]] = []
    if above.startswith(" ") or len(SEGMENT.findall(above)) > 1:
        groups = name_groups(above, columns, body) or []
        if not groups:
            return None
        start -= 1
        if max(width for _, width in groups) == 1:
            header = [
                f"{a} {b}".strip() for (a, _), b in zip(groups, header, strict=True)
            ]
            groups = []
    down = list(zip(*rows, strict=True))
    named = list(map(is_named, header, down))
    later = [cell for row in [header, *rows] for cell in row[1:]]
    cuts = [
        sum(map(bool, row)) - len(SEGMENT.findall(line))
        for row, line in zip(rows, body[1:], strict=True)
    ]
    if (
        True not in named
        or False in named
        or not all(map(any, down))
        or not all(any(map(NUMBER.match, row[1:])) for row in rows)
        or any("  " in cell or "[" in cell for cell in later)
        or any("   " in row[0] for row in rows)
        or max(cuts) - min(cuts) > 2  # a sentence that happens to fit
    ):
        return None
    right = [
        len({len(line[:b].rstrip()) for line in body[1:] if line[a:b].strip()}) == 1
        for a, b in columns
    ]
    return Table(start, end, groups, header, rows, right)


def find_table(text: str) -> Table | None:
    """Find the largest table of an output."""
    lines = text.split("\n")
    tables = (
        read_table(lines, start, end)
        for start in range(len(lines) - LEAST + 1)
        for end in range(start + LEAST, len(lines) + 1)
    )
    return max(
        filter(None, tables),
        key=lambda t: (len(t.rows) * len(t.header), -t.start),
        default=None,
    )


def write_table(table: Table) -> str:
    """Write a table as HTML; a cell without words is no header."""

    def cell(words: str, scope: str, right: bool, width: int = 1) -> str:
        style = ' class="number"' if right else ""
        wide = f' colspan="{width}"' if width > 1 else ""
        tag = "th" if scope and words else "td"
        scope = f' scope="{scope}"' if tag == "th" else ""
        words = words.replace(" ", "\xa0") if len(words) < SHORT else words
        return f"<{tag}{scope}{wide}{style}>{escape(words)}</{tag}>"

    def row(words: list[str], scope: str, first: str) -> str:
        scopes = [first, *[scope] * (len(words) - 1)]
        written = map(cell, words, scopes, table.right)
        return f"<tr>{''.join(written)}</tr>"

    groups = "".join(cell(name, "colgroup", n > 1, n) for name, n in table.groups)
    head = [f"<tr>{groups}</tr>"] * bool(groups) + [row(table.header, "col", "col")]
    body = "\n".join(row(words, "", "row") for words in table.rows)
    return (
        '<div class="pst-scrollable-table-container"><table class="table printed">\n'
        f"<thead>{''.join(head)}</thead>\n<tbody>\n{body}\n</tbody></table></div>"
    )


class PrintedTables(SphinxPostTransform):
    """Put tables in the place of what cells printed, in pages for browsers."""

    default_priority = 6  # after myst-nb has chosen among a cell's outputs
    formats = ("html",)

    def run(self, **_: Any) -> None:
        """Go through the outputs of one page."""
        for block in list(self.document.findall(nodes.literal_block)):
            if "output" not in block.get("classes", []):
                continue
            parts = split(block)
            if len(parts) > 1 or isinstance(parts[0], nodes.raw):
                block.replace_self(parts)


def split(block: nodes.literal_block) -> list[nodes.Element]:
    """Cut an output into its tables and what stands around them."""
    lines = block.astext().rstrip("\n").split("\n")
    table = find_table("\n".join(lines))
    if table is None:
        return [block]
    parts: list[nodes.Element] = [nodes.raw("", write_table(table), format="html")]
    for place, rest in ((0, lines[: table.start]), (2, lines[table.end :])):
        if text := "\n".join(rest).strip("\n"):
            other = nodes.literal_block(text, text, **block.attributes)
            other["ids"] = []
            parts[bool(place) * len(parts) : bool(place) * len(parts)] = split(other)
    return parts


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the transform."""
    app.add_post_transform(PrintedTables)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
