"""Which module of the package has a name that a page writes, such as `data.grammar`.

All of it is read from the source, without importing a framework.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

PACKAGE = "course_lib"
WINGS = ("torch", "nnx")
IMPORT = re.compile(r"^\s*import (course_lib[\w.]*) as (\w+)", re.MULTILINE)
FROM = re.compile(r"^\s*from (course_lib[\w.]*) import (\([^)]*\)|[^\n(]*)", re.M)
DEFINED = re.compile(r"^\s*(?:class|def) (\w+)", re.MULTILINE)
CELL = re.compile(r"^```\{code-cell\}.*?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# What prose calls the wings and the rooms.
USUAL = "import course_lib.torch as ct\nimport course_lib.nnx as cn\n"
USUAL += "from course_lib import data, hub, oracle, plot\n"


@dataclass(frozen=True)
class Module:
    """A public module: what it says of itself, and what it defines."""

    name: str  # course_lib.torch.gpt
    doc: str
    names: tuple[str, ...]
    package: bool = False

    @property
    def page(self) -> str:
        """The page that describes it, which the two wings share."""
        parts = self.name.split(".")[1:]
        parts = parts[1:] if parts[0] in WINGS else parts
        # Tables of exercises: their docstrings are all that there is to say.
        return ".".join(parts[:2] if parts[:2] == ["homework", "topics"] else parts)


def read_module(path: Path, name: str) -> Module:
    """Read a module's docstring and its public classes and functions."""
    tree = ast.parse(path.read_text("utf-8"))
    defined = [
        node.name
        for node in tree.body
        if isinstance(node, ast.ClassDef | ast.FunctionDef)
        and not node.name.startswith("_")
    ]
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            listed = ast.unparse(node.value)
            defined = [defn for defn in defined if f"'{defn}'" in listed]
    package = path.stem == "__init__"
    return Module(name, ast.get_docstring(tree) or "", tuple(defined), package)


@cache
def list_modules(root: Path) -> dict[str, Module]:
    """List the public modules of the package that lies in a folder, by their names.

    A package is one if its `__init__` defines something: what others define is
    described with them.
    """
    found = {}
    for path in sorted((root / PACKAGE).rglob("*.py")):
        where = path.parent if path.stem == "__init__" else path.with_suffix("")
        parts = where.relative_to(root).parts
        if any(part.startswith("_") for part in parts):
            continue
        module = read_module(path, ".".join(parts))
        if module.names or not module.package:
            found[module.name] = module
    return found


def resolve(root: Path, name: str) -> str | None:
    """Find where `course_lib.torch.GPT` is defined: `course_lib.torch.gpt.GPT`.

    A package offers under its own name what its modules define.
    """
    package, _, last = name.rpartition(".")
    if package == PACKAGE:
        return None
    found = [
        module.name
        for module in list_modules(root).values()
        if last in module.names and f"{module.name}.".startswith(f"{package}.")
    ]
    return f"{found[0]}.{last}" if found else None


def read_imports(code: str) -> dict[str, str]:
    """List what a page's names stand for: `{"ct": "course_lib.torch", ...}`."""
    names = {alias: module for module, alias in IMPORT.findall(code)}
    for module, words in FROM.findall(code):
        for word in re.sub(r"#.*|[()\\]", "", words).split(","):
            name, _, alias = word.strip().partition(" as ")
            if name:
                names[alias or name] = f"{module}.{name}"
    return names


class Names:
    """What the names of a page mean."""

    def __init__(self, root: Path, code: str) -> None:
        self.root = root
        self.own = set(DEFINED.findall(code))
        self.imported = read_imports(USUAL) | read_imports(code)

    def find(self, written: str) -> str | None:
        """Find `course_lib.torch.gpt.GPT` for `ct.GPT`, or nothing."""
        first, _, rest = written.partition(".")
        if first not in self.imported or (not rest and first in self.own):
            return None
        full = f"{self.imported[first]}.{rest}".rstrip(".")
        parts = full.split(".")
        # A method leads to its class.
        for end in range(len(parts), 1, -1):
            if found := resolve(self.root, ".".join(parts[:end])):
                return found
        return None


def page_code(text: str) -> str:
    """Join the code cells of a page."""
    return "\n".join(CELL.findall(text))


def used(root: Path, code: str) -> Iterator[str]:
    """List the package's classes and functions that code uses, in its order."""
    names = Names(root, code)
    for written in dict.fromkeys(re.findall(r"\b[A-Za-z_]\w*(?:\.\w+)*", code)):
        if found := names.find(written):
            yield found
