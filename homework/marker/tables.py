"""The marks of a class as files: a table, what each student reads, and all as data."""

import csv
import io
import json
import math
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from course_lib.homework import CHALLENGES

from .assignment import Assignment
from .handed_in import JOINERS

FORMULAS = "=+-@＝＋－＠"  # how one begins; in Japanese the wide ones count, too
Row = dict[str, Any]


def strict(value: Any) -> Any:
    """The same as JSON and UTF-8 can hold it: no NaN, no half of a character."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, dict):
        return {strict(str(k)): strict(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [strict(x) for x in value]
    return value


def replace_file(path: Path, text: str) -> None:
    """Write a file so that whoever reads it finds the old one or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.new")
    with open(beside, "w", encoding="utf-8", newline="") as file:
        file.write(strict(text))
        file.flush()
        os.fsync(file.fileno())
    os.replace(beside, path)


def as_csv(rows: Iterable[Iterable[Any]]) -> str:
    """A table as text, with all text in quotes, wherever a cell might else end."""
    made = io.StringIO()
    writer = csv.writer(made, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
    writer.writerows([safe(cell) for cell in row] for row in rows)
    return made.getvalue()


def safe(cell: Any) -> Any:
    """A line of text that no spreadsheet takes for a formula; a number as it is."""
    if not isinstance(cell, str):
        return cell
    cell = "".join(c if c.isprintable() or c in JOINERS else " " for c in cell)
    return f"'{cell}" if cell.strip() and cell.lstrip()[0] in FORMULAS else cell


def points(row: Row) -> float | None:
    """All points, once each question has some; none are not 0."""
    given = [part["points"] for part in row["parts"]]
    return None if not given or None in given else round(sum(given), 2)


def flags(row: Row) -> list[str]:
    """What a person should look at."""
    reports = [(part["answer"], part["report"]["flag"]) for part in row["parts"]]
    found = [f"{answer}: {flag}" for answer, flag in reports if flag]
    found += ["not graded"] * (not row["marked"])
    return found + [f"its code has {', '.join(row['odd'])}"] * bool(row["odd"])


def messages(row: Row) -> str:
    """What went wrong, in one line."""
    wrong = [p["report"]["message"] for p in row["parts"] if not p["report"]["passed"]]
    helped = [p["note"] for p in row["parts"] if p["note"]]
    return " ".join([row["message"], *helped, *wrong, *row["notes"]]).strip()


def write(rows: list[Row], assignment: Assignment, seed: int, out: Path) -> None:
    """Write every file; each is replaced as a whole.

    Args:
        rows: A row a student.
        assignment: What was to be handed in.
        seed: Of the cases.
        out: The folder to write to, which is made.
    """
    answers = [part.answer for part in assignment.parts]
    scored = [p.answer for p in assignment.parts if p.exercise in CHALLENGES]
    out_of = sum(part.points for part in assignment.parts)
    header = ["student", "name", "wing", *answers, "points", "out_of", "alias"]
    header += [f"{answer}_score" for answer in scored]
    table: list[list[Any]] = [[*header, "isolation", "file", "flags", "messages"]]
    for row in rows:
        parts = {part["answer"]: part for part in row["parts"]}
        scores = [parts[a]["report"]["score"] if a in parts else None for a in scored]
        table.append(
            [
                *(row["student"], row["name"], row["wing"]),
                *(parts[a]["points"] if a in parts else None for a in answers),
                *(points(row), out_of, row["alias"]),
                *(score and score["value"] for score in scores),
                *(row["isolation"], row["file"]),
                *("; ".join(flags(row)), messages(row)),
            ]
        )
    replace_file(out / "marks.csv", as_csv(table))
    about = {"title": assignment.title, "seed": seed, "submissions": rows}
    text = json.dumps(strict(about), indent=1, allow_nan=False)
    replace_file(out / "marks.json", text)
    names = _file_names(row["student"] for row in rows)
    for row in rows:
        file = out / "feedback" / f"{names[row['student']]}.md"
        replace_file(file, feedback(row, assignment))


def _file_names(students: Iterable[str]) -> dict[str, str]:
    """A name that every file system takes for each, and no two the same.

    Whose own name is one keeps it, whatever the others are called.
    """
    made, taken = {}, set()
    plain = {s: re.sub(r"[^\w .@+-]", "_", s)[:60].strip(" .") for s in students}
    for student in sorted(plain, key=lambda s: plain[s] != s):
        name = plain[student]
        while not name or name.lower() in taken:
            name += "_"
        taken.add(name.lower())
        made[student] = name
    return made


def feedback(row: Row, assignment: Assignment) -> str:
    """What one student gets to read, in Markdown; no other student is in it."""
    lines = [f"# {assignment.title}: {row['name']}", ""]
    if not row["marked"]:
        lines += [f"Not graded. {row['message']}", ""]
    for part in row["parts"]:
        given = "not yet graded" if part["points"] is None else f"{part['points']:g}"
        lines += [f"## {part['answer']}: {given} of {part['out_of']:g}", ""]
        lines += [part["note"], ""] if part["note"] else []
        lines += [part["report"]["message"], ""]
    return "\n".join([*lines, *row["notes"], ""])
