"""Mark a folder of submissions.

    python homework/grade.py assignment.json submissions --out marks

An assignment is a file like

    {"title": "Attention",
     "parts": [{"exercise": "attention", "answer": "my_attention", "points": 4},
               {"exercise": "multihead", "answer": "MyMultiHead", "points": 6}]}

which `make homework` writes. A submission is an .ipynb or .py file called after its
student, or a folder with one in it. Each runs in a sandbox. Its row is kept in
`journal.jsonl` as soon as it is known, so that a run that was interrupted goes on.
"""

import argparse
import hashlib
import json
import secrets
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [p for p in (str(ROOT), str(ROOT / "homework")) if p not in sys.path]

from marker import tables  # noqa: E402
from marker.assignment import Assignment  # noqa: E402
from marker.hand import Hand  # noqa: E402
from marker.handed_in import LARGEST, HandedIn, find, read_roster, same  # noqa: E402
from marker.isolation import BARE, WAYS, Isolation, choose  # noqa: E402
from marker.journal import Journal, replace_file  # noqa: E402
from marker.mark import Limits, Marker  # noqa: E402

import course_lib  # noqa: E402


def grade(
    assignment: Assignment,
    found: list[HandedIn],
    out: Path,
    isolation: Isolation,
    *,
    seed: int,
    limits: Limits | None = None,
    jobs: int = 1,
    questions: tuple[str, ...] = (),
    again: bool = False,
) -> list[dict[str, Any]]:
    """Mark what was found, but for what the journal in `out` has already.

    Args:
        assignment: What was to be handed in.
        found: One submission a student.
        out: The folder of the marks.
        isolation: How sandboxes are started.
        seed: Draws the cases.
        limits: What a submission may take.
        jobs: Submissions at a time.
        questions: Mark these alone, and keep what the journal has of the others.
        again: Mark also what the journal has.

    Returns:
        A row a student.
    """
    limits, journal = limits or Limits(), Journal(out / "journal.jsonl")
    kept = asdict(assignment) | {"seed": seed, "limits": asdict(limits)}
    kept |= {"isolation": isolation.name, "code": digest()}
    common = hashlib.sha256(json.dumps(kept, sort_keys=True).encode()).hexdigest()

    def key(one: HandedIn) -> str:
        raw = b""
        if one.path is not None:
            with open(one.path, "rb") as file:
                raw = file.read(LARGEST + 1)
        about = f"{common} {one.student} {one.notes}".encode("utf-8", "replace")
        return hashlib.sha256(about + b"\0" + raw).hexdigest()

    def one_row(one: HandedIn) -> dict[str, Any]:
        try:
            name = key(one)
        except OSError as error:
            row = {**_EMPTY, "student": one.student, "name": one.name}
            return row | {
                "isolation": isolation.name,
                "message": f"It can't be graded: {error}",
            }
        before = journal.rows.get(name)
        if before is not None and not again:
            return before
        row = marker.mark(one, questions if before else ())
        if questions and before is not None and before["parts"]:
            new = {p["answer"]: p for p in row["parts"]}
            row["parts"] = [new.get(p["answer"], p) for p in before["parts"]]
        row = journal.add(name, row)
        say(row)
        return row

    def say(row: dict[str, Any]) -> None:
        points = [p["points"] for p in row["parts"]]
        known = sum(p for p in points if p is not None)
        said = f"{known:g}" if row["marked"] and None not in points else "not graded"
        text = f"{row['student']}: {said}"
        text += "" if isolation.safe else " (not isolated)"
        sys.stdout.write(text.encode("ascii", "backslashreplace").decode() + "\n")
        sys.stdout.flush()

    marking = Marker(assignment, isolation, seed, limits)
    with marking as marker, ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(one_row, found))


def digest() -> str:
    """Of all code of ours that a mark depends on: a repaired exercise marks again."""
    made = hashlib.sha256()
    for folder in (Path(course_lib.__file__).parent, ROOT / "homework"):
        for path in sorted(folder.rglob("*.py")):
            made.update(path.read_bytes())
    return made.hexdigest()


_EMPTY: dict[str, Any] = {
    **{"file": "", "wing": "", "alias": "", "marked": False},
    **{"notes": [], "odd": [], "parts": []},
}


def keep_seed(assignment: Assignment, out: Path) -> int:
    """The assignment's seed, or one that is drawn once and kept beside the marks."""
    if assignment.seed is not None:
        return assignment.seed
    file = out / "seed.json"
    if not file.exists():
        replace_file(file, json.dumps(secrets.randbelow(2**31)))
        file.chmod(0o600)
    return int(json.loads(file.read_text()))


def main(arguments: list[str] | None = None) -> None:
    """Mark a folder of submissions."""
    parser = argparse.ArgumentParser(description="Mark a folder of homework.")
    parser.add_argument("assignment", type=Path, help="an assignment's .json file")
    parser.add_argument("submissions", type=Path, help="a folder, one file a student")
    parser.add_argument("--out", type=Path, default=Path("marks"))
    parser.add_argument("--roster", type=Path, help="a table: file, id, name")
    parser.add_argument("--hand", type=Path, help="a table of marks by hand")
    parser.add_argument(
        "--late", type=float, default=0.1, help="share a day late costs"
    )
    parser.add_argument("--isolation", choices=WAYS, default="", help="bubblewrap")
    parser.add_argument("--bare", action="store_true", help="without isolation")
    parser.add_argument("--student", action="append", default=[], help="mark again")
    parser.add_argument("--question", action="append", default=[], help="mark again")
    parser.add_argument("--jobs", type=int, default=1, help="submissions at a time")
    parser.add_argument("--seconds", type=float, default=Limits.seconds)
    parser.add_argument("--explore-seconds", type=float, default=Limits.explore_seconds)
    parser.add_argument("--megabytes", type=int, default=Limits.megabytes)
    given = parser.parse_args(arguments)
    assignment = Assignment.read(given.assignment)
    unknown = set(given.question) - {part.answer for part in assignment.parts}
    if unknown:
        parser.error(f"no question {', '.join(sorted(unknown))} in this assignment.")
    try:
        isolation = choose("bare" if given.bare else given.isolation)
        names = [q.name for q in assignment.by_hand]
        names += [part.answer for part in assignment.parts]
        hand = Hand(given.hand, given.late, names)
        roster = read_roster(given.roster) if given.roster else None
    except (ValueError, OSError) as error:
        parser.error(str(error))
    if not isolation.safe:
        sys.stdout.write(f"Careful, {BARE}.\n")
    found = find(given.submissions, roster)
    students = {same(name) for name in given.student}
    asked = [one for one in found if same(one.student) in students]
    if students and not asked:
        parser.error(f"nobody is called {', '.join(given.student)}.")
    limits = Limits(
        seconds=given.seconds,
        explore_seconds=given.explore_seconds,
        megabytes=given.megabytes,
    )
    common = {"seed": keep_seed(assignment, given.out), "limits": limits}
    common["jobs"] = given.jobs
    if students or given.question:
        questions = tuple(given.question)
        grade(
            *(assignment, asked or found, given.out, isolation),
            **common,
            questions=questions,
            again=True,
        )
    rows = grade(assignment, found, given.out, isolation, **common)
    tables.write(rows, assignment, common["seed"], given.out, hand)
    shown = given.out / "marks.csv"
    sys.stdout.write(f"{len(rows)} students: {shown}\n")


if __name__ == "__main__":
    main()
