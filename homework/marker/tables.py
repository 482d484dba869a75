"""The marks of a class as files: for you, for your system, for each student."""

import hashlib
import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from course_lib.homework import CHALLENGES
from course_lib.homework.challenge import Challenge
from course_lib.homework.report import Score

from .assignment import Assignment
from .hand import Hand
from .handed_in import JOINERS
from .isolation import BARE, WAYS
from .journal import replace_file, strict
from .sheets import no_formula

Row = dict[str, Any]


def safe(cell: Any) -> Any:
    """Text that no spreadsheet takes for a formula."""
    if not isinstance(cell, str):
        return "" if cell is None else cell
    cell = "".join(c if c.isprintable() or c in JOINERS else " " for c in cell)
    return no_formula(cell)


def as_csv(rows: Iterable[Iterable[Any]]) -> str:
    """A table as text.

    Whatever another spreadsheet could take for the end of a cell stands in quotes.
    """

    def quoted(cell: Any) -> str:
        text = str(safe(cell))
        plain = re.fullmatch(r"[^\s,;|\"'][^,;|\"]*", text) or not text
        return text if plain else '"' + text.replace('"', '""') + '"'

    lines = (",".join(map(quoted, row)) for row in rows)
    return strict("".join(f"{line}\n" for line in lines))


def as_text(text: str) -> str:
    """Text that Markdown shows as it is: no link, no picture, no markup."""
    return re.sub(r"([\\`*\[\]<>|#!&])", r"\\\1", text)


def code_points(row: Row, answer: str) -> float | None:
    """The points that code gave; None if it gave none, which is not 0."""
    return next((p["points"] for p in row["parts"] if p["answer"] == answer), None)


def total(row: Row, assignment: Assignment, hand: Hand) -> float | None:
    """All points less what being late costs, once every question has some."""
    given = hand.of(row["student"])
    points = [
        given.points.get(part.answer, code_points(row, part.answer))
        for part in assignment.parts
    ]
    points += [given.points.get(question.name) for question in assignment.by_hand]
    known = [p for p in points if p is not None]
    if len(known) < len(points):
        return None
    return round(sum(known) * given.kept, 2)


def flags(row: Row) -> list[str]:
    """What a person should look at."""
    found = [
        f"{p['answer']}: {p['report']['flag']}"
        for p in row["parts"]
        if p["report"]["flag"]
    ]
    if not row["marked"]:
        found.append("not graded")
    if row["odd"]:
        found.append(f"its code has {', '.join(row['odd'])}")
    return found


def messages(row: Row) -> str:
    """What went wrong, in one line."""
    wrong = [p["report"]["message"] for p in row["parts"] if not p["report"]["passed"]]
    helped = [p["note"] for p in row["parts"] if p["note"]]
    return " ".join([row["message"], *helped, *wrong, *row["notes"]]).strip()


def write(
    rows: list[Row], assignment: Assignment, seed: int, out: Path, hand: Hand
) -> None:
    """Write every file; each is replaced as a whole.

    Args:
        rows: A row a student.
        assignment: What was to be handed in.
        seed: Of the cases.
        out: The folder to write to, which is made.
        hand: Points and notes that a person gave.
    """
    bare = any(not WAYS[r["isolation"]].safe for r in rows)
    warning = f"These marks were given without isolation: {BARE}." if bare else ""
    answers = [part.answer for part in assignment.parts]
    by_hand = [q.name for q in assignment.by_hand]
    out_of = sum(part.points for part in assignment.parts)
    header = ["student", "name", "wing", *answers, "points", "out_of", *by_hand]
    header += ["late_days", "total", "isolation", "file", "flags", "messages"]
    table: list[list[Any]] = [header]
    for row in rows:
        given = hand.of(row["student"])
        points = [code_points(row, a) for a in answers]
        known = [p for p in points if p is not None]
        whole = round(sum(known), 2) if len(known) == len(points) else None
        table.append(
            [
                *(row["student"], row["name"], row["wing"], *points, whole, out_of),
                *(given.points.get(name) for name in by_hand),
                *(given.late_days or "", total(row, assignment, hand)),
                *(row["isolation"], row["file"]),
                *("; ".join(flags(row)), messages(row)),
            ]
        )
    replace_file(out / "marks.csv", as_csv(table))
    data = {
        "title": assignment.title,
        "warning": warning,
        "seed": seed,
        "submissions": [
            row
            | {
                "points": sum(code_points(row, a) or 0 for a in answers),
                "out_of": out_of,
                "total": total(row, assignment, hand),
                "flags": flags(row),
            }
            for row in rows
        ],
    }
    text = json.dumps(strict(data), indent=1, allow_nan=False)
    replace_file(out / "marks.json", text)
    summary = [f"# {assignment.title}", ""]
    summary += [f"**{warning}**", ""] if warning else []
    whole = [r for r in rows if total(r, assignment, hand) is not None]
    summary += [
        f"{len(rows)} students, {len(whole)} with points for each question.",
        "",
    ]
    summary += [
        f"- {as_text(r['student'])}: {as_text('; '.join(flags(r)))}"
        for r in rows
        if flags(r)
    ]
    summary += [
        f"- {student} is in the table of marks by hand, and has no row."
        for student in hand.others(r["student"] for r in rows)
    ]
    replace_file(out / "look-at.md", strict("\n".join(summary) + "\n"))
    blank = [["student", *by_hand, "late_days", "note"]]
    blank += [[r["student"], *[""] * (len(by_hand) + 2)] for r in rows]
    replace_file(out / "hand-blank.csv", as_csv(blank))
    _write_systems(rows, assignment, out, hand)
    for row, name in zip(rows, _file_names(r["student"] for r in rows), strict=True):
        text = feedback(row, assignment, hand)
        replace_file(out / "feedback" / f"{name}.md", strict(text))
    _write_leaderboards(rows, assignment, out)


def _file_names(students: Iterable[str]) -> list[str]:
    """A name that every file system takes for each, and no two the same.

    Where something had to be changed, a part of a digest tells them apart.
    """
    students = list(students)
    plain = [re.sub(r"[^\w .@+-]", "_", s).lstrip(".")[:60].strip() for s in students]
    taken = {p.lower() for p, s in zip(plain, students, strict=True) if p == s}
    names = []
    for name, student in zip(plain, students, strict=True):
        if name != student:
            raw = student.encode("utf-8", "replace")
            name = f"{name}-{hashlib.sha256(raw).hexdigest()[:8]}".lstrip("-")
            while name.lower() in taken:
                name += "x"
            taken.add(name.lower())
        names.append(name)
    return names


def _write_systems(
    rows: list[Row], assignment: Assignment, out: Path, hand: Hand
) -> None:
    """Tables that Canvas and Moodle import, with those alone who have a total.

    In both an empty cell takes away a mark that is there. Canvas (Instructor Guide,
    "How do I import grades in the Gradebook", and `lib/gradebook_importer.rb`) wants
    these five columns in this order, matches a student by ID, else by SIS User ID, SIS
    Login ID or name, and an assignment by its title. Moodle (docs.moodle.org, "Grade
    import", and `grade/import/csv`) asks which column is which, and imports nothing if
    it doesn't know one of the students. Feedback without a mark deletes the mark there,
    so there is none. Gradescope imports no table; it reads `results.json`, which otter
    writes.
    """
    most = sum(part.points for part in assignment.parts)
    most += sum(question.points for question in assignment.by_hand)
    title = assignment.title
    marks = [(r, t) for r in rows if (t := total(r, assignment, hand)) is not None]
    canvas = [["Student", "ID", "SIS User ID", "SIS Login ID", "Section", title]]
    canvas.append(["    Points Possible", "", "", "", "", str(most)])
    canvas += [[r["name"], "", r["student"], "", "", str(t)] for r, t in marks]
    moodle = [["ID number", title]]
    moodle += [[r["student"], str(t)] for r, t in marks]
    for name, table in (("canvas", canvas), ("moodle", moodle)):
        replace_file(out / f"{name}.csv", as_csv(table))


def feedback(row: Row, assignment: Assignment, hand: Hand) -> str:
    """What one student gets to read, in Markdown; no other student is in it."""
    given = hand.of(row["student"])
    lines = [f"# {assignment.title}: {row['name']}", ""]
    if not row["marked"]:
        lines += [f"Not graded. {row['message']}", ""]
    for part in assignment.parts:
        done = next((p for p in row["parts"] if p["answer"] == part.answer), None)
        points = given.points.get(part.answer, done and done["points"])
        said = "not yet graded" if points is None else f"{points:g}"
        lines += [f"## {part.answer}: {said} of {part.points:g}", ""]
        if done is not None:
            lines += [done["note"], ""] if done["note"] else []
            lines += [done["report"]["message"], ""]
    for question in assignment.by_hand:
        points = given.points.get(question.name)
        said = "not yet graded" if points is None else f"{points:g}"
        lines += [f"## {question.name}: {said} of {question.points:g}", ""]
    lines += [*row["notes"], ""] if row["notes"] else []
    lines += [given.note, ""] if given.note else []
    if given.late_days:
        days = "day" if given.late_days == 1 else "days"
        lines += [f"{given.late_days:g} {days} late: times {given.kept:g}.", ""]
    whole = total(row, assignment, hand)
    if whole is not None:
        lines += [f"**Total: {whole:g}**", ""]
    return "\n".join(lines)


def _write_leaderboards(rows: list[Row], assignment: Assignment, out: Path) -> None:
    for part in assignment.parts:
        if part.exercise not in CHALLENGES:
            continue
        scores = []
        for row in rows:
            done = next((p for p in row["parts"] if p["answer"] == part.answer), None)
            score = done and done["report"]["score"]
            # Only who has chosen a name is shown, and nothing that is in doubt.
            if row["alias"] and done and score and not done["report"]["flag"]:
                scores.append((row["alias"], Score(**score)))
        title = f"{assignment.title}: {part.answer}"
        board = ranking(CHALLENGES[part.exercise], scores)
        measure = CHALLENGES[part.exercise].measure
        rows_csv = [["name", measure], *([n, f"{v:.6g}"] for n, v in board)]
        replace_file(out / f"leaderboard-{part.answer}.csv", as_csv(rows_csv))
        lines = [f"# {title}", "", f"| name | {measure} |", "|---|---:|"]
        lines += [f"| {name} | {value:.4g} |" for name, value in board]
        replace_file(out / f"leaderboard-{part.answer}.md", "\n".join(lines) + "\n")


def ranking(
    challenge: Challenge, scores: list[tuple[str, Score]]
) -> list[tuple[str, float]]:
    """Names and scores, the best first, with the baseline and the bound.

    Args:
        challenge: Whose baseline and bound have names.
        scores: What answers reached on the same data.
    """
    rows = [(name, score.value) for name, score in scores if score.value is not None]
    for _, score in scores[:1]:
        rows.append((f"bound: {challenge.bound}", score.bound))
        rows.append((f"baseline: {challenge.baseline}", score.baseline))
    high = any(score.bound > score.baseline for _, score in scores)
    return sorted(rows, key=lambda row: -row[1] if high else row[1])
