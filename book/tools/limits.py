"""Is each page one sitting? What it asks of a reader, and the limits.

    python book/tools/limits.py            # a table of all pages
    python book/tools/limits.py attention  # this page, and what is wrong with it

Seconds are those of the last `make outputs`. The limits stand here and nowhere else.
One that hurts a page is a reason to cut, to fold or to split it.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from notebook_pairs import read_cells
from notebooks import ROOT, find_chapters
from page_measures import BUILDS_ON, LINK, Page, find_road_sign, measure

SECONDS = "_build/seconds.json"


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The most, or for exercises the least, that a page may have of each."""

    minutes: int
    words: int
    visible: int
    folded: int
    seconds: int
    exercises: int
    longest: int = 30
    words_before_figure: int | None = None


ROAD = Limits(
    minutes=30,
    words=2500,
    visible=180,
    folded=120,
    seconds=45,
    exercises=4,
    words_before_figure=300,
)
OPTIONAL = Limits(
    minutes=40, words=3000, visible=250, folded=200, seconds=90, exercises=2
)
APPENDIX = replace(OPTIONAL, exercises=0)
MOST_EXERCISES = 6


def kind_of(text: str) -> str | None:
    """Read what a page calls itself under its title: Optional, Appendix or nothing."""
    sign = find_road_sign(text)
    return sign["kind"] if sign else None


def is_optional(text: str) -> bool:
    """Say whether a page calls itself optional."""
    return kind_of(text) == "Optional"


def builds_on(path: Path) -> list[Path]:
    """List the pages that a page says it builds on."""
    sign = find_road_sign(path.read_text("utf-8"))
    named = BUILDS_ON.fullmatch(sign["rest"]) if sign else None
    links = LINK.findall(named["pages"]) if named else []
    return [(path.parent / link).resolve() for link in links]


def measure_text(text: str) -> Page:
    """Measure a page, given its text."""
    return measure(read_cells(text).cells)


def find_faults(text: str, seconds: float | None = None) -> list[str]:
    """Say which limits a page passes, which runs for `seconds` where that is known."""
    page, sign = measure_text(text), find_road_sign(text)
    limits = {None: ROAD, "Optional": OPTIONAL, "Appendix": APPENDIX}[kind_of(text)]
    faults = [
        f"{got} {what}, and {most} are the most"
        for what, got, most in (
            ("minutes", page.minutes, limits.minutes),
            ("words of prose", page.words, limits.words),
            ("visible lines of code", page.visible, limits.visible),
            ("folded lines of code", page.folded, limits.folded),
            ("lines in a visible cell", page.longest, limits.longest),
            ("seconds", round(seconds or 0), limits.seconds),
        )
        if got > most
    ]
    if sign is None:
        faults.append("no line of minutes under the title")
    elif not sign["rest"].startswith("for: ") and not BUILDS_ON.fullmatch(sign["rest"]):
        faults.append("the line under the title does not say what it is for")
    before = limits.words_before_figure
    if before is not None:
        if page.words_before_figure is None:
            faults.append("no picture")
        elif page.words_before_figure > before:
            faults.append(
                f"{page.words_before_figure} words before the first picture, "
                f"and {before} are the most"
            )
    return faults + find_exercise_faults(page, limits)


def find_exercise_faults(page: Page, limits: Limits) -> list[str]:
    """Say what is wrong with a page's exercises."""
    exercises = page.exercises
    faults = [
        f"exercise {exercise.title!r} does not end in ' · easy|medium|hard · N minutes'"
        for exercise in exercises
        if exercise.difficulty is None
    ]
    if not limits.exercises <= len(exercises) <= MOST_EXERCISES:
        faults.append(
            f"{len(exercises)} exercises: there are {limits.exercises} to "
            f"{MOST_EXERCISES}"
        )
    if limits is ROAD:
        titles = [exercise.title.lower() for exercise in exercises]
        faults += [
            f"no exercise has {words!r} in its title"
            for words in ("by hand", "experiment")
            if not any(words in title for title in titles)
        ]
        if not any(exercise.is_checked for exercise in exercises):
            faults.append("no exercise is marked by `check`")
    return faults


def read_seconds(root: Path) -> dict[str, float]:
    """Read how long the pages ran, by slug, when they were last compared."""
    path = root / SECONDS
    return json.loads(path.read_text("utf-8")) if path.exists() else {}


COLUMNS = (
    f"{'page':<24}{'words':>7}{'lines':>7}{'longest':>9}{'folded':>8}{'minutes':>9}"
    f"{'seconds':>9}{'figures':>9}{'exercises':>11}"
)


def row(slug: str, text: str, seconds: float | None) -> str:
    """Write one page's line of the table."""
    page = measure_text(text)
    ran = "" if seconds is None else f"{seconds:.0f}"
    return (
        f"{slug + '*' * is_optional(text):<24}{page.words:>7}{page.visible:>7}"
        f"{page.longest:>9}{page.folded:>8}{page.minutes:>9}{ran:>9}"
        f"{page.figures:>9}{len(page.exercises):>11}"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").partition("\n")[0],
        epilog="Without a slug: the table alone. Optional pages have a star.",
    )
    parser.add_argument("slug", nargs="*", help="a page, such as attention")
    parser.add_argument("--root", type=Path, default=ROOT, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    try:
        paths = find_chapters(options.root / "book", options.slug)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    seconds = read_seconds(options.root)
    texts = {path.stem: path.read_text("utf-8") for path in paths}
    print(COLUMNS)
    for slug, text in texts.items():
        print(row(slug, text, seconds.get(slug)))
    if not options.slug:
        return 0
    faults = {
        slug: find_faults(text, seconds.get(slug)) for slug, text in texts.items()
    }
    for slug, found in faults.items():
        print(f"\n{slug}: " + ("within its limits" if not found else ""))
        print("".join(f"- {fault}\n" for fault in found), end="")
    return 1 if any(faults.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
