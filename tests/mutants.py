"""Do the tests notice a slip? Break single lines of the package and see.

`python tests/mutants.py --number 200 --seed 0` draws lines of `course_lib` at random,
changes one thing in each (`<` to `<=`, `+` to `-`, a call left out, ...) and runs the
tests that belong to the file. A mutant that no test fails is a survivor: either the
change makes no difference, or a test is missing. Which of the two, a person decides.

Not part of `make test`: a mutant takes up to some minutes.
"""

import argparse
import ast
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
LIMIT = 900  # seconds for the tests of one mutant

SWAPS = {
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=",
    ast.NotEq: "==", ast.Is: "is not", ast.IsNot: "is", ast.In: "not in",
    ast.NotIn: "in", ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*",
    ast.FloorDiv: "*", ast.Mod: "//", ast.Pow: "*", ast.And: "or", ast.Or: "and",
    ast.BitAnd: "|", ast.BitOr: "&",
}  # fmt: skip


class Mutant(NamedTuple):
    """One change: `old` at `start` of a line becomes `new`."""

    path: Path
    line: int
    start: int
    end: int
    new: str

    def apply(self, source: str) -> str:
        return source[: self.start] + self.new + source[self.end :]


def mutants_of(path: Path) -> Iterator[Mutant]:
    """All mutants of a file. Annotations and docstrings are left alone."""
    source = path.read_text()
    begins = [0]
    for line in source.encode().splitlines(keepends=True):
        begins.append(begins[-1] + len(line))
    raw = source.encode()

    def place(line: int, column: int) -> int:
        return len(raw[: begins[line - 1] + column].decode())

    def text(node: ast.AST) -> str:
        return ast.get_source_segment(source, node) or ""

    def mutant(node: ast.AST, new: str) -> Mutant:
        start = place(node.lineno, node.col_offset)
        end = place(node.end_lineno, node.end_col_offset)
        return Mutant(path, node.lineno, start, end, new)

    def between(left: ast.AST, right: ast.AST, new: str) -> Mutant:
        start = place(left.end_lineno, left.end_col_offset)
        end = place(right.lineno, right.col_offset)
        middle = source[start:end]
        closing, opening = middle.count(")"), middle.count("(")
        glue = f"{')' * closing} {new} {'(' * opening}"
        return Mutant(path, left.end_lineno, start, end, glue)

    for node in _code(ast.parse(source)):
        match node:
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                yield between(left, right, SWAPS[type(op)])
            case ast.BinOp(left=left, op=op, right=right) if type(op) in SWAPS:
                yield between(left, right, SWAPS[type(op)])
            case ast.BoolOp(op=op, values=[left, right, *_]):
                yield between(left, right, SWAPS[type(op)])
            case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
                yield mutant(node, f"({text(operand)})")
            case ast.Constant(value=bool(value)):
                yield mutant(node, str(not value))
            case ast.Constant(value=int(value)):
                yield mutant(node, str(value + 1))
            case ast.Constant(value=float(value)):
                yield mutant(node, str(2 * value or 1.0))
            case ast.If(test=test) | ast.IfExp(test=test):
                yield mutant(test, f"(not ({text(test)}))")
            case ast.Raise() | ast.Expr(value=ast.Call()):
                yield mutant(node, "pass")
            case ast.AugAssign(target=target, value=value):
                yield mutant(node, f"{text(target)} = {text(value)}")
            case ast.Call(args=[only], keywords=[]) if not isinstance(
                only, ast.Starred
            ):
                yield mutant(node, f"({text(only)})")
            case ast.Call(keywords=[_, *_] as keywords):
                for keyword in keywords:
                    rest = source[: place(keyword.end_lineno, keyword.end_col_offset)]
                    comma = re.match(r"\s*,", source[len(rest) :])
                    whole = mutant(keyword, "")
                    yield whole._replace(end=whole.end + (comma.end() if comma else 0))


def _code(node: ast.AST) -> Iterator[ast.AST]:
    """Every node below, but for docstrings, annotations and f-strings."""
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list", "exc"):
            continue  # nor is the text of an error
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not isinstance(child, ast.JoinedStr):
                yield child
                yield from _code(child)


def tests_of(path: Path) -> list[str]:
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


def sample(number: int, seed: int, folder: str, without: str = "") -> list[Mutant]:
    """One mutant each for `number` lines, drawn among all that have any."""
    by_line: dict[tuple[Path, int], list[Mutant]] = {}
    for path in sorted((ROOT / folder).rglob("*.py")):
        if without and path.is_relative_to(ROOT / without):
            continue
        for mutant in mutants_of(path):
            try:
                ast.parse(mutant.apply(path.read_text()))
            except SyntaxError:
                continue
            by_line.setdefault((path, mutant.line), []).append(mutant)
    dice = random.Random(seed)
    lines = dice.sample(sorted(by_line), min(number, len(by_line)))
    return [dice.choice(by_line[line]) for line in lines]


class Order:
    """A wing's slip is left to its own tests; elsewhere NNX, which compiles, waits."""

    def __init__(self, path: Path):
        room = path.relative_to(ROOT).parts[1]
        self.other = {"torch": "nnx", "nnx": "torch"}.get(room, "")

    def pytest_collection_modifyitems(self, items: list) -> None:
        def wings(item) -> list[str]:
            return item.callspec.id.split("-") if hasattr(item, "callspec") else []

        if self.other:
            items[:] = [item for item in items if self.other not in wings(item)]
        items.sort(key=lambda item: "nnx" in wings(item) and not self.other)


def run_tests(scratch: Path, mutant: Mutant, log: Path) -> str:
    """Run its tests in a fork of this process, which has the frameworks in memory."""
    child = os.fork()
    if child == 0:
        os.setsid()
        with log.open("w") as output:
            os.dup2(output.fileno(), 1)
            os.dup2(output.fileno(), 2)
        os.chdir(scratch)
        sys.path.insert(0, str(scratch))
        code = 70  # no verdict: pytest itself broke off
        try:
            import pytest

            options = ["-x", "-q", "-p", "no:cacheprovider"]
            tests = tests_of(mutant.path)
            code = pytest.main([*options, *tests], plugins=[Order(mutant.path)])
        finally:
            os._exit(code)
    deadline = time.monotonic() + LIMIT
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            code = os.waitstatus_to_exitcode(status)
            return {0: "survived", 1: "killed"}.get(code, "broken")
        time.sleep(0.1)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "too slow"


def main() -> None:
    """Draw, try, and print every survivor with its change."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--number", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", default="course_lib")
    parser.add_argument("--without", default="", help="a folder to leave out")
    parser.add_argument("--skip", type=int, default=0, help="go on after so many")
    options = parser.parse_args()

    drawn = sample(options.number, options.seed, options.folder, options.without)
    drawn = drawn[options.skip :]
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder) / "copy"
        tracked = subprocess.check_output(["git", "ls-files"], cwd=ROOT, text=True)
        for name in tracked.splitlines():
            (scratch / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, scratch / name)
        os.environ["PYTHONPATH"] = str(scratch)
        for framework in ("torch", "jax", "flax.nnx", "optax", "scipy"):
            __import__(framework)

        log = Path(folder) / "log"
        if run_tests(scratch, drawn[0], log) != "survived":
            sys.exit(f"The tests fail without any mutant:\n{log.read_text()}")
        counts: dict[str, int] = {}
        for number, mutant in enumerate(drawn, start=options.skip + 1):
            name = mutant.path.relative_to(ROOT)
            source = mutant.path.read_text()
            (scratch / name).write_text(mutant.apply(source))
            began = time.monotonic()
            verdict = run_tests(scratch, mutant, log)
            (scratch / name).write_text(source)
            counts[verdict] = counts.get(verdict, 0) + 1
            old = " ".join(source[mutant.start : mutant.end].split())
            new = " ".join(mutant.new.split()) or "nothing"
            seconds = time.monotonic() - began
            print(f"{number:4} {verdict:8} {seconds:4.0f} s  {name}:{mutant.line}  "
                  f"{old} -> {new}", flush=True)  # fmt: skip
        total = sum(counts.values())
        print(f"{total} mutants:", ", ".join(f"{n} {v}" for v, n in counts.items()))


if __name__ == "__main__":
    main()
