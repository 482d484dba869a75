"""Lines in which a submission reaches behind the public face of what it may use.

No list of stubs ends every way to a forbidden piece, but each way begins somewhere that
honest work has no need to go: private names of a framework, dispatch by a name put
together, code made from text, frames, the files of a library, the marker itself. A
reading of the syntax tree finds them in milliseconds, and a person looks.
"""

import ast
import re
from collections.abc import Iterator

# Modules that are private, low or the marker's: whole paths, and what lies below them.
MODULES = re.compile(
    r"^(ctypes|cffi|gc|marshal|dis|inspect|importlib|imp|runpy|subprocess|multiprocessing"
    r"|code|codeop|linecache|site|zipimport|sandbox|marker|builtins"
    r"|course_lib\.(oracle|homework\.(?!check\b)\w+)|torch\.(onnx|jit|fx|export|_\w+)"
    r"|jax\.(extend|interpreters|experimental\.pallas)|(\w+\.)+_\w+)(\.|$)"
)
OF_FRAMEWORKS = {"torch", "jax", "jnp", "flax", "nnx", "F", "nn", "optax", "np"}
OF_THE_SYSTEM = re.compile(r"^os\.(system|popen|fork|kill|exec\w+|spawn\w+)$")
CALLS = {"exec", "eval", "compile", "__import__", "globals", "vars", "breakpoint"}
# Attributes of functions, frames, modules and processes, whatever they are called on.
ATTRIBUTES = {
    *("f_back", "f_globals", "f_locals", "f_builtins", "tb_frame", "gi_frame"),
    *("cr_frame", "setprofile", "settrace", "meta_path", "path_hooks"),
    *("setrlimit", "get_objects", "get_referrers", "getsource"),
    *("ops", "higher_order", "library", "__torch_function__", "__torch_dispatch__"),
}
# Names that every class may have; others of two underscores are the language's insides.
HONEST = re.compile(
    r"^__(init|call|name|main|doc|len|iter|next|repr|str|getitem|setitem|post_init|class"
    r"|version|eq|hash|enter|exit|new|contains|add|mul|sub|truediv|matmul|future)__$"
)
PLACES = re.compile(r"/proc\b|(site|dist)-packages|__pycache__|course_lib/|\.pyc$")


def reached(code: str) -> Iterator[str]:
    """Say what a cell reaches for, each with the line in which it does.

    Args:
        code: Of a cell, in plain Python. One that can't be parsed says nothing here.
    """
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    lines = code.splitlines()
    for node in ast.walk(tree):
        what = _what(node)
        if what:
            line = lines[node.lineno - 1].strip()  # pyright: ignore[reportAttributeAccessIssue]
            yield f"{what} in {line[:80]!r}"


def _what(node: ast.AST) -> str:
    """What is behind a public face in one place of the tree, or ""."""
    if isinstance(node, ast.Import):
        return next((n.name for n in node.names if MODULES.match(n.name)), "")
    if isinstance(node, ast.ImportFrom):
        names = [f"{node.module or ''}.{n.name}" for n in node.names]
        return next((name for name in names if MODULES.match(name)), "")
    if isinstance(node, (ast.Attribute, ast.Subscript)):
        if getattr(node.value, "attr", "") == "modules":
            return "sys.modules"  # to look into it; `in` only asks
        return _attribute(node) if isinstance(node, ast.Attribute) else ""
    if isinstance(node, ast.Name):
        inside = node.id.startswith("__") and not HONEST.match(node.id)
        return node.id if inside else ""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        name, given = node.func.id, node.args
        if name in CALLS and not (name == "vars" and given):
            return name
        if name in ("getattr", "setattr", "delattr") and len(given) > 1:
            return f"{name} by a name put together" * (not _plain(given[1]))
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        found = PLACES.search(node.value)
        return found[0] if found else ""
    return ""


def _attribute(node: ast.Attribute) -> str:
    path, root = node.attr, node.value
    while isinstance(root, ast.Attribute):
        path, root = f"{root.attr}.{path}", root.value
    name = getattr(root, "id", "")
    if node.attr in ATTRIBUTES and name not in ("self", "math"):
        return f"{name}.{path}".lstrip(".")
    if node.attr.startswith("__") and not HONEST.match(node.attr):
        return node.attr
    whole = f"{name}.{path}"
    private = name in OF_FRAMEWORKS and ("._" in whole or MODULES.match(whole))
    return whole if private or OF_THE_SYSTEM.match(whole) else ""


def _plain(name: ast.expr) -> bool:
    """Whether a name is written out, and public."""
    text = getattr(name, "value", None)
    return isinstance(text, str) and not text.startswith("_")
