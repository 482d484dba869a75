"""What is to be handed in: an assignment's file, as `make homework` writes it."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from course_lib.checks import check_choice
from course_lib.homework import CHALLENGES, EXERCISES


@dataclass(frozen=True)
class Part:
    """One answer that an assignment asks for."""

    exercise: str
    answer: str
    points: float


@dataclass(frozen=True)
class Assignment:
    """What is to be handed in.

    Args:
        title: Over the tables.
        parts: What code marks.
        seed: Draws the cases, for each student others. It stays with the instructor.
        solutions: By wing and answer the code that defines it rightly.
        by_hand: What a person marks, and out of how many points.
    """

    title: str
    parts: tuple[Part, ...]
    seed: int
    solutions: dict[str, dict[str, str]] = field(default_factory=dict)
    by_hand: dict[str, float] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path | str) -> "Assignment":
        """Read an assignment's file.

        Raises:
            ValueError: A field is missing, or an exercise does not exist.
        """
        return cls.of(json.loads(Path(path).read_text(encoding="utf-8")), str(path))

    @classmethod
    def of(cls, data: dict[str, Any], where: str = "it") -> "Assignment":
        """An assignment from what its file has."""
        try:
            parts = tuple(Part(**part) for part in data["parts"])
            more = data.get("solutions", {}), data.get("by_hand", {})
            made = cls(data["title"], parts, int(data["seed"]), *more)
        except (KeyError, TypeError) as error:
            raise ValueError(
                "an assignment must have a title, a seed and parts, each with "
                f"exercise, answer and points: in {where}, {error}."
            ) from error
        for part in made.parts:
            check_choice("exercise", part.exercise, (*EXERCISES, *CHALLENGES))
        return made
