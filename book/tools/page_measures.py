"""What a page asks of its reader: words, lines of code, minutes, pictures, exercises.

Counted is the lesson; exercises and solutions come after it. Words are those of the
prose: no code, no formulas (one inside a sentence counts as a word), no captions, no
tables. Lines of code are those that aren't blank, in one of the two tabs, the longer.
A reader gets through 150 words a minute, or 15 lines of code.

Under the title a page says how long it takes, what it builds on, and what for:

    *25 minutes, and 75 for the exercises · builds on [Tokens](tokens.md) · for: the
    formula of every transformer*

or, on a page that the others do not need, `*Optional · 25 minutes, … · …*`, and on one
to look things up in, `*Appendix · 25 minutes · …*`. The tool writes the numbers.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

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

FENCE = re.compile(
    r"\s*(?P<marks>`{3,}|:{3,}|~{3,})(?:\{(?P<name>[\w:+-]+)\})?(?P<rest>.*)$"
)
# Directives whose inside is no prose, or the other framework's.
NO_PROSE = re.compile(
    r"code|math|figure|image|list-table|csv-table|table|glue|bibliography|raw|toctree|"
    r"contents|nnx|explore|exercise|solution|index"
)
SHOWN_CODE = re.compile(r"code i?python")
PICTURES = ("figure", "explore", "image", "glue:figure")
EXERCISE = re.compile(r"(?P<what>exercise|solution)(?P<edge>-start|-end)?$")
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


@dataclass(kw_only=True)
class Exercise:
    """An exercise: its title, how hard it is, and how long it may take."""

    title: str
    difficulty: str | None
    minutes: int | None
    text: list[str] = field(default_factory=list)

    @property
    def is_checked(self) -> bool:
        """Whether the reader's answer is marked by the homework checks."""
        return any(CHECKED.search(line) for line in self.text)


@dataclass(kw_only=True)
class Page:
    """What one page asks of its reader."""

    words: int  #: Of prose
    visible: int  #: Lines of code that are shown, in one tab
    folded: int  #: Lines of code behind a button
    longest: int  #: Lines of the longest cell that is shown
    figures: int  #: How many pictures there are
    #: Words until the first of them, or None without one.
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


def read_exercise(title: str) -> Exercise:
    """Read an exercise's title, `By hand: three firms · easy · 5 minutes`."""
    effort = EFFORT.search(title.strip())
    return Exercise(
        title=title.strip(),
        difficulty=effort["difficulty"] if effort else None,
        minutes=int(effort["minutes"]) if effort else None,
    )


class Lesson:
    """Goes through a page from its top and keeps count."""

    def __init__(self) -> None:
        self.prose: list[str] = []
        self.fences: list[tuple[str, str]] = []
        self.gate = ""  # "exercise" or "solution" while inside one
        self.exercises: list[Exercise] = []
        self.lines = {
            (place, tab): 0 for place in ("shown", "folded") for tab in ("torch", "nnx")
        }
        self.longest = 0
        self.figures = 0
        self.words_before_figure: int | None = None

    @property
    def inside_exercise(self) -> bool:
        """Whether this is an exercise or a solution, and no part of the lesson."""
        return bool(self.gate) or any(EXERCISE.match(name) for _, name in self.fences)

    @property
    def inside_code(self) -> bool:
        """Whether this is code that no cell runs, or a directive's options."""
        return bool(self.fences) and self.fences[-1][1].startswith("code")

    def add_figure(self) -> None:
        """Count a picture."""
        if self.inside_exercise:
            return
        if self.words_before_figure is None:
            self.words_before_figure = count_words("\n".join(self.prose))
        self.figures += 1

    def add_code(self, source: str, tags: Sequence[str]) -> None:
        """Count the lines of a cell, or of code that no cell runs."""
        if self.inside_exercise:
            self.exercises[-1].text += source.split("\n")
            return
        size = sum(bool(line.strip()) for line in source.split("\n"))
        place = "folded" if FOLDING & set(tags) else "shown"
        if place == "shown":
            self.longest = max(self.longest, size)
        for tab, other in (("torch", "nnx"), ("nnx", "torch")):
            if other not in tags:
                self.lines[place, tab] += size

    def open(self, marks: str, name: str, argument: str) -> None:
        """Enter a directive."""
        found = EXERCISE.match(name)
        if found and found["edge"] != "-end" and found["what"] == "exercise":
            self.exercises.append(read_exercise(argument))
        if found and found["edge"]:
            self.gate = found["what"] if found["edge"] == "-start" else ""
            name = "code"  # what stands in it is its options
        elif name.startswith(PICTURES):
            self.add_figure()
        elif name == "code-block":
            name = f"code {argument.strip()}"
        self.fences.append((marks, name))

    def add_line(self, line: str) -> None:
        """Take one line of Markdown."""
        fence = FENCE.match(line)
        innermost = self.fences[-1][0] if self.fences else ""
        if fence and fence["name"]:
            self.open(fence["marks"], fence["name"], fence["rest"])
        elif fence and innermost and fence["marks"].startswith(innermost):
            self.fences.pop()
        elif fence and not self.inside_code:
            self.fences.append((fence["marks"], f"code {fence['rest'].strip()}"))
        elif self.inside_exercise:
            if self.exercises:
                self.exercises[-1].text.append(line)
        elif self.inside_code:
            if SHOWN_CODE.match(self.fences[-1][1]):
                self.add_code(line, ())
        elif not any(NO_PROSE.match(name) for _, name in self.fences):
            if line.startswith("!["):
                self.add_figure()
            self.prose.append(line)

    def add_cell(self, cell: Any) -> None:
        """Take one cell of the page."""
        if cell["cell_type"] == "markdown":
            for line in cell["source"].split("\n"):
                self.add_line(line)
            return
        tags = cell["metadata"].get("tags", [])
        if cell["cell_type"] != "code" or {SETUP_TAG, CLAIMS_TAG} & set(tags):
            return
        self.add_code(cell["source"], tags)
        shown = cell["metadata"].get("mystnb", {})
        if "figure" in shown or "image" in shown:
            self.add_figure()


def measure(cells: Sequence[Any]) -> Page:
    """Measure the cells of a page. The line under its title does not count."""
    lesson = Lesson()
    for cell in cells:
        lesson.add_cell(cell)
    text = "\n".join(lesson.prose)
    sign = find_road_sign(text)
    own = count_words(sign[0]) if sign else 0
    before = lesson.words_before_figure
    return Page(
        words=count_words(text) - own,
        visible=max(lesson.lines["shown", tab] for tab in ("torch", "nnx")),
        folded=max(lesson.lines["folded", tab] for tab in ("torch", "nnx")),
        longest=lesson.longest,
        figures=lesson.figures,
        words_before_figure=None if before is None else before - own,
        exercises=lesson.exercises,
    )
