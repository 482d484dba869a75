"""What a person gives: points by a rubric, late days and notes, by student."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from .handed_in import same
from .sheets import read_sheet

OF_A_DAY = 0.1  # of the points, for each day late


@dataclass(frozen=True)
class Given:
    """What one student was given by hand.

    Args:
        points: By question; those of a question that code marks replace the code's.
        late_days: How late it came.
        note: For the student to read.
        kept: The share of the points that being late leaves.
    """

    points: dict[str, float] = field(default_factory=dict)
    late_days: float = 0.0
    note: str = ""
    kept: float = 1.0


class Hand:
    """The table of an assignment, which only people write.

    Its columns are `student`, a question's name each, `late_days` and `note`.

    Args:
        path: Of the table; without one nothing has been given yet.
        of_a_day: The share of the points that each day late costs.
        questions: Whose points may be in it.
    """

    def __init__(
        self,
        path: Path | None = None,
        of_a_day: float = OF_A_DAY,
        questions: Iterable[str] = (),
    ):
        self._given: dict[str, Given] = {}
        if path is None:
            return
        known = [*questions, "student", "late_days", "note"]
        columns, rows = read_sheet(path)
        others = sorted(set(columns) - set(known) - {""})
        if others:
            raise ValueError(
                f"the columns of {path} must be among {', '.join(known)}: got "
                f"{', '.join(others)}. Rename them."
            )
        for number, row in rows:
            try:
                self._add(row, of_a_day)
            except (KeyError, ValueError) as error:
                raise ValueError(
                    "marks by hand must have a column student, each student once, and "
                    "numbers of at least 0 in all others but note: in line "
                    f"{number} of {path}, {error}."
                ) from error

    def _add(self, row: dict[str, str], of_a_day: float) -> None:
        student, note = row.pop("student"), row.pop("note", "")
        numbers = {name: _number(text) for name, text in row.items() if text}
        late = numbers.pop("late_days", 0.0)
        kept = max(0.0, 1 - of_a_day * late)
        if not student:
            raise ValueError("nobody is named")
        if same(student) in self._given:
            raise ValueError(f"{student} stands there a second time")
        self._given[same(student)] = Given(numbers, late, note, kept)

    def of(self, student: str) -> Given:
        """What this student was given."""
        return self._given.get(same(student), Given())

    def others(self, students: Iterable[str]) -> list[str]:
        """Who is in the table and not among these."""
        return sorted(self._given.keys() - {same(s) for s in students})


def _number(text: str) -> float:
    number = float(text.replace(",", "."))
    if not math.isfinite(number) or number < 0:
        raise ValueError(f"{text} is no number of at least 0")
    return number
