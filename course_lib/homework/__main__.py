"""`python -m course_lib.homework assignment.json submissions --out marks`."""

import argparse
import sys
from pathlib import Path

from course_lib.homework.apart import Limits
from course_lib.homework.grading import Assignment, Marks, grade, write


def main(arguments: list[str] | None = None) -> None:
    """Mark a folder of submissions."""
    parser = argparse.ArgumentParser(
        prog="python -m course_lib.homework", description="Mark a folder of homework."
    )
    parser.add_argument("assignment", type=Path, help="a .json file, see grading.py")
    parser.add_argument("submissions", type=Path, help="a folder, one file a student")
    parser.add_argument("--out", type=Path, default=Path("marks"))
    parser.add_argument("--seed", type=int, help="draw these cases again")
    parser.add_argument("--jobs", type=int, default=1, help="submissions at a time")
    parser.add_argument("--seconds", type=float, default=Limits.seconds)
    parser.add_argument("--load-seconds", type=float, default=Limits.load_seconds)
    parser.add_argument("--megabytes", type=int, default=Limits.megabytes)
    given = parser.parse_args(arguments)
    assignment = Assignment.read(given.assignment)

    def done(marks: Marks) -> None:
        sys.stdout.write(f"{marks.student}: {sum(marks.points):g}\n")
        sys.stdout.flush()

    limits = Limits(
        seconds=given.seconds,
        load_seconds=given.load_seconds,
        megabytes=given.megabytes,
    )
    marks, seed = grade(
        assignment,
        given.submissions,
        seed=given.seed,
        limits=limits,
        jobs=given.jobs,
        done=done,
    )
    write(marks, assignment, seed, given.out)


if __name__ == "__main__":
    main()
