"""Mark one submission: read it and run it in sandboxes, and compare what comes back."""

import functools
import itertools
import tempfile
import threading
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from sandbox import wire

from course_lib.homework import make_marker
from course_lib.homework.report import Marker as CaseMarker
from course_lib.homework.report import Report
from course_lib.homework.running import Outcome, Task

from .assignment import Assignment
from .handed_in import LARGEST, HandedIn, kind, readable
from .isolation import Ended, Isolation, Times
from .room import furnish

MOST_SKIPPED = 3  # statements that end the process, before nothing explores any more
WORDS = {"torch": "torch", "jax": "nnx", "flax": "nnx", "nnx": "nnx", "optax": "nnx"}


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What a submission may take.

    Args:
        seconds: For one case of an exercise; a challenge has its own limit.
        explore_seconds: For all that its cells do besides defining.
        megabytes: Of memory for a process, beyond what the framework takes.
    """

    seconds: float = 20.0
    explore_seconds: float = 30.0
    megabytes: int = 1000


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

    cells: list[str]
    wing: str
    alias: str
    odd: list[str]
    uses: dict[str, Any]  # by name, those that its definition uses


def empty(one: HandedIn) -> dict[str, Any]:
    """The row of a student who got no mark."""
    return {
        **{"student": one.student, "name": one.name, "file": "", "wing": ""},
        **{"alias": "", "isolation": "", "marked": False, "message": ""},
        **{"notes": list(one.notes), "odd": [], "parts": []},
    }


class Marker:
    """Marks submissions to one assignment, all on the same cases.

    Args:
        assignment: What is to be handed in.
        isolation: How sandboxes are started.
        seed: Draws the cases.
        limits: What a submission may take.
    """

    def __init__(
        self, assignment: Assignment, isolation: Isolation, seed: int, limits: Limits
    ):
        self.assignment, self.isolation = assignment, isolation
        self.seed, self.limits = seed, limits
        self._rooms = tempfile.TemporaryDirectory()
        self._lock = threading.Lock()
        self._room = functools.cache(self._furnish)
        self._markings = functools.cache(self._make_markings)

    def __enter__(self) -> "Marker":
        return self

    def __exit__(self, *error: object) -> None:
        self._rooms.cleanup()

    def _furnish(self, forbidden: frozenset[str]) -> Path:
        folder = Path(tempfile.mkdtemp(dir=self._rooms.name))
        Path(self._rooms.name).chmod(0o755)
        return furnish(folder, tuple(sorted(forbidden)))

    def _make_markings(self, wing: str) -> list[CaseMarker]:
        return [make_marker(p.exercise, wing, self.seed) for p in self.assignment.parts]

    def mark(self, one: HandedIn) -> dict[str, Any]:
        """The row of one student, as data; an error of ours becomes its message."""
        row = empty(one) | {"isolation": self.isolation.name}
        if one.path is None:
            return row | {"message": " ".join(one.notes), "notes": []}
        row["file"] = readable(one.path.name)
        try:
            return row | self._mark(one.path)
        except ValueError as error:
            return row | {"message": f"It can't be graded: {error}"}
        except Exception as error:  # one submission never ends the marking of a class
            what = wire.clean(f"{type(error).__name__}: {error}")
            return row | {"message": f"It can't be graded, the marker failed: {what}"}

    def _mark(self, path: Path) -> dict[str, Any]:
        read = self._read(path)
        with self._lock:
            markings = self._markings(read.wing)
        asked = [
            Asked(n, part.answer, one, one.task(seconds=self.limits.seconds))
            for n, (part, one) in enumerate(
                zip(self.assignment.parts, markings, strict=True)
            )
        ]
        reports = self._reports(read, asked)
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
        about = {"wing": read.wing, "alias": read.alias, "odd": read.odd}
        return about | {"marked": True, "parts": parts}

    def _read(self, path: Path) -> Read:
        with open(path, "rb") as file:
            raw = file.read(LARGEST + 1)
        if len(raw) > LARGEST:
            raise ValueError(f"the file has more than {LARGEST // 2**20} MB.")
        job = {"do": "read", "name": f"submission{kind(path.name)}"}
        job |= {"seconds": 60, "megabytes": 2000}
        made = wire.frame(job, [np.frombuffer(raw, np.uint8)])
        ended = self._run(frozenset(), made, Times(60, 60, 60))
        header = next((h for h, _ in list(wire.frames(ended.raw))[1:]), None)
        if header is None:
            raise ValueError(f"while it was read, the reader {ended.how}")
        if "trouble" in header:
            raise ValueError(wire.clean(header["trouble"]))
        cells, said = header.get("cells"), header.get("said")
        if not isinstance(cells, list) or not all(isinstance(c, str) for c in cells):
            raise ValueError("the reader returned no cells.")
        said = said if isinstance(said, dict) else {}
        uses, odd = said.get("uses"), header.get("odd")
        odd = odd if isinstance(odd, list) else []
        return Read(
            cells,
            find_wing(said, path.name),
            find_alias(said),
            [wire.clean(w, 120) for w in odd[: wire.MOST_ODD] if isinstance(w, str)],
            uses if isinstance(uses, dict) else {},
        )

    def _run(self, forbidden: frozenset[str], job: bytes, times: Times) -> Ended:
        with self._lock:
            room = self._room(forbidden)
        return self.isolation.run(room, job, times)

    def _reports(
        self, read: Read, asked: list[Asked], instead: dict[str, str] | None = None
    ) -> dict[int, Report]:
        """A report for each question; those that forbid the same share a sandbox."""
        groups: dict[frozenset[str], list[Asked]] = {}
        for a in asked:
            groups.setdefault(frozenset(a.task.forbidden), []).append(a)
        reports = {}
        for group in groups.values():
            outcomes = self._outcomes(read, group, instead or {})
            reports |= {a.number: a.marking.report(outcomes[a.number]) for a in group}
        return reports

    def _outcomes(
        self, read: Read, group: list[Asked], instead: dict[str, str]
    ) -> dict[int, list[Outcome]]:
        """An outcome for each case of each question, whatever happens in another."""
        done: dict[int, list[Outcome]] = {}
        forbidden = frozenset(group[0].task.forbidden)
        explore, skipped = self.limits.explore_seconds, []
        while left := [a for a in group if a.number not in done]:
            sizes = {a.number: len(a.task.cases) for a in left}
            load = 60 + 2 * explore
            # Before its first case a layer is built and filled.
            longest = max(a.task.seconds * (3 if a.task.weights else 1) for a in left)
            run = sum(a.task.seconds * sizes[a.number] for a in left)
            times = Times(load + run, load, longest + 10)
            arrays: list[Any] = []
            job = {
                **{"do": "mark", "wing": read.wing, "cells": read.cells},
                **{"explore_seconds": explore, "instead": instead},
                **{"skipped": skipped},
                **{"seconds": times.whole, "megabytes": self.limits.megabytes},
                "parts": [
                    {
                        **{"part": a.number, "answer": a.answer},
                        # What is forbidden is for the marker to know.
                        "task": wire.fold(vars(replace(a.task, forbidden=())), arrays),
                    }
                    for a in left
                ],
            }
            ended = self._run(forbidden, wire.frame(job, arrays), times)
            found, loaded, number = _believe(ended, sizes)
            if not loaded and explore:  # a line that only explores may have ended it
                if number and number not in skipped and len(skipped) < MOST_SKIPPED:
                    skipped.append(number)
                else:
                    explore = 0.0
                continue
            for a in left:
                outcomes = found[a.number]
                if len(outcomes) == sizes[a.number]:
                    done[a.number] = outcomes
                    continue
                if loaded and not outcomes and a is not left[0]:
                    break  # it had not begun: a process of its own will tell
                # This one ended the process. The next questions start in another,
                # unless it was ended before any of them began.
                where = "it" if loaded else "while it was loaded, it"
                trouble = Outcome(trouble=f"{where} {ended.how}")
                missing = sizes[a.number] - len(outcomes)
                done[a.number] = [*outcomes, *[trouble] * missing]
                if loaded:
                    break
        return done

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
            if reports[a.number].share == 1 or reports[a.number].flag:
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
                    f"For this question your {' and '.join(wrong)} was replaced by a "
                    "right one."
                )
        return helped


def _silent(report: Report) -> Report:
    """Without a word from a process that held a solution: how many cases passed."""
    cases = tuple(replace(case, message="", slip="") for case in report.cases)
    passed = sum(case.passed for case in cases)
    message = f"{passed} of {len(cases)} cases pass."
    return replace(report, cases=cases, message=message)


def _believe(
    ended: Ended, sizes: dict[int, int]
) -> tuple[dict[int, list[Outcome]], bool, int]:
    """The outcomes that came in order and in form, and whether all cells were run.

    Returns:
        Of each question its outcomes; whether; the last statement that explored.
    """
    found: dict[int, list[Outcome]] = {number: [] for number in sizes}
    # Two words of its own, a word a statement that explores, one a case: no more.
    most = 2 + wire.MOST_STATEMENTS + sum(sizes.values())
    frames = wire.frames(ended.raw, wire.LARGEST_OUTCOME)
    came = list(itertools.islice(frames, most))
    if not came:  # said before any line of the student's is run
        raise RuntimeError(f"the sandbox did not start: it {ended.how}")
    loaded, number = False, 0
    for header, arrays in came[1:]:
        loaded = loaded or "loaded" in header
        if type(begun := header.get("explores")) is int:
            number = begun
        part, case = header.get("part"), header.get("case")
        if type(part) is not int or part not in found or type(case) is not int:
            continue
        if len(found[part]) != case or case >= sizes[part]:
            continue
        used = header.get("used")
        used = used[:5] if isinstance(used, list) else []
        found[part].append(
            Outcome(
                outputs=tuple(arrays),
                trouble=wire.clean(header.get("trouble")),
                used=tuple(wire.clean(u, 100) for u in used if isinstance(u, str)),
            )
        )
    return found, loaded, number


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


def find_alias(said: dict[str, Any]) -> str:
    """The name that a submission gives itself for the leaderboard: ALIAS = "Ada".

    Returns:
        Its letters, digits, spaces, dots and hyphens, at most 30; "" if there are none.
    """
    alias = wire.clean(said.get("ALIAS"), 100)
    kept = "".join(c for c in alias if c.isalnum() or c in " ._-").strip()
    return kept[:30].lstrip("-")
