"""The room in which an answer runs: a `course_lib` without the pieces asked for.

Functions keep their names and signatures, and raise. No source of theirs is in the
room, so neither another thread nor another process finds it there.
"""

import ast
import compileall
import importlib.util
import json
import re
import shutil
from pathlib import Path

from sandbox import forbidden as forbidden_pieces

import course_lib
from course_lib.homework.exercise import PACKAGE

HERE = Path(__file__).resolve().parent
LIBRARY = Path(course_lib.__file__).resolve().parent
# What stays as it is even if all of the package is forbidden: no answer is in it.
KEPT = ("arrays", "checks", "config", "optional", "plot", "bridge")
HOMEWORK = ("running.py", "toy_model.py")  # how an answer is called
IN_PYTHON = (
    *("jax._src", "flax.nnx", "flax.linen", "optax", "scipy.special"),
    *("jax.experimental.pallas", "torch.nn.attention", "torch.onnx.ops"),
)
# In the place of the package's own: in a submission `check` says nothing, and is true.
STUDENTS_SIDE = """
class Report:
    passed, share, points, score, message = True, 1.0, 1.0, None, ""
    cases = used = ()
    def __bool__(self): return True
    def as_dict(self): return {}

def check(*args, **kwargs):
    return Report()

EXERCISES, CHALLENGES = {}, {}
"""
SHUT = """
# Added for the sandbox.
import sys as _sys
_sys.path.insert(0, {room!r})
try:
    from sandbox import forbidden as _forbidden
    {more}
    _forbidden.shut()
finally:
    _sys.path.remove({room!r})
"""
# Every process whose path this room is on finds this.
SITE = """
import sys
from sandbox import forbidden
sys.meta_path.insert(0, forbidden.Later())
"""


def furnish(folder: Path, forbidden: tuple[str, ...]) -> Path:
    """Make a room.

    Args:
        folder: An empty one.
        forbidden: As in `Exercise`.

    Returns:
        The folder. In `over` are the files to lay over those of the frameworks, where
        the backend can do that; `over.json` says which over which.
    """
    ignored = shutil.ignore_patterns("__pycache__", "oracle", "homework")
    shutil.copytree(LIBRARY, folder / PACKAGE, ignore=ignored, dirs_exist_ok=True)
    homework = folder / PACKAGE / "homework"
    homework.mkdir()
    shutil.copy(LIBRARY / "homework" / "exercise.py", homework)  # has a softmax
    for path in (folder / PACKAGE).rglob("*.py"):
        module = path.relative_to(folder).with_suffix("").parts
        tree = ast.parse(path.read_text(encoding="utf-8"))
        Emptied(".".join(p for p in module if p != "__init__"), forbidden).visit(tree)
        path.write_text(ast.unparse(ast.fix_missing_locations(tree)), encoding="utf-8")
    (homework / "__init__.py").write_text(STUDENTS_SIDE)
    for name in HOMEWORK:
        shutil.copy(LIBRARY / "homework" / name, homework)
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(HERE.parent / "sandbox", folder / "sandbox", ignore=ignored)
    frameworks = [name for name in forbidden if name != PACKAGE]
    (folder / "sandbox" / "forbidden.json").write_text(json.dumps(frameworks))
    if frameworks:
        (folder / "sitecustomize.py").write_text(SITE)
        _lay_over(folder, tuple(frameworks))
    compileall.compile_dir(folder, quiet=2)
    for path in (folder, *folder.rglob("*")):  # for another user to read, none to write
        path.chmod(0o755 if path.is_dir() else 0o644)
    return folder


def _lay_over(folder: Path, forbidden: tuple[str, ...]) -> None:
    """Copies of the frameworks' first files, which end by shutting their pieces.

    Also in a process that ignores the path and the site, the framework then comes
    without them. Pieces that are written in Python have no source there to load again.
    """
    words = "|".join(re.escape(name) for name in forbidden if name != PACKAGE)
    defined = re.compile(rf"^(def|class) _*({words})_*\b", re.MULTILINE)
    (folder / "over").mkdir()
    over = {}
    for name in forbidden_pieces.FRAMEWORKS:
        try:
            spec = importlib.util.find_spec(name)
        except ModuleNotFoundError:
            continue
        if spec is None or spec.origin is None:
            continue
        text = Path(spec.origin).read_text(encoding="utf-8")
        more = "import jax.nn, jax.scipy.special" if name == "jax" else ""
        text += SHUT.format(room=str(folder), more=more)
        (folder / "over" / f"{name}.py").write_text(text, encoding="utf-8")
        over[spec.origin] = f"{name}.py"
    for name in IN_PYTHON:
        try:
            spec = importlib.util.find_spec(name)
        except ModuleNotFoundError:
            continue
        for place in (spec.submodule_search_locations or ()) if spec else ():
            for path in sorted(Path(place).rglob("*.py")):
                text = path.read_text(encoding="utf-8")
                if str(path) in over or not defined.search(text):
                    continue
                root = name.partition(".")[0]
                tree = Emptied(root, forbidden).visit(ast.parse(text))
                ours = f"{len(over)}.py"
                text = ast.unparse(ast.fix_missing_locations(tree))
                (folder / "over" / ours).write_text(text, encoding="utf-8")
                over[str(path)] = ours
    (folder / "over.json").write_text(json.dumps(over))


class Emptied(ast.NodeTransformer):
    """Takes the bodies out of forbidden functions.

    Args:
        module: Dotted name of the module.
        forbidden: As in `Exercise`.
    """

    def __init__(self, module: str, forbidden: tuple[str, ...]):
        self.path = module.split(".")
        words = set(self.path[1:])
        everything = PACKAGE in forbidden and not words & set(KEPT)
        self.all = everything or bool(words & set(forbidden))
        self.forbidden = set(forbidden)

    def visit_Module(self, node: ast.Module) -> ast.Module:
        """A module, which imports the sandbox's error first."""
        self.generic_visit(node)
        place = 1 if ast.get_docstring(node) is not None else 0
        futures = [
            isinstance(n, ast.ImportFrom) and n.module == "__future__"
            for n in node.body
        ]
        place += sum(futures)
        line = ast.parse("from sandbox.forbidden import piece as _piece").body
        node.body[place:place] = line
        return node

    def _visit_def(self, node: ast.AST) -> ast.AST:
        name = getattr(node, "name", "")
        self.path.append(name)
        before = self.all
        self.all = before or name.strip("_") in self.forbidden
        if self.all and isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            called = ".".join(self.path).removesuffix(".__init__")
            node.body = ast.parse(f"raise _piece({called!r})").body
        else:
            self.generic_visit(node)
        self.all = before
        self.path.pop()
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = _visit_def  # noqa: N815

    def visit_Lambda(self, node: ast.Lambda) -> ast.Lambda:
        """A function without a name."""
        if self.all:
            called = ".".join(self.path)
            thrown = f"(_ for _ in ()).throw(_piece({called!r}))"
            node.body = ast.parse(thrown, mode="eval").body
        return node
