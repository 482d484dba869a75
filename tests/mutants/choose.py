"""Which tests could notice a change: those that execute the line, quick ones first."""

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

from coverage import CoverageData
from draw import ROOT, Mutant

FIRST = 40  # tests that are tried before all others
EVERYTHING = range(1, 100_000)


class Batch(NamedTuple):
    """Test files, and which of their tests: all where none is named."""

    files: list[str]
    wanted: frozenset[str] = frozenset()


class Executed:
    """What `make executed` wrote down: who executes a line, and how long each takes."""

    def __init__(self, contexts: Path, times: Path):
        self.data = CoverageData(str(contexts))
        self.data.read()
        self.seconds = dict(map(_timed, ElementTree.parse(times).iter("testcase")))

    def tests(self, path: Path, lines: Iterable[int]) -> list[str]:
        """The tests that execute one of the lines: the file's own, then quick ones."""
        by_line = self.data.contexts_by_lineno(str(path))
        names = set()
        for test, _, phase in (
            name.rpartition("|") for line in lines for name in by_line.get(line, [])
        ):
            # A fixture may be shared, and is set up in the first test that wants it.
            shared = self.seconds if phase == "setup" else ()
            file = test.partition("::")[0]
            names |= {test, *(other for other in shared if other.startswith(file))}
        own = f"test_{path.stem}"

        def rank(test: str) -> tuple[bool, float]:
            return own not in test, self.seconds.get(test, 0.0)

        return sorted(names.intersection(self.seconds), key=rank)


def _timed(case: ElementTree.Element) -> tuple[str, float]:
    file = case.get("classname", "").replace(".", "/") + ".py"
    return f"{file}::{case.get('name')}", float(case.get("time", 0))


def batches(mutant: Mutant, executed: Executed) -> Iterator[Batch]:
    """What to run, one batch after the other, until a test fails."""
    path = mutant.path
    lines = _run_together(path, mutant.line)
    direct = executed.tests(path, lines)
    tests = direct or executed.tests(path, EVERYTHING)
    yield from (_batch(part) for part in (tests[:FIRST], tests[FIRST:]) if part)
    # What runs as a module is read, or in a process of its own, leaves no trace. A
    # default stands in a line that does not run: the wings are asked for theirs.
    if lines == EVERYTHING or not direct:
        yield Batch(tests_by_name(path))
    elif mutant.line not in lines:
        yield Batch(["tests/test_mirror.py"])


def _batch(tests: list[str]) -> Batch:
    files = dict.fromkeys(test.partition("::")[0] for test in tests)
    return Batch(list(files), frozenset(tests))


def _run_together(path: Path, line: int) -> range:
    """The lines whose run shows that this one counts: those of its statement.

    For a default of an argument it is the function's body; for what stands in no
    function, the whole file.
    """
    nodes = ast.walk(ast.parse(path.read_text()))  # what is walked later lies deeper
    around = [
        node
        for node in nodes
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or 0)
    ]
    if not any(isinstance(node, ast.FunctionDef) for node in around):
        return EVERYTHING
    last = around[-1]
    end = (last.end_lineno or 0) + 1
    body = getattr(last, "body", None)
    if isinstance(last, ast.FunctionDef):
        return range(last.body[0].lineno, end)
    return range(last.lineno, max(last.lineno + 1, body[0].lineno) if body else end)


def tests_by_name(path: Path) -> list[str]:
    """Test files for a module: its own, its users', and those that name either."""
    stem, room = path.stem.replace("_", ""), path.parent.name
    defined = _defined(path)
    modules = {
        module.stem.replace("_", ""): module
        for module in (ROOT / "course_lib").rglob("*.py")
        if module.name != "__init__.py" and not defined.isdisjoint(_imports(module))
    }
    users = modules.keys()
    names = defined.union(*map(_defined, modules.values()))
    words = re.compile(r"\b(" + "|".join(sorted(names) or [room]) + r")\b")
    ranked = []
    for test in sorted((ROOT / "tests").rglob("test_*.py")):
        if test.is_relative_to(ROOT / "tests" / "book"):
            continue
        own = stem in test.stem.replace("_", "")
        used = any(user in test.stem.replace("_", "") for user in users)
        near = used or test.parent.name == room or room in test.stem
        text = test.read_text()
        if own or near or words.search(text):
            slow = "subprocess" in text  # each starts Python anew
            ranked.append((not own, slow, not near, len(text), test))
    mirror = ROOT / "tests" / "test_mirror.py"
    ranked.append((True, True, True, float("inf"), mirror))
    files = [str(test.relative_to(ROOT)) for *_, test in sorted(ranked)]
    return list(dict.fromkeys(files))


def _defined(path: Path) -> set[str]:
    """The functions and classes that a module has for others."""
    return {
        node.name
        for node in ast.parse(path.read_text()).body
        if isinstance(node, (ast.FunctionDef, ast.ClassDef))
        and not node.name.startswith("_")
    }


def _imports(path: Path) -> set[str]:
    """The names that a module takes from others."""
    nodes = ast.walk(ast.parse(path.read_text()))
    found = (node.names for node in nodes if isinstance(node, ast.ImportFrom))
    return {alias.name for names in found for alias in names}
