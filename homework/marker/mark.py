"""Mark one submission: read it and run it in sandboxes, and compare what comes back."""

import functools
import hashlib
import itertools
import os
import tempfile
import threading
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from sandbox import wire

from course_lib.homework import make_marker
from course_lib.homework.called import CALLED, USED
from course_lib.homework.report import Marker as CaseMarker
from course_lib.homework.report import Report
from course_lib.homework.running import Outcome, Task

from .assignment import Assignment
from .handed_in import LARGEST, HandedIn, kind, readable
from .isolation import Ended, Isolation, Times
from .room import furnish

MOST_SKIPPED = 3  # statements that end the process, before nothing explores any more
MOST_VERSIONS = 6  # of a student's notebooks that are read
PATIENCE = 5  # times a limit of the sandbox's, which leaves out what it waits in line
WORDS = {"torch": "torch", "jax": "nnx", "flax": "nnx", "nnx": "nnx", "optax": "nnx"}


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What a submission may take.

    Args:
        seconds: For one case of an exercise; a challenge has its own limit.
        explore_seconds: For all that its cells do besides defining.
        megabytes: Of memory for a process, beyond what the framework takes.
        whole_seconds: By the clock, for all that is done with it.
    """

    seconds: float = 20.0
    explore_seconds: float = 30.0
    megabytes: int = 1000
    whole_seconds: float = 600.0


@dataclass(frozen=True)
class Asked:
    """One question to one submission: its place, its answer's name, its marking."""

    number: int
    answer: str
    marking: CaseMarker
    task: Task


@dataclass(frozen=True)
class Read:
    """A submission as the sandbox has read it, and what it says of itself."""

    path: Path
    raw: bytes
    cells: list[str]
    wing: str
    uses: dict[str, Any]  # by name, those that its definition uses
    filled: set[str]  # names whose definition holds an answer
    checked: dict[str, int]  # by answer the cell of its last check, or of itself


@dataclass
class Came:
    """What came from one sandbox, as far as it is in order and in form."""

    outcomes: dict[int, list[Outcome]]
    notes: dict[int, list[tuple[str, str]]]
    odd: dict[str, None] = field(default_factory=dict)  # what a person looks at
    loaded: bool = False
    number: int = 0  # of the last statement that explored


def empty(one: HandedIn) -> dict[str, Any]:
    """The row of a student who got no mark."""
    return {
        **{"student": one.student, "name": one.name, "known": one.known},
        **{"file": "", "wing": "", "isolation": "", "marked": False, "message": ""},
        **{"notes": list(one.notes), "odd": list(one.flags), "parts": []},
    }


class Marker:
    """Marks submissions to one assignment, each on cases of its own.

    Args:
        assignment: What is to be handed in.
        isolation: How sandboxes are started.
        seed: Draws the cases, together with the exercise and what was handed in.
        limits: What a submission may take.
    """

    def __init__(
        self, assignment: Assignment, isolation: Isolation, seed: int, limits: Limits
    ):
        self.assignment, self.isolation = assignment, isolation
        self.seed, self.limits = seed, limits
        self._rooms = tempfile.TemporaryDirectory()
        self._lock = threading.Lock()
        self._furnished = functools.cache(self._furnish)

    def __enter__(self) -> "Marker":
        return self

    def __exit__(self, *error: object) -> None:
        self._rooms.cleanup()

    def _furnish(self) -> Path:
        folder = Path(tempfile.mkdtemp(dir=self._rooms.name))
        Path(self._rooms.name).chmod(0o755)
        return furnish(folder)

    def mark(self, one: HandedIn) -> dict[str, Any]:
        """The row of one student, as data; an error of ours becomes its message."""
        row = empty(one) | {"isolation": self.isolation.name}
        if one.path is None:
            return row | {"message": " ".join(one.notes), "notes": []}
        row["file"] = readable(one.path.name)
        with self._lock:
            room = self._furnished()
        try:
            made = Submission(self, room, one).mark()
        except ValueError as error:
            return row | {"message": f"It can't be graded: {error}"}
        except Exception as error:  # one submission never ends the marking of a class
            what = wire.clean(f"{type(error).__name__}: {error}")
            return row | {"message": f"It can't be graded, the marker failed: {what}"}
        return row | made | {"odd": [*row["odd"], *made["odd"]]}


def own_seed(seed: int, exercise: str, raw: bytes) -> int:
    """The seed of one question to one file: none tells anything about another."""
    made = hashlib.sha256(f"{seed} {exercise} ".encode() + raw)
    return int.from_bytes(made.digest()[:16], "little")


class Submission:
    """One submission while it is marked.

    Args:
        marker: Of the class.
        room: In which its code runs.
        one: What was handed in.
    """

    def __init__(self, marker: Marker, room: Path, one: HandedIn):
        self.assignment, self.isolation = marker.assignment, marker.isolation
        self.seed, self.limits = marker.seed, marker.limits
        self.room, self.one = room, one
        self.end = time.monotonic() + self.limits.whole_seconds
        self.odd: dict[str, None] = {}

    def mark(self) -> dict[str, Any]:
        """What its row says."""
        read, notes = self._choose()
        self.files = {
            os.path.relpath(path, read.path.parent): path.read_bytes()
            for path in self.one.helpers
            if path.is_relative_to(read.path.parent) and path != read.path
        }
        asked = []
        for n, part in enumerate(self.assignment.parts):
            seed = own_seed(self.seed, part.exercise, read.raw)
            marking = make_marker(part.exercise, read.wing, seed)
            task = marking.task(seconds=self.limits.seconds)
            asked.append(Asked(n, part.answer, marking, task))
        reports = self._reports(read, asked)
        self._as_it_was_checked(read, asked, reports)
        helped = self._follow_through(read, asked, reports)
        parts = []
        for n, part in enumerate(self.assignment.parts):
            share = None if reports[n].flag else reports[n].share
            parts.append(
                {
                    **{"answer": part.answer, "exercise": part.exercise},
                    "points": None if share is None else round(part.points * share, 2),
                    **{"out_of": part.points, "note": helped.get(n, "")},
                    "report": reports[n].as_dict(),
                }
            )
        about = {"wing": read.wing, "file": readable(read.path.name)}
        about |= {"odd": list(self.odd), "marked": True, "parts": parts}
        return about | {"notes": [*self.one.notes, *notes]}

    def _choose(self) -> tuple[Read, list[str]]:
        """Of a student's notebooks the one with most answers, of these the latest."""
        assert self.one.path is not None
        answers = {part.answer for part in self.assignment.parts}
        made, errors = [], []
        for path in (self.one.path, *self.one.others)[:MOST_VERSIONS]:
            try:
                made.append(self._read(path))
            except ValueError as error:
                errors.append(error)
        if not made:
            raise errors[0]
        best = max(made, key=lambda read: len(read.filled & answers))  # or the first
        others = [readable(p.name) for p in (self.one.path, *self.one.others)]
        others.remove(name := readable(best.path.name))
        if not others:
            return best, []
        others = ", ".join(others[:3]) + (", …" if len(others) > 3 else "")
        text = f"Of {len(self.one.others) + 1} versions {name} counts, "
        return best, [f"{text}the latest with most answers; not {others}."]

    def _read(self, path: Path) -> Read:
        with open(path, "rb") as file:
            raw = file.read(LARGEST + 1)
        if len(raw) > LARGEST:
            raise ValueError(f"the file has more than {LARGEST // 2**20} MB.")
        job = {"do": "read", "name": f"submission{kind(path.name)}"}
        job |= {"seconds": 60, "megabytes": 2000}
        made = wire.frame(job, [np.frombuffer(raw, np.uint8)])
        ended = self._run(made, Times(60, 60, 60))
        header = next((h for h, _ in list(wire.frames(ended.raw))[1:]), None)
        if header is None:
            raise ValueError(f"while it was read, the reader {ended.how}")
        if "trouble" in header:
            raise ValueError(wire.clean(header["trouble"]))
        cells, said = header.get("cells"), header.get("said")
        if not isinstance(cells, list) or not all(isinstance(c, str) for c in cells):
            raise ValueError("the reader returned no cells.")
        said = said if isinstance(said, dict) else {}
        uses, filled, checked = (
            found if isinstance(found := said.get(name), dict) else {}
            for name in ("uses", "filled", "checked")
        )
        return Read(
            *(path, raw, cells, find_wing(said, path.name), uses),
            {name for name, is_filled in filled.items() if is_filled is True},
            {name: n for name, n in checked.items() if type(n) is int},
        )

    def _run(self, job: bytes, times: Times) -> Ended:
        left = self.end - time.monotonic()
        ended = self.isolation.run(self.room, job, times.within(max(left, 0.1)))
        if time.monotonic() > self.end:
            raise ValueError(
                f"it took more than {self.limits.whole_seconds / 60:g} minutes in all. "
                "Look what it waits for."
            )
        return ended

    def _reports(
        self, read: Read, asked: list[Asked], instead: dict[str, str] | None = None
    ) -> dict[int, Report]:
        """A report for each question, whatever happens in another."""
        done: dict[int, list[Outcome]] = {}
        notes: dict[int, list[tuple[str, str]]] = {a.number: [] for a in asked}
        explore, skipped = self.limits.explore_seconds, []
        while left := [a for a in asked if a.number not in done]:
            sizes = {a.number: len(a.task.cases) for a in left}
            ended = self._run_cases(read, left, instead or {}, explore, skipped)
            came = believe(ended, sizes)
            self.odd |= came.odd
            for number, some in came.notes.items():
                notes[number] += some
            if not came.loaded and explore:  # a line that explores may have ended it
                fresh = came.number and came.number not in skipped
                if fresh and len(skipped) < MOST_SKIPPED:
                    skipped.append(came.number)
                else:
                    explore = 0.0
                continue
            for a in left:
                outcomes = came.outcomes[a.number]
                if len(outcomes) == sizes[a.number]:
                    done[a.number] = outcomes
                    continue
                if came.loaded and not outcomes and a is not left[0]:
                    break  # it had not begun: a process of its own will tell
                # This one ended the process. The next questions start in another,
                # unless it was ended before any of them began.
                where = "it" if came.loaded else "while it was loaded, it"
                trouble = Outcome(trouble=f"{where} {ended.how}")
                missing = sizes[a.number] - len(outcomes)
                done[a.number] = [*outcomes, *[trouble] * missing]
                if came.loaded:
                    break
        return {
            a.number: a.marking.report(done[a.number], notes[a.number]) for a in asked
        }

    def _run_cases(
        self,
        read: Read,
        left: list[Asked],
        instead: dict[str, str],
        explore: float,
        skipped: list[int],
    ) -> Ended:
        """Run the cells, and the cases of these questions, in one sandbox."""
        load = 60 + 2 * PATIENCE * explore
        # Before its first case a layer is built and filled.
        longest = max(a.task.seconds * (3 if a.task.weights else 1) for a in left)
        run = sum(a.task.seconds * len(a.task.cases) for a in left)
        times = Times(load + PATIENCE * run, load, PATIENCE * longest + 10)
        arrays: list[Any] = [np.frombuffer(x, np.uint8) for x in self.files.values()]
        job = {
            **{"do": "mark", "wing": read.wing, "cells": read.cells},
            **{"explore_seconds": explore, "instead": instead, "skipped": skipped},
            **{"seconds": times.whole, "megabytes": self.limits.megabytes},
            "files": {name: n for n, name in enumerate(self.files)},
            "parts": [
                {
                    **{"part": a.number, "answer": a.answer},
                    "task": wire.fold(vars(a.task), arrays),
                }
                for a in left
            ],
        }
        return self._run(wire.frame(job, arrays), times)

    def _as_it_was_checked(
        self, read: Read, asked: list[Asked], reports: dict[int, Report]
    ) -> None:
        """Mark what failed once more with the cells up to its check: the better counts.

        That is what its author saw pass, whatever later cells do.
        """
        for a in asked:
            last = read.checked.get(a.answer, 0)
            if _settled(reports[a.number]) or not 0 < last < len(read.cells):
                continue
            before = replace(read, cells=read.cells[:last])
            again = self._reports(before, [a])[a.number]
            if again.share > reports[a.number].share or again.flag:
                reports[a.number] = again

    def _follow_through(
        self, read: Read, asked: list[Asked], reports: dict[int, Report]
    ) -> dict[int, str]:
        """Mark again what builds on a wrong answer, with a right one in its place.

        Returns:
            By question what the report says of it.
        """
        solutions = self.assignment.solutions.get(read.wing, {})
        helped = {}
        for a in asked:
            if _settled(reports[a.number]):
                continue
            needed = _needed(a.answer, read.uses)
            wrong = [
                b.answer
                for b in asked[: a.number]
                if b.answer in needed
                and b.answer in solutions
                and reports[b.number].share < 1
            ]
            if not wrong:
                continue
            instead = {name: solutions[name] for name in wrong}
            again = _silent(self._reports(read, [a], instead)[a.number])
            if again.share > reports[a.number].share or again.flag:
                reports[a.number] = again
                helped[a.number] = (
                    f"For {a.answer} your {' and '.join(wrong)} was replaced by a "
                    "right one."
                )
        return helped


def _settled(report: Report) -> bool:
    """Whether nothing is to be won by marking it again."""
    return report.share == 1 or bool(report.flag or report.used)


def _silent(report: Report) -> Report:
    """Without a word from a process that held a solution: how many cases passed."""
    cases = tuple(replace(case, message="", slip="") for case in report.cases)
    passed = sum(case.passed for case in cases)
    message = f"{passed} of {len(cases)} cases pass."
    return replace(report, cases=cases, message=message)


def believe(ended: Ended, sizes: dict[int, int]) -> Came:
    """The outcomes and notes that came in order and in form.

    Args:
        ended: What the sandbox wrote.
        sizes: By question the number of its cases.
    """
    came = Came({number: [] for number in sizes}, {number: [] for number in sizes})
    # Two words of its own, a word a statement that explores, one a case, and notes.
    most = 2 + wire.MOST_STATEMENTS + sum(sizes.values()) + wire.MOST_NOTES
    frames = wire.frames(ended.raw, wire.LARGEST_OUTCOME)
    words = list(itertools.islice(frames, most))
    if not words:  # said before any line of the student's is run
        raise RuntimeError(f"the sandbox did not start: it {ended.how}")
    for header, arrays in words[1:]:
        part, case = header.get("part"), header.get("case")
        if "loaded" in header and not came.loaded:
            came.loaded = True
        elif type(begun := header.get("explores")) is int and not came.loaded:
            came.number = begun
        elif "note" in header and type(part) is int:
            name = wire.clean(header.get("name"), 200)
            if header["note"] in (USED, CALLED) and part in came.notes:
                came.notes[part].append((header["note"], name))
            else:
                came.odd[f"its code reaches for {name}"] = None
        elif (
            type(part) is int
            and type(case) is int
            and case == len(came.outcomes.get(part, ())) < sizes.get(part, 0)
        ):
            trouble = wire.clean(header.get("trouble"))
            came.outcomes[part].append(Outcome(tuple(arrays), trouble))
        else:
            came.odd["its code writes to the marker"] = None
    return came


def _needed(name: str, uses: dict[str, Any]) -> set[str]:
    """The names that a definition uses, and those that they use."""
    found: set[str] = set()
    new = [name]
    while new:
        more = uses.get(new.pop(), ())
        more = {x for x in more if isinstance(x, str)} if isinstance(more, list) else ()
        new += [x for x in more if x not in found]
        found |= set(more)
    return found


def find_wing(said: dict[str, Any], name: str = "") -> str:
    """Which framework a submission is written in.

    Args:
        said: Its variable WING, and what it imports.
        name: Of its file.

    Returns:
        "torch" or "nnx".

    Raises:
        ValueError: It imports neither or both, and does not say.
    """
    if said.get("WING") in ("torch", "nnx"):
        return said["WING"]
    words = {word for path in said.get("imports", ()) for word in str(path).split(".")}
    wings = sorted({WORDS[word] for word in words & WORDS.keys()})
    wings = (
        wings if len(wings) == 1 else [w for w in ("torch", "nnx") if f"-{w}" in name]
    )
    if len(wings) != 1:
        raise ValueError(
            "a submission must be written in one framework, or say which is to be "
            'marked, WING = "torch" or WING = "nnx": it imports neither or both.'
        )
    return wings[0]
