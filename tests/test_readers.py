"""A name needs a reader, and an option one who sets it: what tests alone use goes.

A reader is code outside the name's own file and its mirror in the other wing: on a
page, run or shown, in a master, a script, a benchmark or another module of the package.
A word in a sentence is none. A class is also read through what returns, makes or holds
it in its own file. The oracle is left out, since it is there for the tests.

A call sets an option by its keyword or its place. So does a file that names what has
the option, by a key of a dictionary, or by a keyword of what isn't ours. A subclass
speaks for its base, and what passes `**options` on for what takes them.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PLACES = ("book/**/*.md", "homework/*.md", "book/**/*.py", "homework/**/*.py")
PLACES += ("benchmarks/*.py", "course_lib/**/*.py")
# Modules of `extra` that one page alone needs, and why they don't stand on it.
ONE_PAGE: dict[str, str] = {}
# Why some options stay that nobody sets. Both tables may only shrink: what is no longer
# needed in them fails too.
UNSET = {
    "it writes the text of generate": ("stream(seed) stream(use_cache) stream(crop)"),
    "tests prove on small economies what a page takes from large ones": (
        "economy(n_firms)"
    ),
}
FAR = 99  # the place of what has none
Definition = ast.FunctionDef | ast.ClassDef


class File:
    """What a file defines, what it reads, and what it sets."""

    def __init__(self, path: str, text: str):
        self.path = path
        self.room = one_wing(path.removesuffix(".py").replace("/", "."))
        self.tree = ast.parse(cells(text) if path.endswith(".md") else text)
        self.known: dict[str, str] = {}  # its words for rooms and names of ours
        self.reads: dict[str, set[str]] = defaultdict(set)  # a name, and rooms or ""
        self.calls: list[tuple[str, int, set[str]]] = []  # what, places, keywords
        self.keys: set[object] = set()  # of dictionaries and of the hub's tables
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import | ast.ImportFrom):
                room = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
                for x in node.names:
                    self.known[x.asname or x.name] = one_wing(room + x.name)
        for node in ast.walk(self.tree):
            self.note(node)

    def note(self, node: ast.AST) -> None:
        if isinstance(node, ast.Name):
            room, _, name = self.known.get(node.id, "").rpartition(".")
            self.reads[name].add(room)
        elif isinstance(node, ast.Attribute):
            first, *rest = ast.unparse(node.value).split(".")
            room = ".".join([self.known[first], *rest]) if first in self.known else ""
            self.reads[node.attr].add(one_wing(room))
        elif isinstance(node, ast.Call):
            partial = last(node.func) == "partial"
            what = node.args if partial else [node.func, *node.args]
            places = FAR if any(isinstance(x, ast.Starred) for x in what) else len(what)
            keywords = {k.arg or f"**{ast.unparse(k.value)}" for k in node.keywords}
            self.calls.append((last(what[0]), places - 1, keywords))
        elif isinstance(node, ast.Dict):
            both = (*node.keys, *node.values)
            self.keys |= {x.value for x in both if isinstance(x, ast.Constant)}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            if ".hub." in self.room:
                self.keys |= set(node.value.split())
            elif " -> " in node.value:  # the edit of a slip
                for word in re.findall(r"\w+", node.value):
                    self.reads[word].add("")

    def names(self, file: "File", name: str) -> bool:
        rooms = self.reads[name]
        return "" in rooms or any(f"{file.room}.".startswith(f"{r}.") for r in rooms)


def cells(page: str) -> str:
    """The code of a page: its cells without their options, and what it shows."""
    code = re.findall(r"(?sm)^```(?:\{code-cell\}|python).*?\n(.*?)^```$", page)
    text = re.sub(r"(?m)^---\n(.*\n)*?---$|^:\w.*$", "", "\n".join(code))
    return re.sub(r"(?m)^( *)%.*", r"\1pass", text)


def last(node: ast.AST) -> str:
    return ast.unparse(node).split(".")[-1]


def one_wing(dotted: str) -> str:
    return re.sub(r"^course_lib\.nnx\b", "course_lib.torch", dotted)


@pytest.fixture(scope="module")
def files() -> list[File]:
    paths = {path for place in PLACES for path in ROOT.glob(place)}
    paths = {p.relative_to(ROOT).as_posix() for p in paths if "_build" not in p.parts}
    return [File(p, (ROOT / p).read_text("utf-8")) for p in sorted(paths)]


def public(files: Iterable[File]) -> list[tuple[File, Definition]]:
    """Functions and classes of the package whose names begin with no underscore."""
    return [
        (file, node)
        for file in files
        if file.path.startswith("course_lib/") and ".oracle" not in file.room
        for node in file.tree.body
        if isinstance(node, Definition) and not node.name.startswith("_")
    ]


def unread(files: list[File]) -> set[str]:
    left = public(files)
    through = defaultdict(set)  # by file, the words of what is read
    while True:
        found = [
            (file, node)
            for file, node in left
            if any(f.names(file, node.name) for f in files if f.room != file.room)
            or (isinstance(node, ast.ClassDef) and node.name in through[file.path])
        ]
        if not found:
            return {f"{file.path}: {node.name}" for file, node in left}
        for file, node in found:
            left.remove((file, node))
            through[file.path] |= set(re.findall(r"\w+", ast.unparse(node)))


def fields(node: ast.AST) -> list[ast.AnnAssign]:
    return [x for x in getattr(node, "body", []) if isinstance(x, ast.AnnAssign)]


def options(
    node: Definition, held: dict[str, set[str]]
) -> Iterator[tuple[str, str, int]]:
    """What is called, each of its options, and the option's place."""
    bases = node.bases if isinstance(node, ast.ClassDef) else []
    inherited = set().union(*(held.get(last(base), ()) for base in bases))
    if any("frozen" in ast.unparse(d) for d in node.decorator_list):
        for place, x in enumerate(fields(node)):
            if x.value and last(x.target) not in inherited:
                yield node.name, last(x.target), place
    said = {"__init__": node.name, "__call__": "forward"}
    for f in node.body if isinstance(node, ast.ClassDef) else [node]:
        if isinstance(f, ast.FunctionDef):
            name = said.get(f.name, f.name)
            places = [a.arg for a in f.args.args if a.arg not in ("self", "cls")]
            first = len(places) - len(f.args.defaults)
            yield from ((name, x, i) for i, x in enumerate(places[first:], first))
            named = zip(f.args.kwonlyargs, f.args.kw_defaults, strict=True)
            yield from ((name, a.arg, FAR) for a, default in named if default)


def speakers(files: list[File]) -> dict[str, set[str]]:
    """Who sets options for whom: subclasses, and what passes its `**options` on."""
    found: dict[str, set[str]] = defaultdict(set)
    for file in files:
        for node in ast.walk(file.tree):
            if isinstance(node, ast.ClassDef):
                for base in node.bases:
                    found[last(base)].add(node.name)
            elif isinstance(node, ast.FunctionDef) and node.args.kwarg:
                passed = f"**{node.args.kwarg.arg}"
                for what, _, keywords in File("", ast.unparse(node)).calls:
                    if passed in keywords:
                        found[what].add(node.name)
    return found


def unset(files: list[File]) -> set[str]:
    every, through = public(files), speakers(files)
    ours = {node.name for _, node in every}
    held = {n.name: {last(x.target) for x in fields(n)} for _, n in every}
    given: dict[str, set[str]] = defaultdict(set)  # by what is called
    places: dict[str, int] = defaultdict(int)
    loose: dict[str, set[object]] = {}  # by file
    for f in files:
        for what, n, keywords in f.calls:
            given[what] |= keywords
            places[what] = max(places[what], n)
        loose[f.path] = f.keys.union(*(k for w, _, k in f.calls if w not in ours))
    inside = [f for f in files if f.path.startswith("course_lib/")]
    package = set().union(*(loose[f.path] for f in inside))
    spread = {
        what for f in inside for what, _, k in f.calls if any("**" in x for x in k)
    }
    given["forward"] = set().union(*given.values())  # a model is called by any name

    def is_set(file: File, name: str, what: str, option: str, place: int) -> bool:
        names = {what, *through[what]}.union(*(through[name] for name in through[what]))
        words = set().union(*(given[name] for name in names))
        if option in words or place < places[what]:
            return True
        if what in spread and option in package:  # a dictionary made elsewhere
            return True
        able = (f for f in files if f is file or f.names(file, name))
        return any(option in loose[f.path] for f in able)

    return {
        f"{what}({option})"
        for file, node in every
        for what, option, place in options(node, held)
        if what[0] != "_" and option[0] != "_" and option != "rngs"
        if not is_set(file, node.name, what, option, place)
    }


def of_one_page(files: list[File]) -> set[str]:
    """Modules of `extra` that serve one page at most and no model."""
    users: dict[str, set[str]] = defaultdict(set)
    for file, node in public(files):
        if file.room.startswith("course_lib.torch.extra."):
            others = [f for f in files if f.room != file.room]
            found = [f for f in others if f.names(file, node.name)]
            pages = {f.path for f in found if f.path.endswith(".md")}
            rooms = {f.room for f in found if f.room.startswith("course_lib.torch.")}
            model = any(".extra." not in room for room in rooms)
            users[file.room.split(".")[-1]] |= {"a", "model"} if model else pages
    return {name for name, found in users.items() if len(found) < 2}


def test_every_public_name_has_a_reader(files):
    assert unread(files) == set()


def test_every_option_is_set(files):
    assert unset(files) == set(" ".join(UNSET.values()).split())


def test_what_one_page_needs_stands_on_it_or_says_why(files):
    assert of_one_page(files) == set(ONE_PAGE)


PLANTED = """
def read(x, *, given=1, unset=2): ...
def unread(x): ...
class Made: ...
def make() -> Made: ...
"""
PAGE = """
`planted.unread(1)` and `unset=3` are words of a sentence.
```{code-cell}
from course_lib import planted
def unread(x): ...
planted.read(unread(1), given=2)
other(planted.make(), unset=3)
```
"""


def test_what_is_planted_is_found(files):
    planted = File("course_lib/planted.py", PLANTED)
    page, test = File("book/page.md", PAGE), "course_lib/planted.py: "
    assert unread([planted, page]) == {test + "unread"}
    assert unset([planted, page]) == set()  # `other` might be given it for `read`
    page = File("book/page.md", PAGE.replace("other(", "planted.make("))
    assert unset([planted, page]) == {"read(unset)"}
    assert unread([planted]) == {test + x for x in ("read", "unread", "Made", "make")}
