"""Read a submission, whatever wrote it, and run its cells as a notebook would.

Both happen in the sandbox: parsing a stranger's file can take for ever, too.
"""

import __future__

import ast
import asyncio
import builtins
import importlib
import inspect
import io
import itertools
import json
import linecache
import re
import sys
import time
import tokenize
import warnings
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

Guarded = Callable[[Callable[[], Any], float], str]
ENDED = "it was not run, since the process had ended in such a line"
SLICE = 1.0  # seconds that a statement still gets when exploration has had its time


@dataclass(frozen=True)
class Cell:
    """One cell: its number among those of code, and its code in plain Python."""

    number: int
    code: str

    @property
    def name(self) -> str:
        """As its author finds it: the number, and the line that it begins with."""
        lines = (line.strip() for line in self.code.splitlines())
        first = next((x for x in lines if x and not x.startswith("#")), "")
        first = first if len(first) <= 40 else first[:40] + " …"
        return f'cell {self.number} ("{first}")'


def prepare() -> None:
    """Import what reading takes, before a stranger's file is looked at."""
    for name in ("nbformat", "IPython.core.inputtransformer2"):
        importlib.import_module(name)


def read(name: str, raw: bytes) -> list[Cell]:
    """The cells of a notebook of any version, or a script as one cell.

    Raises:
        ValueError: It is neither, or says that a newer Python than this one wrote it,
            and this one can't parse a cell.
    """
    if name.lower().endswith(".py"):
        return [Cell(1, transform(_decode_script(raw)))]  # Colab's have `!pip` in them
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import nbformat

        try:
            text = raw.decode(json.detect_encoding(raw), "replace")
            notebook = nbformat.reads(text, as_version=4)
            sources = [c.source for c in notebook.cells if c.cell_type == "code"]
        except Exception as error:  # whatever nbformat thinks of it
            kind = type(error).__name__
            raise ValueError(f"it is no notebook ({kind}: {error}).") from error
    made = [Cell(n, transform(str(s))) for n, s in enumerate(sources, start=1)]
    info = notebook.metadata.get("language_info")  # which some tool left empty
    version = str(info.get("version", "")) if isinstance(info, dict) else ""
    numbers = [int(n) for n in re.findall(r"\d+", version)[:2]]
    for cell in made if numbers > [*sys.version_info[:2]] else ():
        try:
            ast.parse(cell.code)
        except SyntaxError as error:
            raise ValueError(
                f"it was written in Python {version}, and {cell.name} is no code of "
                f"Python {sys.version_info[0]}.{sys.version_info[1]}, which marks it: "
                f"{error.msg}."
            ) from None
        except (ValueError, RecursionError, MemoryError):
            continue  # said when it is run
    return made


def _decode_script(raw: bytes) -> str:
    for mark in ("utf-16", "utf-32"):
        if raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
            try:
                return raw.decode(mark)
            except UnicodeDecodeError:
                continue
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(raw).readline)
        return raw.decode(encoding)
    except (SyntaxError, UnicodeDecodeError):
        return raw.decode("latin-1")


def transform(source: str) -> str:
    """IPython's syntax in plain Python: magics, `!command`, `object?`."""
    from IPython.core.inputtransformer2 import TransformerManager

    source = source.encode("utf-8", "replace").decode("utf-8")
    # A cell that is timed is a cell; its lines stay where they are.
    timed = re.compile(r"\A(\s*)%%(time|timeit|capture|prun)\b.*")
    while timed.match(source):
        source = timed.sub(r"\1", source)
    try:
        return TransformerManager().transform_cell(source)
    except Exception:  # no cell of Python at all: its SyntaxError is said later
        return source


class Shell:
    """What `get_ipython()` returns: `%time` runs its code, most others do nothing."""

    def __init__(self, run: Callable[[str], None]):
        self.run = run
        self.user_ns: dict[str, Any] = {}

    def run_cell_magic(self, name: str, line: str, body: str) -> None:
        """`%%writefile`, whose module a later cell may import."""
        if name in ("writefile", "file"):
            *options, file = line.split()
            mode = "a" if "-a" in options or "--append" in options else "w"
            with open(file, mode, encoding="utf-8") as opened:
                opened.write(body)

    def run_line_magic(self, name: str, line: str, *more: Any) -> None:
        """`%time` and its statement, `%run` and a file that an earlier cell wrote."""
        if name == "time":
            self.run(transform(line))
        elif name == "run":
            file = next(word for word in line.split() if not word.startswith("-"))
            self.run(transform(Path(file).read_text(encoding="utf-8")))

    def getoutput(self, *command: Any) -> list[str]:
        """`!command`, whose output is nothing here."""
        return []

    def __getattr__(self, name: str) -> Callable:
        return lambda *args, **kwargs: None


class Submission:
    """The names that cells define, and what went wrong on the way.

    A statement that fails costs what depends on it, and nothing else. What only
    explores has a time of its own; definitions run whatever happens.

    Args:
        cells: As from `read`.
        guarded: Calls a function for so many seconds, and says what went wrong.
        seconds: For all exploration together; with 0 only definitions run.
        instead: Code that defines a name rightly, to take the place of the student's.
        skipped: Numbers of statements that explore and are left out, since the process
            ended in them.
        explores: Is told the number of each other one before it runs.
    """

    def __init__(
        self,
        cells: list[Cell],
        guarded: Guarded,
        seconds: float,
        instead: dict[str, str] | None = None,
        skipped: Collection[int] = (),
        explores: Callable[[int], None] = lambda _: None,
    ):
        self.module = ModuleType("__main__")
        # Dataclasses and pickle look it up; and nothing of ours stays in reach.
        sys.modules["__main__"] = self.module
        self.names = vars(self.module)
        self.names["display"] = lambda *args, **kwargs: None
        shell = Shell(self._run_within)
        self.names["get_ipython"] = lambda: shell
        setattr(builtins, "get_ipython", self.names["get_ipython"])  # noqa: B010
        if any("IPython" in cell.code for cell in cells):
            setattr(importlib.import_module("IPython"), "get_ipython", lambda: shell)  # noqa: B010
        self.flags = 0
        self.troubles: list[tuple[int, str, str]] = []  # number, cell, what went wrong
        self.lost: dict[str, str] = {}  # by the name that a failed statement binds
        self.guarded, self.left, self.instead = guarded, seconds, dict(instead or {})
        self.exploring, self.numbers = seconds > 0, itertools.count(1)
        self.skipped, self.explores = skipped, explores
        shell.user_ns = self.names
        for cell in cells:
            self.cell = cell
            self._run(cell.code, f"<cell {cell.number}>")
        for name in self.instead.keys() - self.names.keys():
            self.names[name] = self._right(name)

    def _run_within(self, code: str) -> None:
        """The body of a magic, in the middle of a cell."""
        self._run(code, f"<cell {self.cell.number}, below>")

    def _run(self, code: str, file: str) -> None:
        linecache.cache[file] = (len(code), None, code.splitlines(True), file)
        parsed: list[ast.stmt] = []

        def parse() -> None:
            allowed = ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree = compile(code, file, "exec", allowed | self.flags, True)
            parsed.extend(tree.body)

        wrong = self.guarded(parse, 60)
        if wrong:
            self._failed(wrong, _bound_in_text(code))
        failed = False
        for statement in itertools.chain.from_iterable(map(_one_by_one, parsed)):
            # Behind one that failed its author saw none run: only new names are bound.
            if not failed or bound(statement) - self.names.keys():
                failed = self._execute(statement, file) or failed

    def _execute(self, statement: ast.stmt, file: str) -> bool:
        """Run a statement, and say whether it failed."""
        if isinstance(statement, ast.ImportFrom) and statement.module == "__future__":
            for name in statement.names:
                feature = getattr(__future__, name.name, None)
                self.flags |= feature.compiler_flag if feature else 0

        def execute() -> None:
            allowed = self.flags | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
            module = ast.Module([statement], [])
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                code = compile(module, file, "exec", allowed, True)
            if code.co_flags & inspect.CO_COROUTINE:
                asyncio.run(eval(code, self.names))
            else:
                exec(code, self.names)

        names = bound(statement)
        if defines(statement):
            wrong = self.guarded(execute, 60)
        elif not self.exploring or (number := next(self.numbers)) in self.skipped:
            wrong = ENDED
        else:
            self.explores(number)
            begin = time.monotonic()
            wrong = self.guarded(execute, max(self.left, SLICE))
            self.left -= time.monotonic() - begin
        if wrong:
            self._failed(wrong, names)
        for name in names & self.instead.keys():
            self.names[name] = self._right(name)
        return bool(wrong)

    def _right(self, name: str) -> Any:
        """The right piece, defined among names of its own."""
        own = {"__name__": "solution"}
        file = f"<solution {name}>"
        exec(compile(self.instead[name], file, "exec"), own)
        return own[name]

    def _failed(self, wrong: str, names: set[str]) -> None:
        self.troubles.append((self.cell.number, self.cell.name, wrong))
        for name in names:
            self.lost[name] = f"in {self.cell.name} {wrong}"

    def missing(self, name: str) -> str:
        """Why there is no such answer."""
        text = f"the submission defines no {name}"
        if name in self.lost:
            return f"{text}: {self.lost[name]}"
        if self.troubles:
            _, cell, wrong = self.troubles[0]
            return f"{text}; in {cell} {wrong}"
        return f"{text}."

    def because(self, trouble: str) -> str:
        """A NameError's cause: the statement that should have bound the name."""
        for name, why in self.lost.items():
            if f"'{name}'" in trouble and "NameError" in trouble:
                return f"{trouble} {name} is missing because {why}"
        return trouble


def _one_by_one(statement: ast.stmt) -> list[ast.stmt]:
    """`import a, b` as two imports, since one may be missing."""
    if not isinstance(statement, ast.Import):
        return [statement]
    made = [ast.Import([name]) for name in statement.names]
    return [ast.copy_location(one, statement) for one in made]


_DEFINITIONS = (
    *(ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef),
    *(ast.ClassDef, ast.Pass),
)


def defines(statement: ast.AST) -> bool:
    """Whether it only defines: a function, a class, an import, a constant."""
    if isinstance(statement, (ast.If, ast.Try, ast.ExceptHandler)):
        blocks = ("body", "handlers", "orelse", "finalbody")
        inside = [x for block in blocks for x in getattr(statement, block, ())]
        tested = getattr(statement, "test", None)
        return not (tested and _calls(tested)) and all(map(defines, inside))
    plain = isinstance(statement, (ast.Assign, ast.AnnAssign)) and not _calls(statement)
    return plain or isinstance(statement, _DEFINITIONS)


def _calls(node: ast.AST) -> bool:
    kinds = (ast.Call, ast.ListComp, ast.Await)
    return any(isinstance(part, kinds) for part in ast.walk(node))


def bound(statement: ast.AST) -> set[str]:
    """The names that a statement binds at the top level, roughly."""
    found = set()
    for node in ast.walk(statement):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.alias):
            found.add((node.asname or node.name).partition(".")[0])
        if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
            break  # what is inside is its own
    return found


def _bound_in_text(code: str) -> set[str]:
    """The same of a cell that can't be parsed."""
    words = (line.split("(")[0].split(":")[0].split() for line in code.splitlines())
    return {w[1] for w in words if len(w) == 2 and w[0] in ("def", "class")}
