"""Mark a folder of submissions, each in a process of its own, into CSV and JSON.

    python -m course_lib.homework assignment.json submissions --out marks

An assignment is a file like

    {"title": "Attention",
     "parts": [{"exercise": "attention", "answer": "my_attention", "points": 4},
               {"exercise": "multihead", "answer": "MyMultiHead", "points": 6}]}

where an exercise may also be a challenge: its scores are written to a leaderboard,
under the name that a submission gives itself, `ALIAS = "Ada"`.

A submission is a `.py` or `.ipynb` file called after its student, or a folder with one
of them. Its framework is what it imports, or says: `WING = "nnx"`. Cases are drawn
from a seed, the same for the whole class: the assignment's, `"seed": 7`, or one drawn
afresh. It is kept beside the marks.
"""

import csv
import functools
import json
import re
import secrets
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from course_lib.checks import check_choice
from course_lib.homework import CHALLENGES, EXERCISES, make_marker
from course_lib.homework.apart import Limits, run_apart
from course_lib.homework.challenge import Trial
from course_lib.homework.leaderboard import Leaderboard
from course_lib.homework.marking import Marking
from course_lib.homework.report import Report
from course_lib.homework.running import Outcome

# What an answer has no use for, and who wants to get around the marker has.
_ODD = (
    *("setprofile", "settrace", "_getframe", "get_objects", "get_referrers"),
    *("ctypes", "_exit", "setrlimit", "course_lib.oracle", "course_lib.homework."),
)


@dataclass(frozen=True)
class Part:
    """One answer that an assignment asks for."""

    exercise: str
    answer: str
    points: float


@dataclass(frozen=True)
class Assignment:
    """What is to be handed in."""

    title: str
    parts: tuple[Part, ...]
    seed: int | None = None

    @classmethod
    def read(cls, path: Path | str) -> "Assignment":
        """Read an assignment's file.

        Raises:
            ValueError: A field is missing or unknown, or an exercise does not exist.
        """
        data = json.loads(Path(path).read_text(encoding="utf-8"))
        try:
            parts = tuple(Part(**part) for part in data["parts"])
            made = cls(data["title"], parts, data.get("seed"))
        except (KeyError, TypeError) as error:
            raise ValueError(
                "an assignment must have a title and parts, each with exercise, answer "
                f"and points: in {path}, {error}."
            ) from error
        for part in parts:
            check_choice("exercise", part.exercise, (*EXERCISES, *CHALLENGES))
        return made


@dataclass(frozen=True)
class Marks:
    """The marks of one submission.

    Args:
        student: After whom the file is called.
        wing: "torch" or "nnx"; "" if the submission could not be read.
        parts: What was asked.
        reports: For each part; none if the submission could not be read.
        message: Why it could not be read.
        odd: Names in the code that are worth a look; they cost no points.
        alias: The name for the leaderboard; the student's if none is given.
    """

    student: str
    wing: str
    parts: tuple[Part, ...]
    reports: tuple[Report, ...]
    message: str = ""
    odd: tuple[str, ...] = ()
    alias: str = ""

    @property
    def points(self) -> list[float]:
        """The points of each part: its share of the cases that passed."""
        if not self.reports:
            return [0.0] * len(self.parts)
        pairs = zip(self.parts, self.reports, strict=True)
        return [round(p.points * r.share, 2) for p, r in pairs]

    def as_dict(self) -> dict[str, Any]:
        """Everything, as `json.dumps` takes it."""
        reports = self.reports or [None] * len(self.parts)
        rows = zip(self.parts, self.points, reports, strict=True)
        return {
            "student": self.student,
            "alias": self.alias,
            "wing": self.wing,
            "points": sum(self.points),
            "out_of": sum(part.points for part in self.parts),
            "message": self.message,
            "odd": list(self.odd),
            "parts": [
                {
                    "answer": part.answer,
                    "exercise": part.exercise,
                    "points": points,
                    "out_of": part.points,
                    "report": None if report is None else report.as_dict(),
                }
                for part, points, report in rows
            ],
        }


def grade(
    assignment: Assignment,
    folder: Path | str,
    *,
    seed: int | None = None,
    limits: Limits | None = None,
    jobs: int = 1,
    done: Callable[[Marks], None] = lambda marks: None,
) -> tuple[list[Marks], int]:
    """Mark every submission of a folder.

    Args:
        assignment: What was to be handed in.
        folder: Where the submissions are.
        seed: Draws the cases; None takes the assignment's, or draws one.
        limits: On time and memory; None takes the defaults.
        jobs: How many submissions run at a time.
        done: Called with the marks of each submission, as they are ready.

    Returns:
        The marks in the order of the students' names, and the seed.
    """
    seed = assignment.seed if seed is None else seed
    seed = secrets.randbelow(2**31) if seed is None else seed
    files = [f for f in sorted(Path(folder).iterdir()) if not f.name.startswith(".")]
    # Cases and right answers are the same for all of a framework.
    markers = functools.cache(
        lambda wing: [make_marker(p.exercise, wing, seed) for p in assignment.parts]
    )

    def one(path: Path) -> Marks:
        marks = _grade_one(assignment, path, markers, limits or Limits())
        done(marks)
        return marks

    with ThreadPoolExecutor(max_workers=jobs) as pool:
        return list(pool.map(one, files)), seed


def _grade_one(
    assignment: Assignment,
    path: Path,
    markers: Callable[[str], list[Marking | Trial]],
    limits: Limits,
) -> Marks:
    student = path.name if path.is_dir() else path.stem
    try:
        cells = read_submission(path)
        wing = find_wing(cells)
    except (ValueError, OSError) as error:
        return Marks(student, "", assignment.parts, (), str(error), alias=student)
    markings = markers(wing)
    tasks = [
        (part.answer, marking.task(seconds=limits.seconds))
        for part, marking in zip(assignment.parts, markings, strict=True)
    ]
    outcomes: Sequence[list[Outcome]] = run_apart(cells, tasks, wing, limits)
    reports = tuple(m.report(o) for m, o in zip(markings, outcomes, strict=True))
    odd = tuple(name for name in _ODD if any(name in cell for cell in cells))
    alias = find_alias(cells) or student
    return Marks(student, wing, assignment.parts, reports, "", odd, alias)


def read_submission(path: Path) -> list[str]:
    """The code of a submission, cell by cell; shell commands and magics are left out.

    Args:
        path: A `.py` or `.ipynb` file, or a folder with exactly one of them.

    Returns:
        One text for a `.py` file, one a cell for a notebook.

    Raises:
        ValueError: There is no such file, or it can't be read.
    """
    if path.is_dir():
        files = [f for f in sorted(path.iterdir()) if f.suffix in (".py", ".ipynb")]
        if len(files) != 1:
            raise ValueError(
                f"a submission must be one .py or .ipynb file: got {len(files)}."
            )
        path = files[0]
    if path.suffix not in (".py", ".ipynb"):
        raise ValueError(f"a submission must be a .py or .ipynb file: got {path.name}.")
    text = path.read_text(encoding="utf-8", errors="replace")
    if path.suffix == ".py":
        return [text]
    try:
        cells = [c for c in json.loads(text)["cells"] if c["cell_type"] == "code"]
        return [_without_magics("".join(cell["source"])) for cell in cells]
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path.name} must be a notebook: {error}.") from error


def _without_magics(cell: str) -> str:
    """`pass` in their place, where they stand: line numbers stay as they are."""
    lines = []
    for line in cell.splitlines():
        code = line.lstrip()
        indent = line[: len(line) - len(code)]
        lines.append(f"{indent}pass" if code.startswith(("%", "!")) else line)
    return "\n".join(lines)


_FRAMEWORKS = {"torch": "torch", "jax": "nnx", "flax": "nnx", "nnx": "nnx"}


def find_wing(cells: list[str]) -> str:
    """Which framework a submission is written in.

    Args:
        cells: Its code, which need not be without errors.

    Returns:
        "torch" or "nnx".

    Raises:
        ValueError: It imports neither or both, and does not say.
    """
    code = "\n".join(cells)
    said = re.search(r"""^WING\s*=\s*["'](torch|nnx)["']""", code, re.MULTILINE)
    if said:
        return said[1]
    imports = re.findall(r"^\s*(?:import|from)\s+(.+)$", code, re.MULTILINE)
    roots = re.findall(rf"\b({'|'.join(_FRAMEWORKS)})\b", "\n".join(imports))
    wings = sorted({_FRAMEWORKS[root] for root in roots})
    if len(wings) != 1:
        raise ValueError(
            "a submission must be written in one framework, or say which is to be "
            f'marked, WING = "torch" or WING = "nnx": it imports '
            f"{' and '.join(wings) or 'neither'}."
        )
    return wings[0]


def find_alias(cells: list[str]) -> str:
    """The name that a submission gives itself for the leaderboard: ALIAS = "Ada".

    Args:
        cells: Its code.

    Returns:
        Its letters, digits, spaces, dots and hyphens, at most 30; "" if there are none.
    """
    said = re.search(r"""^ALIAS\s*=\s*["'](.*?)["']""", "\n".join(cells), re.MULTILINE)
    kept = re.sub(r"[^\w .-]", "", said[1]).strip() if said else ""
    return kept[:30].lstrip("-")


def write(marks: list[Marks], assignment: Assignment, seed: int, out: Path) -> None:
    """Write `marks.csv`, a row a student, and `marks.json`, with every case.

    And for each challenge a leaderboard, which shows aliases only.

    Args:
        marks: As from `grade`.
        assignment: What was to be handed in.
        seed: Of the cases.
        out: The folder to write to, which is made.
    """
    out.mkdir(parents=True, exist_ok=True)
    answers = [part.answer for part in assignment.parts]
    with open(out / "marks.csv", "w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(["student", "wing", *answers, "points", "out_of", "messages"])
        for one in marks:
            failed = [r.message for r in one.reports if not r.passed]
            table.writerow(
                [
                    *(one.student, one.wing, *one.points, sum(one.points)),
                    sum(part.points for part in one.parts),
                    " ".join([one.message, *failed]).strip(),
                ]
            )
    data = {
        "title": assignment.title,
        "seed": seed,
        "submissions": [one.as_dict() for one in marks],
    }
    (out / "marks.json").write_text(json.dumps(data, indent=1), encoding="utf-8")
    for number, part in enumerate(assignment.parts):
        if part.exercise in CHALLENGES:
            reached = [(m.alias, m.reports[number].score) for m in marks if m.reports]
            Leaderboard.of(
                f"{assignment.title}: {part.answer}",
                CHALLENGES[part.exercise],
                [(alias, score) for alias, score in reached if score is not None],
            ).write(out / f"leaderboard-{part.answer}")
