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

from .assignment import Assignment, Part
from .handed_in import JOINERS, read_table, same

LONGEST = 30_000  # letters of a cell; Excel holds 32,767
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
    cell = cell if len(cell) <= LONGEST else f"{cell[:LONGEST]} …"
    cell = "".join(c if c.isprintable() or c in JOINERS else " " for c in cell)
    return f"'{cell}" if cell.strip() and cell.lstrip()[0] in FORMULAS else cell


def points(row: Row) -> float | None:
    """All points, once each question has some; none are not 0."""
    given = [part["points"] for part in row["parts"]]
    return None if not given or None in given else round(sum(given), 2)


def flags(row: Row) -> list[str]:
    """What a person should look at, and has not decided."""
    found = []
    for part in row["parts"]:
        report = part["report"]
        called = report.get("called", ())
        seen = [report["flag"]] if report["flag"] else []
        seen += [f"it calls {', '.join(called[:5])}"] if called else []
        if seen and not part.get("decided"):
            found += [f"{part['answer']}: {one}" for one in seen]
    found += [] if row["marked"] else ["not graded"]
    decided = row["parts"] and all(part.get("decided") for part in row["parts"])
    return [] if decided else [*found, *row["odd"]]


def messages(row: Row) -> str:
    """What went wrong, in one line."""
    wrong = [
        f"{part['answer']}: {part['report']['message']}"
        for part in row["parts"]
        if not part["report"]["passed"]
    ]
    helped = [part["note"] for part in row["parts"] if part["note"]]
    return " ".join([row["message"], *helped, *wrong, *row["notes"]]).strip()


def decide(rows: list[Row], assignment: Assignment, out: Path) -> list[str]:
    """Put in what a person has decided, in `decisions.csv`: each run keeps it.

    The columns are student, question, points and why; why is said to the student.

    Returns:
        A sentence for each line that fits nothing.
    """
    file = out / "decisions.csv"
    if not file.exists():
        return []
    by_name = {same(row["student"]): row for row in rows}
    answers = {part.answer: part for part in assignment.parts}
    wrong = []
    for number, line in enumerate(read_table(file), start=2):
        row = by_name.get(same(line.get("student", "")))
        asked = answers.get(line.get("question", ""))
        try:
            given = float(line.get("points", "").replace(",", "."))
        except ValueError:
            given = math.nan
        if row is None or asked is None or not 0 <= given <= asked.points:
            wrong.append(
                "a decision must have a student, a question and its points: line "
                f"{number} of {file.name} has {', '.join(line.values())}."
            )
            continue
        row["parts"] = row["parts"] or [_unmarked(part) for part in assignment.parts]
        (part,) = (p for p in row["parts"] if p["answer"] == asked.answer)
        why = f"Decided: {line.get('why') or 'by who marks this class'}."
        part |= {"points": given, "note": why, "decided": True}
        row["marked"] = row["marked"] or points(row) is not None
    return wrong


def _unmarked(part: Part) -> Row:
    """A question of who has no marks, for a person to decide."""
    report = {"message": "", "passed": False, "flag": "", "score": None}
    about = {"answer": part.answer, "exercise": part.exercise, "note": ""}
    return about | {"points": None, "out_of": part.points, "report": report}


def write(rows: list[Row], assignment: Assignment, out: Path) -> None:
    """Write every file; each is replaced as a whole.

    Args:
        rows: A row a student.
        assignment: What was to be handed in.
        out: The folder to write to, which is made.
    """
    answers = [part.answer for part in assignment.parts]
    scored = [p.answer for p in assignment.parts if p.exercise in CHALLENGES]
    out_of = sum(part.points for part in assignment.parts)
    header = ["student", "name", "wing", *answers, "points", "out_of"]
    header += [f"{answer}_score" for answer in scored]
    table: list[list[Any]] = [[*header, "isolation", "file", "flags", "messages"]]
    for row in rows:
        parts = {part["answer"]: part for part in row["parts"]}
        scores = [parts[a]["report"]["score"] if a in parts else None for a in scored]
        table.append(
            [
                *(row["student"], row["name"], row["wing"]),
                *(parts[a]["points"] if a in parts else None for a in answers),
                *(points(row), out_of),
                *(score and score["value"] for score in scores),
                *(row["isolation"], row["file"]),
                *("; ".join(flags(row)), messages(row)),
            ]
        )
    replace_file(out / "marks.csv", as_csv(table))
    graded = [r for r in rows if r["known"] is not None and points(r) is not None]
    replace_file(out / "canvas.csv", as_csv(for_canvas(graded, assignment, out_of)))
    moodle = [[row["student"], points(row)] for row in graded]
    heading = ["ID number", assignment.title]
    replace_file(out / "moodle.csv", as_csv([heading, *moodle]))
    about = {"title": assignment.title, "seed": assignment.seed, "submissions": rows}
    text = json.dumps(strict(about), indent=1, allow_nan=False)
    replace_file(out / "marks.json", text)
    names = _file_names(row["student"] for row in rows)
    for row in rows:
        file = out / "feedback" / f"{names[row['student']]}.md"
        replace_file(file, feedback(row, assignment))


CANVAS = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")


def for_canvas(rows: list[Row], assignment: Assignment, out_of: float) -> list[list]:
    """The table that Canvas imports, with the columns that its own export begins with.

    A roster that has these columns gives them; else its `id` is taken for the login.
    """
    table: list[list] = [[*CANVAS, assignment.title]]
    table.append(["    Points Possible", "", "", "", "", out_of])
    for row in rows:
        about = {"Student": row["name"], "SIS Login ID": row["student"]}
        about |= {name: row["known"][name] for name in CANVAS if row["known"].get(name)}
        table.append([*(about.get(name, "") for name in CANVAS), points(row)])
    return table


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
    total, out_of = points(row), sum(part.points for part in assignment.parts)
    if total is not None:
        lines += [f"**{total:g} of {out_of:g} points** are given below.", ""]
    if total is not None and assignment.by_hand:
        some = ", ".join(f"{name} ({n:g})" for name, n in assignment.by_hand.items())
        lines += [f"Marked by hand, and not among them: {some}.", ""]
    if not row["marked"]:
        lines += [f"Not graded. {row['message']}", ""]
    for part in row["parts"]:
        given = "not yet graded" if part["points"] is None else f"{part['points']:g}"
        lines += [f"## {part['answer']}: {given} of {part['out_of']:g}", ""]
        lines += [part["note"], ""] if part["note"] else []
        lines += [part["report"]["message"], ""]
    return "\n".join([*lines, *row["notes"], ""])
