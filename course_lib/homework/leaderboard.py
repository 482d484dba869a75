"""The scores of a class in one challenge, as files to share: names and numbers only."""

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from course_lib.homework.challenge import Challenge
from course_lib.homework.report import Score


@dataclass(frozen=True)
class Leaderboard:
    """Scores in one challenge, the best first, with its baseline and its bound.

    Args:
        title: Over the table.
        measure: What the scores are.
        rows: Names and scores.
    """

    title: str
    measure: str
    rows: tuple[tuple[str, float], ...]

    @classmethod
    def of(
        cls, title: str, challenge: Challenge, scores: Iterable[tuple[str, Score]]
    ) -> "Leaderboard":
        """Rank the scores that answers to one challenge reached on the same data."""
        scores = list(scores)
        rows = [(name, score.value) for name, score in scores]
        for _, score in scores[:1]:
            rows.append((f"bound: {challenge.bound}", score.bound))
            rows.append((f"baseline: {challenge.baseline}", score.baseline))
        high = any(score.bound > score.baseline for _, score in scores)
        rows.sort(key=lambda row: -row[1] if high else row[1])
        return cls(title, challenge.measure, tuple(rows))

    def write(self, stem: Path) -> None:
        """Write `<stem>.csv` and a table in Markdown, `<stem>.md`."""
        with open(f"{stem}.csv", "w", newline="", encoding="utf-8") as file:
            table = csv.writer(file)
            table.writerow(["name", self.measure])
            table.writerows((name, f"{value:.6g}") for name, value in self.rows)
        lines = [f"# {self.title}", "", f"| name | {self.measure} |", "|---|---:|"]
        lines += [f"| {name} | {value:.4g} |" for name, value in self.rows]
        Path(f"{stem}.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
