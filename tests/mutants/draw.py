"""Draw lines of the package at random and change one thing in each."""

import ast
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]

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


def sample(number: int, seed: int, folder: str, without: str = "") -> list[Mutant]:
    """One mutant each for `number` lines, drawn among all that have any."""
    by_line: dict[tuple[Path, int], list[Mutant]] = {}
    for path in sorted((ROOT / folder).rglob("*.py")):
        if without and path.is_relative_to(ROOT / without):
            continue
        source = path.read_text()
        for mutant in mutants_of(path):
            try:
                ast.parse(mutant.apply(source))
            except SyntaxError:
                continue
            by_line.setdefault((path, mutant.line), []).append(mutant)
    dice = random.Random(seed)
    lines = dice.sample(sorted(by_line), min(number, len(by_line)))
    return [dice.choice(by_line[line]) for line in lines]
