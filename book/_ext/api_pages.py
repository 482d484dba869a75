"""The reference, generated from docstrings, with the wings side by side.

Sphinx's autodoc does the work. Three things it cannot know:

- **Which modules there are.** The line `{api-modules}` in a page becomes one section
  for each module of the library: PyTorch and NNX in tabs where both have it. A new
  module appears by itself.
- **What a signature says.** NNX modules have a metaclass that hides `__init__` behind
  `(*args, **kwargs)`, and a shape such as `Float[Tensor, "*B T Dh"]` is an object by
  the time autodoc sees it. So signatures are taken from the source, as written.
- **What is an equation.** Module docstrings open with theirs, indented; they are set
  as written, and arXiv numbers become links.
"""

import ast
import inspect
import pkgutil
import re
import textwrap
from importlib import import_module
from typing import Any

from sphinx.application import Sphinx

PACKAGE = "course_lib"
WINGS = ("torch", "nnx")
MARKER = "{api-modules}"
SECTIONS = {"Args:", "Attributes:", "Raises:", "Returns:", "Yields:"}
ARXIV = re.compile(r"\barXiv:(\d{4}\.\d{4,5})")


def list_modules(package: str) -> list[str]:
    """List the public modules inside a package by their names in it, as `training.fit`.

    The two wings are left out where the whole package is asked for, and so are the
    `__init__` files: what they offer is documented where it is defined.
    """
    names = []
    for module in pkgutil.iter_modules(import_module(package).__path__):
        if module.name.startswith("_") or module.name in WINGS:
            continue
        inside = list_modules(f"{package}.{module.name}") if module.ispkg else [""]
        names += [f"{module.name}.{name}".rstrip(".") for name in inside]
    return sorted(names)


def automodule(name: str) -> str:
    """Write the Markdown that documents one module."""
    return f"```{{eval-rst}}\n.. automodule:: {name}\n```\n"


def reference() -> str:
    """Write the sections of the reference: one a module."""
    sections = ["## Pieces, in both wings\n"]
    wings = {wing: list_modules(f"{PACKAGE}.{wing}") for wing in WINGS}
    for name in sorted({name for names in wings.values() for name in names}):
        sections.append(f"### {name}\n")
        parts = {w: automodule(f"{PACKAGE}.{w}.{name}") for w in WINGS}
        if all(name in names for names in wings.values()):
            sections += [f":::{{{w}}}\n{part}:::\n" for w, part in parts.items()]
        else:
            sections += [part for w, part in parts.items() if name in wings[w]]
    sections.append("## Framework-free rooms\n")
    for name in list_modules(PACKAGE):
        sections += [f"### {name}\n", automodule(f"{PACKAGE}.{name}")]
    return "\n".join(sections)


def insert_reference(_app: Sphinx, _docname: str, source: list[str]) -> None:
    """When a page is read: put the reference where it is asked for."""
    pattern = re.compile(rf"^{re.escape(MARKER)}$", re.MULTILINE)
    if pattern.search(source[0]):
        source[0] = pattern.sub(lambda _: reference(), source[0])


class Qualify(ast.NodeTransformer):
    """Give the library's own classes their full names, so that links find them.

    Both wings have a class of each name; `Rotary` alone would mean either.
    """

    def __init__(self, names: dict[str, Any]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.expr:
        found = self.names.get(node.id)
        if not inspect.isclass(found) or not found.__module__.startswith(PACKAGE):
            return node
        return ast.parse(f"{found.__module__}.{found.__qualname__}", mode="eval").body


def written_signature(function: Any) -> tuple[str, str] | None:
    """Read a signature from the source: arguments without `self`, and what returns."""
    try:
        function = inspect.unwrap(function)
        source = textwrap.dedent(inspect.getsource(function))
        node = ast.parse(source).body[0]
    except (OSError, TypeError, SyntaxError):
        return None
    if not isinstance(node, ast.FunctionDef):
        return None
    arguments = node.args
    positional = arguments.posonlyargs or arguments.args
    if positional and positional[0].arg in {"self", "cls"}:
        del positional[0]
    qualify = Qualify(getattr(function, "__globals__", {}))
    for argument in ast.walk(arguments):
        if isinstance(argument, ast.arg) and argument.annotation:
            argument.annotation = qualify.visit(argument.annotation)
    returns = ast.unparse(qualify.visit(node.returns)) if node.returns else ""
    return f"({ast.unparse(arguments)})", returns


def process_signature(
    _app: Sphinx,
    what: str,
    _name: str,
    obj: Any,
    _options: Any,
    _signature: str | None,
    _returns: str | None,
) -> tuple[str, str] | None:
    """For autodoc: the signature as written, of a class that of its `__init__`."""
    if what == "class":
        # A dataclass has no source for its `__init__`; autodoc does well there.
        found = written_signature(obj.__dict__.get("__init__"))
        return (found[0], "") if found else None
    if what in {"function", "method"}:
        return written_signature(obj)
    return None


def escape(line: str) -> str:
    """Keep bars and stars in a sentence from being read as markup."""
    return re.sub(r"(`[^`]*`)|[|*]", lambda m: m[1] or f"\\{m[0]}", line)


def mark_equations(lines: list[str]) -> list[str]:
    """Turn each indented block into a literal one, so that it is set as written."""
    marked: list[str] = []
    inside = False
    for line in lines:
        indented = line.startswith("    ")
        if indented and not inside:
            marked += [".. code-block:: text", ""]
        inside = indented or (inside and not line)
        marked.append(line if inside else escape(line))
    return marked


def process_docstring(
    _app: Sphinx, what: str, _name: str, _obj: Any, _options: Any, lines: list[str]
) -> None:
    """For autodoc: equations as written, sentences as meant, arXiv numbers as links."""
    first = next((i for i, line in enumerate(lines) if line in SECTIONS), len(lines))
    text = mark_equations(lines[:first]) + [escape(line) for line in lines[first:]]
    link = r"`arXiv:\1 <https://arxiv.org/abs/\1>`__"
    # Napoleon takes what stands before a colon in an attribute's first line for a type:
    # let that line be a break that is none.
    first_line = ["\\"] if what in {"attribute", "property"} else []
    lines[:] = first_line + [ARXIV.sub(link, line) for line in text]


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect to the reading of pages and to autodoc."""
    app.setup_extension("sphinx.ext.autodoc")
    app.connect("source-read", insert_reference)
    app.connect("autodoc-process-signature", process_signature)
    # Before napoleon turns the sections into something else.
    app.connect("autodoc-process-docstring", process_docstring, priority=400)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
