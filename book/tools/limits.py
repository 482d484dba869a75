"""Is each page one sitting? What it asks of a reader, and the limits.

    python book/tools/limits.py            # a table of all pages
    python book/tools/limits.py attention  # this page, and what is wrong with it

Counted is the lesson, up to the exercises. A minute goes by with 180 words (captions
under figures are read too), 8 lines of the code that PyTorch's tab shows, half a
displayed equation, a picture, or 30 printed lines. Seconds are those of the last
`make outputs`.

Under the title a page says how long it takes, what it builds on, and what for:

    *25 minutes, and 75 for the exercises · builds on [Tokens](tokens.md) · for: the
    formula of every transformer*

or, on a page that the others do not need, `*Optional · 25 minutes, … · …*`, and on one
to look things up in, `*Appendix · 25 minutes · …*`. The tool writes the numbers.

The limits stand here and nowhere else. One that hurts a page is a reason to cut, to
fold or to split it. The weekend is the first part of the table of contents.
"""

import argparse
import json
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
SECONDS = "_build/seconds.json"
WORDS_A_MINUTE = 180
LINES_A_MINUTE = 8
MINUTES_AN_EQUATION = 2
PRINTED_A_MINUTE = 30

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

EXERCISES = re.compile(r"^## Exercises", re.MULTILINE)
FRONT = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
CELL = re.compile(
    r"^```\{code-cell\}[^\n]*\n(?P<options>---\n.*?\n---\n)?(?P<source>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
TAGS = re.compile(r"^:?tags: \[(.*?)\]", re.MULTILINE)
# An exercise or a solution, from the directive that opens it to the one that ends it.
GATED = re.compile(
    r"^(`{3,}|:{3,})\{(?P<kind>exercise|solution)-start\}(?P<title>[^\n]*)\n"
    r".*?^(`{3,}|:{3,})\{(?P=kind)-end\}[^\n]*\n+\4$",
    re.MULTILINE | re.DOTALL,
)
PICTURE = re.compile(r"^ *(?:`{3,}|:{3,})\{(?:figure|explore|image)\}", re.MULTILINE)
DRAWN = "plt.show()"
EFFORT = re.compile(r" · (?P<difficulty>easy|medium|hard) · (?P<minutes>\d+) minutes?$")
CHECKED = re.compile(r"\bcheck\(")

NOT_WORDS = [
    r"(?s)\$\$.*?\$\$",  # a formula on its own
    r"\$[^$\n]*\$",
    r"\{[a-z:]+\}`[^`]*`",
    r"(?m)^ *(?:`{3,}|:{3,})\{.*$",  # a directive, and its options
    r"(?m)^:[a-z]+:.*$",
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

    words: int  #: Of prose, with captions
    visible: int  #: Lines of code that PyTorch's tab shows
    equations: int  #: Displayed ones
    figures: int
    printed: int  #: Lines of printed output
    bold: int  #: Terms in bold
    folded: int  #: Lines of code behind a button, and of claims
    longest: int  #: Lines of the longest cell that is shown
    #: Words until the first picture, or None without one.
    words_before_figure: int | None
    exercises: list[Exercise]  #: In their order

    @property
    def minutes(self) -> int:
        """The time that the lesson takes."""
        return round(
            self.words / WORDS_A_MINUTE
            + self.visible / LINES_A_MINUTE
            + MINUTES_AN_EQUATION * self.equations
            + self.figures
            + self.printed / PRINTED_A_MINUTE
        )


def count_words(text: str) -> int:
    """Count the words of a piece of prose, in Markdown."""
    for pattern in NOT_WORDS:
        text = re.sub(pattern, " ", text)
    return len(re.findall(r"[A-Za-z][A-Za-z'’-]*", text))


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


def read_exercises(text: str) -> list[Exercise]:
    """Read a page's exercises, with the effort that their titles name."""
    exercises: list[Exercise] = []
    for part in GATED.finditer(text):
        if part["kind"] == "exercise":
            title = part["title"].strip()
            effort = EFFORT.search(title)
            minutes = int(effort["minutes"]) if effort else None
            difficulty = effort["difficulty"] if effort else None
            exercises.append(Exercise(title, difficulty, minutes))
        exercises[-1].is_checked |= bool(CHECKED.search(part[0]))
    return exercises


def tags_of(cell: re.Match[str]) -> set[str]:
    """Read the tags of a code cell."""
    tags = TAGS.search(f"{cell['options'] or ''}\n{cell['source']}")
    return set(tags[1].replace(" ", "").split(",")) if tags else set()


def lines_of(cell: re.Match[str]) -> int:
    """Count the lines of a code cell that are neither blank nor options."""
    lines = cell["source"].splitlines()
    return sum(bool(line.strip()) and not line.startswith(":") for line in lines)


def printed_lines(notebook: dict[str, Any] | None) -> int:
    """Count the lines that a notebook's lesson prints in PyTorch's tab."""
    printed = 0
    for cell in notebook["cells"] if notebook else []:
        if cell["cell_type"] == "markdown":
            if EXERCISES.search("".join(cell["source"])):
                break
        elif not {"nnx", "remove-cell"}.intersection(cell["metadata"].get("tags", [])):
            for output in cell.get("outputs", []):
                if output["output_type"] == "stream":
                    printed += len("".join(output["text"]).splitlines())
    return printed


def measure(text: str, notebook: dict[str, Any] | None = None) -> Page:
    """Measure a page, given its text, and its notebook for what it prints."""
    start = FRONT.match(text)
    lesson = EXERCISES.split(text[start.end() if start else 0 :])[0]
    sign = find_road_sign(text)
    own = count_words(sign[0]) if sign else 0
    cells = [(tags_of(cell), cell) for cell in CELL.finditer(lesson)]
    shown = [(tags, cell) for tags, cell in cells if not FOLDING & tags]
    behind = [c for tags, c in cells if tags & {"hide-input", CLAIMS_TAG}]

    # A picture that a cell draws stands where the cell stood, one in PyTorch's tab.
    def mark(cell: re.Match[str]) -> str:
        drawn = DRAWN in cell["source"] and "nnx" not in tags_of(cell)
        return "```{figure}\n" if drawn else "\n"

    prose = CELL.sub(mark, lesson)
    before, *pictures = PICTURE.split(prose)
    directives = len(re.findall(r"```\{math\}", prose))
    return Page(
        words=count_words(prose) - own,
        visible=sum(lines_of(cell) for tags, cell in shown if "nnx" not in tags),
        equations=len(re.findall(r"(?m)^\$\$", prose)) // 2 + directives,
        figures=len(pictures),
        printed=printed_lines(notebook),
        bold=len(re.findall(r"\*\*[^*\n]+\*\*", prose)),
        folded=sum(map(lines_of, behind)),
        longest=max((lines_of(cell) for _, cell in shown), default=0),
        words_before_figure=count_words(before) - own if pictures else None,
        exercises=read_exercises(text),
    )


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The most, or for exercises the least, that a page may have of each."""

    minutes: int
    words: int
    visible: int
    longest: int
    equations: int
    printed: int
    bold: int
    folded: int
    words_before_figure: int
    seconds: int
    exercises: int


ROAD = Limits(
    minutes=27,
    words=1600,
    visible=80,
    longest=25,
    equations=4,
    printed=30,
    bold=8,
    folded=120,
    words_before_figure=250,
    seconds=15,
    exercises=4,
)
WHOLE_MODEL = replace(ROAD, minutes=30, seconds=30)
OPTIONAL = Limits(
    minutes=40,
    words=2400,
    visible=160,
    longest=30,
    equations=6,
    printed=60,
    bold=11,
    folded=240,
    words_before_figure=10_000,
    seconds=90,
    exercises=2,
)
SPECIAL = {
    **dict.fromkeys(("block", "masking", "gpt", "generation"), WHOLE_MODEL),
    **dict.fromkeys(("peers", "forecasting", "recurrence", "scale"), WHOLE_MODEL),
    **dict.fromkeys(("bert", "seq2seq", "vit", "modern-block"), WHOLE_MODEL),
    **dict.fromkeys(("kv-cache", "pretrained", "text-as-data"), WHOLE_MODEL),
    "recap": replace(ROAD, equations=6, exercises=0),
}
APPENDIX = replace(OPTIONAL, minutes=90, words=9000, bold=200, exercises=0)
MOST_EXERCISES = 6


def weekend(root: Path = ROOT) -> list[str]:
    """List the slugs of the weekend, the first part of the table of contents."""
    toc = yaml.safe_load((root / "_toc.yml").read_text("utf-8"))
    names = [entry["file"] for entry in toc["parts"][0]["chapters"]]
    texts = {name: (root / f"{name}.md").read_text("utf-8") for name in names}
    return [Path(name).stem for name in names if not is_optional(texts[name])]


def limits_of(slug: str, text: str) -> Limits:
    """Choose what holds for a page, by what it calls itself."""
    usual = {"Optional": OPTIONAL, "Appendix": APPENDIX}.get(kind_of(text) or "", ROAD)
    return SPECIAL.get(slug, usual)


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


def find_faults(
    text: str,
    seconds: float | None = None,
    notebook: dict[str, Any] | None = None,
    limits: Limits = ROAD,
) -> list[str]:
    """Say which limits a page passes, which runs for `seconds` where that is known."""
    page, sign = measure(text, notebook), find_road_sign(text)
    before = page.words_before_figure or 0
    faults = [
        f"{got} {what}, and {most} are the most"
        for what, got, most in (
            ("minutes", page.minutes, limits.minutes),
            ("words of prose", page.words, limits.words),
            ("visible lines of code", page.visible, limits.visible),
            ("lines in a visible cell", page.longest, limits.longest),
            ("displayed equations", page.equations, limits.equations),
            ("printed lines", page.printed, limits.printed),
            ("terms in bold", page.bold, limits.bold),
            ("folded lines of code", page.folded, limits.folded),
            ("words before the first picture", before, limits.words_before_figure),
            ("seconds", round(seconds or 0), limits.seconds),
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
    if limits.exercises == ROAD.exercises:
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


def read_notebook(path: Path) -> dict[str, Any] | None:
    """Read the notebook beside a page's text, if there is one."""
    path = path.with_suffix(".ipynb")
    return json.loads(path.read_text("utf-8")) if path.exists() else None


def read_seconds(root: Path) -> dict[str, float]:
    """Read how long the pages ran, by slug, when they were last compared."""
    path = root / SECONDS
    return json.loads(path.read_text("utf-8")) if path.exists() else {}


COLUMNS = "page words code printed equations figures bold folded minutes seconds"


def row(cells: Sequence[object]) -> str:
    """Write a line of the table."""
    return f"{cells[0]:<24}" + "".join(f"{cell!s:>10}" for cell in cells[1:])


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
    road, seconds = weekend(options.root), read_seconds(options.root)
    print(row(COLUMNS.split()))
    faults, sum_of_road = {}, 0
    for path in paths:
        slug, text, notebook = path.stem, path.read_text("utf-8"), read_notebook(path)
        page, ran = measure(text, notebook), seconds.get(slug)
        counts = page.words, page.visible, page.printed, page.equations, page.figures
        last = page.bold, page.folded, page.minutes, "" if ran is None else round(ran)
        print(row([slug + "*" * is_optional(text), *counts, *last]))
        sum_of_road += page.minutes if slug in road else 0
        holds = limits_of(slug, text)
        faults[slug] = find_faults(text, ran, notebook, holds)
    if not options.slug:
        print(f"\nThe weekend, {len(road)} pages: {sum_of_road} minutes.")
        return 0
    for slug, found in faults.items():
        print(f"\n{slug}: " + ("within its limits" if not found else ""))
        print("".join(f"- {fault}\n" for fault in found), end="")
    return 1 if any(faults.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
