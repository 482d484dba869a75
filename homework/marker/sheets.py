"""Tables that a person wrote, as any spreadsheet saves them."""

import csv
import io
from pathlib import Path

FORMULAS = "=+-@＝＋－＠"  # how one begins; in Japanese the wide ones count, too
Line = tuple[int, dict[str, str]]


def no_formula(cell: str) -> str:
    """Text that no spreadsheet takes for a formula; `as_written` is the way back."""
    return f"'{cell}" if cell.strip() and cell.lstrip()[0] in FORMULAS else cell


def as_written(cell: str) -> str:
    """The text before `no_formula`."""
    return cell.removeprefix("'") if no_formula(cell[1:]) == cell else cell


def read_sheet(path: Path) -> tuple[list[str], list[Line]]:
    """The columns of a table in CSV, and its lines that aren't empty.

    In some languages a spreadsheet separates by semicolons, and on some systems it
    writes no UTF-8.

    Returns:
        The names of the columns, and by line its number and its cells by column.
    """
    raw = path.read_bytes()
    try:
        text = raw.decode("utf-16" if raw[:2] in _UTF_16 else "utf-8-sig")
    except UnicodeDecodeError:
        text = raw.decode("cp1252", "replace")
    first = text.partition("\n")[0]
    apart = max(",;\t", key=first.count)
    table = csv.DictReader(io.StringIO(text, newline=""), delimiter=apart)
    columns = [name.strip() for name in table.fieldnames or ()]
    lines = []
    for row in table:
        cells = {(k or "").strip(): v for k, v in row.items() if isinstance(v, str)}
        cells = {n: as_written(cells.get(n, "").strip()) for n in columns if n}
        if any(cells.values()):
            lines.append((table.line_num, cells))
    return columns, lines


_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
