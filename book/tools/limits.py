"""Is each page one sitting? What it asks of a reader, and the limits.

    python book/tools/limits.py            # a table of all pages
    python book/tools/limits.py attention  # this page, and what is wrong with it

Counted is the lesson; exercises and solutions come after it. Words are those of the
prose: no code, no formulas (one inside a sentence counts as a word), no captions, no
tables. Lines of code are those that aren't blank, in one of the two tabs, the longer.
A reader gets through 150 words a minute, or 15 lines of code. Seconds are those of the
last `make outputs`.

Under the title a page says how long it takes, what it builds on, and what for:

    *25 minutes, and 75 for the exercises · builds on [Tokens](tokens.md) · for: the
    formula of every transformer*

or, on a page that the others do not need, `*Optional · 25 minutes, … · …*`, and on one
to look things up in, `*Appendix · 25 minutes · …*`. The tool writes the numbers.

The limits stand here and nowhere else. One that hurts a page is a reason to cut, to
fold or to split it.
"""

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import jupytext

ROOT = Path(__file__).resolve().parents[2]
SECONDS = "_build/seconds.json"
WORDS_A_MINUTE = 150
LINES_A_MINUTE = 15

SETUP_TAG = "colab-setup"
# Assertions of what the text says of results: run with the page, no part of it.
CLAIMS_TAG = "claims"
FOLDING = {"hide-input", "hide-cell", "remove-input", "remove-cell"}

TITLE = re.compile(r"^# .*\n", re.MULTILINE)
# The paragraph under the title, and how it begins.
MINUTES = re.compile(
    r"(?:(?P<kind>Optional|Appendix) · )?"
    r"(?P<minutes>\d+ minutes(?:, and \d+ for the exercises)?) · "
)
ROAD_SIGN = re.compile(rf"\n*\*{MINUTES.pattern}(?P<rest>[^*]+)\*\n")
BUILDS_ON = re.compile(r"builds on (?P<pages>.+) ·\s+for: .+", re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)#]+)")

# A directive, or a block of code, to the line that ends it.
BLOCK = re.compile(
    r"^ *(?P<marks>`{3,}|:{3,}|~{3,})(?:\{(?P<name>[\w:+-]+)\})?(?P<rest>[^\n]*)\n"
    r"(?P<body>.*?)^ *(?P=marks)[`:~]* *$",
    re.MULTILINE | re.DOTALL,
)
# An exercise or a solution, from the directive that opens it to the one that ends it.
GATED = re.compile(
    r"^(`{3,}|:{3,})\{(?P<kind>exercise|solution)-start\}(?P<title>[^\n]*)\n"
    r".*?^(`{3,}|:{3,})\{(?P=kind)-end\}[^\n]*\n+\4$",
    re.MULTILINE | re.DOTALL,
)
# Directives whose inside is no prose, or the other framework's.
NO_PROSE = re.compile(
    r"code|math|list-table|csv-table|table|glue|bibliography|raw|toctree|contents|nnx|"
    r"index"
)
PICTURES = ("figure", "explore", "image", "glue:figure")
PICTURE = "\0"  # stands in the prose where there is one
EFFORT = re.compile(r" · (?P<difficulty>easy|medium|hard) · (?P<minutes>\d+) minutes?$")
CHECKED = re.compile(r"\bcheck\(")

NOT_WORDS = [
    (r"(?s)\$\$.*?\$\$(\s*\([\w-]+\))?", " "),  # a formula on its own
    (r"\$[^$]+\$", "X"),
    (r"\{[a-zA-Z:-]+\}`[^`]*`", "X"),
    (r"(?s)<!--.*?-->", ""),
    (r"(?m)^\s*(:[a-zA-Z_-]+:|#|\||\+\+\+|\([a-zA-Z:-]+\)=|%|!\[|-{3}).*$", ""),
    (r"\[\]\([^)]*\)", "X"),
    (r"\[([^\]]+)\]\([^)]*\)", r"\1"),
    (r"`[^`]*`", "X"),
]


@dataclass
class Exercise:
    """An exercise: its title, how hard it is, and how long it may take."""

    title: str
    difficulty: str | None
    minutes: int | None
    is_checked: bool = False  #: Whether the homework checks mark the reader's answer


@dataclass(kw_only=True)
class Page:
    """What one page asks of its reader."""

    words: int  #: Of prose
    visible: int  #: Lines of code that are shown, in one tab
    folded: int  #: Lines of code behind a button
    longest: int  #: Lines of the longest cell that is shown
    #: Words until the first picture, or None without one.
    words_before_figure: int | None
    exercises: list[Exercise]  #: In their order

    @property
    def minutes(self) -> int:
        """The time that the lesson takes."""
        return round(self.words / WORDS_A_MINUTE + self.visible / LINES_A_MINUTE)


def count_words(text: str) -> int:
    """Count the words of a piece of prose, in Markdown."""
    for pattern, instead in NOT_WORDS:
        text = re.sub(pattern, instead, text)
    return len(re.findall(r"\S*\w\S*", text))


def end_of_head(text: str, start: int = 0) -> int:
    """Find where a page's title ends, with the line under it if there is one."""
    title = TITLE.search(text, start)
    if title is None:
        raise ValueError("a chapter needs a title: a line that starts with '# '.")
    sign = ROAD_SIGN.match(text, title.end())
    return (sign or title).end()


def find_road_sign(text: str) -> re.Match[str] | None:
    """Find the line under a page's title."""
    title = TITLE.search(text)
    return ROAD_SIGN.match(text, title.end()) if title else None


def write_minutes(text: str, page: Page) -> str:
    """Write how long a page takes under its title, if it has such a line."""
    sign = find_road_sign(text)
    if sign is None:
        return text
    exercises = sum(exercise.minutes or 0 for exercise in page.exercises)
    beside = f", and {exercises} for the exercises" if exercises else ""
    start, end = sign.span("minutes")
    return f"{text[:start]}{page.minutes} minutes{beside}{text[end:]}"


def take_exercises(text: str) -> tuple[str, list[Exercise]]:
    """Take exercises and solutions out of a page's text."""
    exercises: list[Exercise] = []

    def take(part: re.Match[str]) -> str:
        if part["kind"] == "exercise":
            effort = EFFORT.search(part["title"].strip())
            minutes = int(effort["minutes"]) if effort else None
            difficulty = effort["difficulty"] if effort else None
            exercises.append(Exercise(part["title"].strip(), difficulty, minutes))
        exercises[-1].is_checked |= bool(CHECKED.search(part[0]))
        return ""

    return GATED.sub(take, text), exercises


def measure(text: str) -> Page:
    """Measure a page, given its text. The line under its title does not count."""
    lesson, exercises = take_exercises(text)
    lines: Counter[tuple[str, str]] = Counter()
    longest = 0
    prose = []

    def add_code(source: str, tags: Collection[str] = ()) -> None:
        nonlocal longest
        size = sum(bool(line.strip()) for line in source.split("\n"))
        place = "folded" if FOLDING.intersection(tags) else "shown"
        longest = max(longest, size if place == "shown" else 0)
        for tab, other in (("torch", "nnx"), ("nnx", "torch")):
            lines[place, tab] += 0 if other in tags else size

    def read(block: re.Match[str]) -> str:
        name, rest = block["name"] or "code", block["rest"].strip()
        if name.startswith(PICTURES):
            return PICTURE
        if name.startswith("code"):
            if rest in {"python", "ipython3"}:
                add_code(block["body"])
            return ""
        return "" if NO_PROSE.match(name) else BLOCK.sub(read, block["body"])

    for cell in jupytext.reads(lesson, fmt="md:myst").cells:
        tags = cell.metadata.get("tags", [])
        if cell.cell_type == "markdown":
            text = BLOCK.sub(read, cell.source)
            prose.append(re.sub(r"^(?=!\[)", PICTURE, text, flags=re.MULTILINE))
        elif not {SETUP_TAG, CLAIMS_TAG}.intersection(tags):
            add_code(cell.source, tags)
            if {"figure", "image"} & cell.metadata.get("mystnb", {}).keys():
                prose.append(PICTURE)
    said = "\n".join(prose)
    sign = find_road_sign(said)
    own = count_words(sign[0]) if sign else 0
    before, picture, _ = said.partition(PICTURE)
    return Page(
        words=count_words(said.replace(PICTURE, "")) - own,
        visible=max(lines["shown", tab] for tab in ("torch", "nnx")),
        folded=max(lines["folded", tab] for tab in ("torch", "nnx")),
        longest=longest,
        words_before_figure=count_words(before) - own if picture else None,
        exercises=exercises,
    )


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
    words_before_figure: int = 10_000


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


def find_faults(text: str, seconds: float | None = None) -> list[str]:
    """Say which limits a page passes, which runs for `seconds` where that is known."""
    page, sign = measure(text), find_road_sign(text)
    limits = {None: ROAD, "Optional": OPTIONAL, "Appendix": APPENDIX}[kind_of(text)]
    before = page.words_before_figure or 0
    faults = [
        f"{got} {what}, and {most} are the most"
        for what, got, most in (
            ("minutes", page.minutes, limits.minutes),
            ("words of prose", page.words, limits.words),
            ("visible lines of code", page.visible, limits.visible),
            ("folded lines of code", page.folded, limits.folded),
            ("lines in a visible cell", page.longest, limits.longest),
            ("seconds", round(seconds or 0), limits.seconds),
            ("words before the first picture", before, limits.words_before_figure),
        )
        if got > most
    ]
    if sign is None:
        faults.append("no line of minutes under the title")
    elif not sign["rest"].startswith("for: ") and not BUILDS_ON.fullmatch(sign["rest"]):
        faults.append("the line under the title does not say what it is for")
    exercises = page.exercises
    faults += [
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
        titles = " ".join(exercise.title.lower() for exercise in exercises)
        faults += [
            f"no exercise has {words!r} in its title"
            for words in ("by hand", "experiment")
            if words not in titles
        ]
        if not any(exercise.is_checked for exercise in exercises):
            faults.append("no exercise is marked by `check`")
        if page.words_before_figure is None:
            faults.append("no picture")
    return faults


def read_seconds(root: Path) -> dict[str, float]:
    """Read how long the pages ran, by slug, when they were last compared."""
    path = root / SECONDS
    return json.loads(path.read_text("utf-8")) if path.exists() else {}


COLUMNS = "page words lines longest folded minutes seconds exercises"


def row(cells: Sequence[object]) -> str:
    """Write a line of the table."""
    return f"{cells[0]:<24}" + "".join(f"{cell!s:>11}" for cell in cells[1:])


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").partition("\n")[0],
        epilog="Without a slug: the table alone. Optional pages have a star.",
    )
    parser.add_argument("slug", nargs="*", help="a page, such as attention")
    parser.add_argument("--root", type=Path, default=ROOT, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    from notebooks import find_chapters

    try:
        paths = find_chapters(options.root / "book", options.slug)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    seconds = read_seconds(options.root)
    texts = {path.stem: path.read_text("utf-8") for path in paths}
    print(row(COLUMNS.split()))
    for slug, text in texts.items():
        page, ran = measure(text), seconds.get(slug)
        lines = page.words, page.visible, page.longest, page.folded, page.minutes
        ran = "" if ran is None else f"{ran:.0f}"
        star = "*" * is_optional(text)
        print(row([slug + star, *lines, ran, len(page.exercises)]))
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
