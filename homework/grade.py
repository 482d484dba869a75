"""Mark a folder of submissions.

    python homework/grade.py assignment.json submissions --out marks

An assignment is a file like

    {"title": "Attention", "seed": 4711,
     "parts": [{"exercise": "attention", "answer": "my_attention", "points": 4},
               {"exercise": "multihead", "answer": "MyMultiHead", "points": 6}]}

which `make homework` writes. A submission is an .ipynb or .py file called after its
student, or a folder with one in it. Each runs in a sandbox. Its row is kept in `rows`
as soon as it is known, so that a run that was interrupted goes on.
"""

import argparse
import hashlib
import json
import os
import sys
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [p for p in (str(ROOT), str(ROOT / "homework")) if p not in sys.path]

from marker import tables  # noqa: E402
from marker.assignment import Assignment  # noqa: E402
from marker.handed_in import (  # noqa: E402
    LARGEST,
    STRANGER,
    HandedIn,
    find,
    read_roster,
    same,
)
from marker.isolation import BARE, WAYS, Isolation, choose  # noqa: E402
from marker.mark import Limits, Marker, empty  # noqa: E402

import course_lib  # noqa: E402

ROOT_TOO = (
    "And you are root: a submission may then change any file of this machine. Mark as "
    "a user without privileges."
)


def grade(
    assignment: Assignment,
    found: list[HandedIn],
    out: Path,
    isolation: Isolation,
    *,
    seed: int,
    limits: Limits | None = None,
    jobs: int = 1,
    again: Collection[str] = (),
) -> list[dict[str, Any]]:
    """Mark what was found, but for what an earlier run has left in `out`.

    Args:
        assignment: What was to be handed in.
        found: One submission a student.
        out: The folder of the marks.
        isolation: How sandboxes are started.
        seed: Draws the cases.
        limits: What a submission may take.
        jobs: Submissions at a time.
        again: Students who are marked again.

    Returns:
        A row a student.
    """
    limits = limits or Limits()
    kept = asdict(assignment) | {"seed": seed, "limits": asdict(limits)}
    kept |= {"isolation": isolation.name, "code": digest()}
    common = json.dumps(kept, sort_keys=True)

    def file(one: HandedIn) -> Path:
        """Another one for whatever else a row depends on."""
        about = f"{common} {one.student} {one.notes} {one.flags} {one.known}"
        made = hashlib.sha256(about.encode("utf-8", "replace"))
        for path in (one.path, *one.others, *one.helpers):
            if path is not None:
                made.update(b"\0" + os.fsencode(path.name) + b"\0")
                with open(path, "rb") as opened:
                    made.update(opened.read(LARGEST + 1))
        return out / "rows" / f"{made.hexdigest()}.json"

    def one_row(one: HandedIn) -> dict[str, Any]:
        try:
            before = file(one)
        except OSError as error:
            why = f"It can't be graded: {error}"
            return {**empty(one), "isolation": isolation.name, "message": why}
        if before.exists() and one.student not in again:
            return json.loads(before.read_text("utf-8"))
        row = tables.strict(marker.mark(one))
        tables.replace_file(before, json.dumps(row, allow_nan=False))
        points = tables.points(row)
        text = f"{row['student']}: {'not graded' if points is None else f'{points:g}'}"
        text += "" if isolation.safe else " (not isolated)"
        sys.stdout.write(text.encode("ascii", "backslashreplace").decode() + "\n")
        sys.stdout.flush()
        return row

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


def main(arguments: list[str] | None = None) -> None:
    """Mark a folder of submissions."""
    parser = argparse.ArgumentParser(description="Mark a folder of homework.")
    parser.add_argument("assignment", type=Path, help="an assignment's .json file")
    parser.add_argument("submissions", type=Path, help="a folder, one file a student")
    parser.add_argument("--out", type=Path, default=Path("marks"))
    parser.add_argument("--roster", type=Path, help="a table: file, id, name")
    parser.add_argument("--isolation", choices=WAYS, default="", help="bubblewrap")
    parser.add_argument("--bare", action="store_true", help="without isolation")
    parser.add_argument("--student", action="append", default=[], help="mark again")
    parser.add_argument("--jobs", type=int, default=1, help="submissions at a time")
    parser.add_argument("--seconds", type=float, default=Limits.seconds)
    parser.add_argument("--explore-seconds", type=float, default=Limits.explore_seconds)
    parser.add_argument("--megabytes", type=int, default=Limits.megabytes)
    given = parser.parse_args(arguments)
    assignment = Assignment.read(given.assignment)
    try:
        isolation = choose("bare" if given.bare else given.isolation)
        roster = read_roster(given.roster) if given.roster else None
    except (ValueError, OSError) as error:
        parser.error(str(error))
    if not isolation.safe:
        sys.stdout.write(f"Careful, {BARE}.\n")
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            sys.stdout.write(f"{ROOT_TOO}\n")
    found = find(given.submissions, roster)
    asked = {same(name) for name in given.student}
    strangers = [one.student for one in found if STRANGER in one.notes]
    if strangers:
        said = f"Not in the roster: {', '.join(strangers)}.\n"
        sys.stdout.write(said.encode("ascii", "backslashreplace").decode())
    again = [one.student for one in found if asked & one.names]
    if asked and not again:
        parser.error(f"nobody is called {', '.join(given.student)}.")
    rows = grade(
        *(assignment, found, given.out, isolation),
        seed=assignment.seed,
        limits=Limits(
            seconds=given.seconds,
            explore_seconds=given.explore_seconds,
            megabytes=given.megabytes,
        ),
        jobs=given.jobs,
        again=again,
    )
    for line in tables.decide(rows, assignment, given.out):
        sys.stdout.write(f"{line}\n".encode("ascii", "backslashreplace").decode())
    tables.write(rows, assignment, given.out)
    look = sum(bool(tables.flags(row)) for row in rows)
    sys.stdout.write(
        f"{len(rows)} students, {look} with flags: {given.out / 'marks.csv'}\n"
    )


if __name__ == "__main__":
    main()
