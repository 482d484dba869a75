"""Which of the numbers that a cell printed without a point were floats.

A slope that `f"slope {x:.0f}"` prints looks like a count and rounds like a float. The
formats in the cell's code tell them apart: each is turned into a pattern of what it
prints, and where this fits a stored output, the places of floats are known. A count in
the same line has a place of its own and remains a count. So does any number that no
pattern reaches, such as one that `round` or `int` has made.
"""

import ast
import re
from collections.abc import Iterator, Sequence
from string import Formatter

NUMBER = re.compile(
    r"(?<![\w.])[+\-\u2212]?"
    r"(?:\d{1,3}(?:,\d{3})+(?:\.\d*)?(?!,?\d)|\d+\.\d*|\.\d+|\d+)"
    r"(?:[eE][+\-]?\d+)?(?!\w)"
)
ANY = ".*?"
COUNT = r" *[+\-]?[\d,]+ *"
SHOWN = rf" *(?:{NUMBER.pattern}|-?inf|nan) *"
FLOAT = f"({SHOWN})"


def whole_floats(text: str, source: str, page: Sequence[str] = ()) -> set[int]:
    """Find the floats that were printed without decimals.

    Args:
        text: What the cell printed.
        source: Its code.
        page: The code of all cells of its page, for formats that it uses of others.

    Returns:
        Their places among the numbers of the text.
    """
    found: set[int] = set()
    for pattern in patterns(source, page):
        for match in re.finditer(pattern, text, re.MULTILINE):
            spans = [match.span(group) for group in range(floats(pattern) + 1)]
            for place, number in enumerate(NUMBER.finditer(text)):
                digits = number[0].rstrip(".")  # the point of a sentence, as in `is 5.`
                start, end = number.start(), number.start() + len(digits)
                inside = [a <= start and end <= b for a, b in spans]
                if inside[0]:
                    found.discard(place)
                if any(inside[1:]) and "." not in digits:
                    found.add(place)
    return found


def patterns(source: str, page: Sequence[str]) -> list[str]:
    """List what a cell prints, as patterns; of those that fit, the last decides.

    It is the one with most words of its own; between two, the one without a float.
    """
    code = code_of(source, page)
    nodes = [node for part in code for node in ast.walk(part)]
    open_ended = any(isinstance(n, ast.keyword) and n.arg == "end" for n in nodes)
    found = {p for part in code for p in printed(part, "" if open_ended else "^")}
    # A number alone could stand anywhere, and so could any text.
    found = {p for p in found if p.strip("\\ $") != FLOAT and (floats(p) or words(p))}
    return sorted(found, key=lambda p: (len(words(p)), not floats(p), p))


def floats(pattern: str) -> int:
    """Count a pattern's places for floats without decimals."""
    return re.compile(pattern).groups


def words(pattern: str) -> str:
    """Keep of a pattern what it says of its own."""
    fields = "|".join(map(re.escape, (FLOAT, SHOWN, ANY, "\\")))
    return re.sub(fields, "", pattern).strip("^ $")


def code_of(source: str, page: Sequence[str]) -> list[ast.AST]:
    """Give a cell's code, and the functions and texts of its page that it uses."""
    bound: dict[str, list[ast.AST]] = {}
    for statement in (s for other in page for s in parse(other).body):
        for name in names_of(statement):
            bound.setdefault(name, []).append(statement)
    parts: list[ast.AST] = [parse(source)]
    for part in parts:  # it grows meanwhile
        for node in ast.walk(part):
            if isinstance(node, ast.Name):
                parts += bound.pop(node.id, [])
    return parts


def parse(source: str) -> ast.Module:
    """Read a cell's code; one with IPython's commands prints no numbers."""
    try:
        return ast.parse(source)
    except SyntaxError:
        return ast.Module([], [])


def names_of(statement: ast.stmt) -> list[str]:
    """Name the function, the class or the variables that a statement makes."""
    match statement:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            return [name]
        case ast.Assign(targets=targets):
            nodes = (node for target in targets for node in ast.walk(target))
            return [node.id for node in nodes if isinstance(node, ast.Name)]
    return []


def printed(node: ast.AST, start: str) -> Iterator[str]:
    """Give the pattern of each line that code prints, and of formats elsewhere in it.

    Args:
        node: The code.
        start: What a printed line begins with.
    """
    pattern, inner = pattern_of(node), [*ast.iter_child_nodes(node)]
    match node:
        case ast.Call(func=ast.Name("print"), args=args, keywords=keywords):
            given = {k.arg: pattern_of(k.value) for k in keywords}
            line = given.get("sep", " ").join(map(pattern_of, args))
            yield start + line + ("" if "end" in given else "$")
            inner = [arg for arg in args if pattern_of(arg) == ANY]
        case ast.Constant(value=str(text)):
            pattern = of_format(text)
    if floats(pattern):
        yield pattern
    if pattern == ANY:
        for each in inner:
            yield from printed(each, start)


def pattern_of(node: ast.AST) -> str:
    """Turn an expression into a pattern of the text that it gives."""
    match node:
        case ast.Constant(value=str(text)):
            return re.escape(text)
        case ast.JoinedStr(values=values):
            return "".join(map(pattern_of, values))
        case ast.FormattedValue(value=value, format_spec=spec):
            return field(ast.unparse(spec)[2:-1]) if spec else pattern_of(value)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            both = pattern_of(left), pattern_of(right)
            return ANY if both == (ANY, ANY) else "".join(both)
        case ast.Call(func=ast.Attribute(ast.Constant(str(text)), "format")):
            return of_format(text)
        case ast.Call(
            func=ast.Attribute(ast.Constant(str(between)), "join"),
            args=[ast.GeneratorExp(elt=each) | ast.ListComp(elt=each)],
        ):
            return repeated(pattern_of(each), re.escape(between))
        case ast.Starred(ast.GeneratorExp(elt=each) | ast.ListComp(elt=each)):
            return repeated(pattern_of(each), " ")
    return ANY


def of_format(text: str) -> str:
    """Turn a text with fields for `str.format` into a pattern."""
    try:
        fields = [*Formatter().parse(text)]
    except ValueError:  # braces that are no fields
        return re.escape(text)
    return "".join(
        re.escape(before) + ("" if name is None else field(spec or ""))
        for before, name, spec, _ in fields
    )


def repeated(pattern: str, between: str) -> str:
    """Let a pattern come several times: all in it are floats, if none is a count."""
    each = pattern.replace(FLOAT, SHOWN)
    several = f"(?:{each}(?:{between})?)+"
    return f"({several})" if each != pattern and COUNT not in each else several


def field(spec: str) -> str:
    """Say what a format's field prints, such as `8.0f` or `.{digits}f`."""
    kind, decimals = spec[-1:], re.search(r"\.([1-9]\d*)[f%]$", spec)
    if decimals:
        return rf" *(?:[+\-]?[\d,]+\.\d{{{decimals[1]}}}|-?inf|nan) *{kind.strip('f')}"
    if kind in {"f", "%"}:
        return FLOAT + kind.strip("f")
    return {"d": COUNT, "e": SHOWN, "g": SHOWN}.get(kind, ANY)
