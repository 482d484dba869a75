"""The reference, made of docstrings: a page a module, with the wings side by side.

Sphinx's autodoc does the work. What it cannot know:

- **Which modules there are.** If the book has `book/appendices/api`, a page for each
  module is written into `api/`, which git ignores: PyTorch and NNX in tabs where both
  have it. The line `{api-modules}` in a page becomes the list of them. A new
  module appears by itself.
- **Where a module is taught.** Its page leads to its lesson, and the lesson, with a
  line at its end, to its page. That is the page of the module's own name, or the one
  that `book/lessons.yml` names.
- **What a signature says.** NNX modules have a metaclass that hides `__init__` behind
  `(*args, **kwargs)`, and a shape such as `Float[Tensor, "*B T Dh"]` is an object by
  the time autodoc sees it. So signatures are taken from the source, as written.
- **What the wings share.** Where a docstring of the NNX wing is one line, PyTorch's,
  which begins with it, says the rest; its tab shows that.
- **What is an equation.** Module docstrings open with theirs, indented; they are set
  as written, and arXiv numbers become links.
- **Where the source is**: in the repository, to which each object has a link.

What a page's names mean (`ct.GPT`, for links.py) is read from the source, too, without
importing a framework.
"""

import ast
import inspect
import re
import sys
import textwrap
from collections import defaultdict
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = "course_lib"
WINGS = ("torch", "nnx")
INDEX = "book/appendices/api"
FOLDER = "api"  # beside the book, so that nothing takes them for pages of ours
MARKER = re.compile(r"^\{api-modules\}$", re.MULTILINE)
KINDS = {"taught": "Lesson", "used": "First used in"}
SECTIONS = {"Args:", "Attributes:", "Raises:", "Returns:", "Yields:"}
# What a module's first line says of its wing.
FRAMEWORK = re.compile(r" \((?:PyTorch|Flax NNX|JAX|optax)\b[^)]*\)")
ARXIV = re.compile(r"\barXiv:(\d{4}\.\d{4,5})")
IMPORT = re.compile(r"^\s*import (course_lib[\w.]*) as (\w+)", re.MULTILINE)
FROM = re.compile(r"^\s*from (course_lib[\w.]*) import (\([^)]*\)|[^\n(]*)", re.M)
DEFINED = re.compile(r"^\s*(?:class|def) (\w+)", re.MULTILINE)
CELL = re.compile(r"^```\{code-cell\}.*?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# What prose calls the wings and the rooms.
USUAL = "import course_lib.torch as ct\nimport course_lib.nnx as cn\n"
USUAL += "from course_lib import data, hub, oracle, plot\n"


class Lesson(NamedTuple):
    """Where a module stands in the course."""

    docname: str
    kind: str  # a page that teaches it, or the first one that uses it


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


@cache
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


@cache
def pages_of(root: Path) -> dict[str, list[Module]]:
    """Group the modules by the page that describes them: both wings on one."""
    pages: dict[str, list[Module]] = defaultdict(list)
    for module in list_modules(root).values():
        pages[module.page].append(module)
    wing = {f"{PACKAGE}.{name}": place for place, name in enumerate(WINGS)}
    for modules in pages.values():
        modules.sort(key=lambda m: wing.get(".".join(m.name.split(".")[:2]), 9))
    return dict(sorted(pages.items()))


def in_wings(page: str, modules: list[Module]) -> bool:
    """Say whether a page describes a piece that each framework has."""
    return all(f"{PACKAGE}.{w}.{page}" in {m.name for m in modules} for w in WINGS)


def find_lessons(root: Path, docnames: list[str]) -> dict[str, Lesson]:
    """Find the lesson of each page of the reference, among the pages of the book."""
    slugs = {docname.rpartition("/")[2]: docname for docname in docnames}
    lessons = {}
    for page in pages_of(root):
        if docname := slugs.get(page.rpartition(".")[2].replace("_", "-")):
            lessons[page] = Lesson(docname, KINDS["taught"])
    table = root / "book" / "lessons.yml"
    listed = yaml.safe_load(table.read_text("utf-8")) if table.exists() else {}
    for kind, words in KINDS.items():
        for slug, pages in listed.get(kind, {}).items():
            if slug in slugs:
                lessons |= dict.fromkeys(pages, Lesson(slugs[slug], words))
    return lessons


def automodule(module: Module) -> str:
    """Write the Markdown that documents one module; of a package, what it defines."""
    members = f"   :members: {', '.join(module.names)}\n" if module.package else ""
    return f"```{{eval-rst}}\n.. automodule:: {module.name}\n{members}```\n"


def summary(modules: list[Module]) -> str:
    """Take the first sentence of a module's docstring, without its framework."""
    if len(modules) > 3:  # tables, one for each page that has exercises
        return "The exercises, a module for each page that has some."
    first = modules[0].doc.partition("\n\n")[0].replace("\n", " ")
    first = FRAMEWORK.sub("", first)
    return escape(re.split(r"(?<=[.?!])\s", first)[0])


def write_page(page: str, modules: list[Module], lesson: Lesson | None) -> str:
    """Write the page of the reference for a module, or for both wings' module."""
    links = [f"[Reference](/{INDEX}.md)"]
    if lesson:
        links.append(f"{lesson.kind}: [](/{lesson.docname}.md)")
    names = " · ".join(f"`{module.name}`" for module in modules[:2])
    names = f"`{PACKAGE}.{page}`" if len(modules) > 3 else names
    text = [f"---\norphan: true\n---\n\n# {page}\n", f"{' · '.join([*links, names])}\n"]
    parts = [automodule(module) for module in modules]
    if in_wings(page, modules):
        for wing, part in zip(WINGS, parts, strict=False):
            text.append(f":::{{{wing}}}\n{part}:::\n")
        parts = parts[len(WINGS) :]
        if parts:
            text.append("## Without a framework\n")
    return "\n".join(text + parts)


def room(page: str, modules: list[Module]) -> tuple[bool, str]:
    """Say under which heading of the list a page stands: the wings' own come first."""
    inside = page if modules[0].package else page.rpartition(".")[0]
    return not in_wings(page, modules), inside


def reference(root: Path, lessons: dict[str, Lesson]) -> str:
    """Write the list of the reference's pages, room by room."""
    pages = pages_of(root)
    rooms = defaultdict(list)
    for page in sorted(pages, key=lambda page: (room(page, pages[page]), page)):
        rooms[room(page, pages[page])].append(page)
    text = []
    for (free, name), inside in rooms.items():
        place = ".".join(part for part in (PACKAGE, name) if part)
        place = f"`{place}`" if free else f"Both wings: {name}".rstrip(": ")
        text += [f"## {place}\n", "| Module | What it is | Lesson |", "|---|---|---|"]
        for page in inside:
            link = f"[{page.removeprefix(f'{name}.')}](/{FOLDER}/{page}.md)"
            lesson = lessons.get(page)
            taught = f"[](/{lesson.docname}.md)" if lesson else ""
            text.append(f"| {link} | {summary(pages[page])} | {taught} |")
        text.append("")
    return "\n".join(text)


def in_contents(config: Config) -> list[str]:
    """List the book's pages in order; none where there is no table of contents."""
    contents = getattr(config, "external_site_map", None)
    return [re.sub(r"\.md$", "", name) for name in contents or ()]


def write_pages(app: Sphinx, config: Config) -> None:
    """Before pages are looked for: write those of the reference, where they changed."""
    root, docnames = Path(app.srcdir), in_contents(config)
    if INDEX not in docnames:
        return
    lessons = find_lessons(root, docnames)
    folder, written = root / FOLDER, set()
    folder.mkdir(exist_ok=True)
    for page, modules in pages_of(root).items():
        path, text = folder / f"{page}.md", write_page(page, modules, lessons.get(page))
        written.add(path)
        if not path.exists() or path.read_text("utf-8") != text:
            path.write_text(text, "utf-8")
    for path in set(folder.glob("*.md")) - written:
        path.unlink()
    # What the contents don't list is left out: these pages are listed by theirs.
    patterns = config.exclude_patterns
    config.exclude_patterns = [p for p in patterns if not p.startswith(f"{FOLDER}/")]
    config.api_lessons = lessons


def insert_reference(app: Sphinx, docname: str, source: list[str]) -> None:
    """When a page is read: put in the list, and at its end the way to the reference."""
    lessons = app.config.api_lessons
    if MARKER.search(source[0]):
        listed = reference(Path(app.srcdir), lessons)
        source[0] = MARKER.sub(lambda _: listed, source[0])
    source[0] += back(docname, lessons)


def back(docname: str, lessons: dict[str, Lesson]) -> str:
    """Write the line under a lesson that leads to what it teaches."""
    links = ", ".join(
        f"[{page}](/{FOLDER}/{page}.md)"
        for page, lesson in sorted(lessons.items())
        if lesson == Lesson(docname, KINDS["taught"])
        and not page.startswith(("oracle.", "checks."))
    )
    return links and f"\n\n{{.in-the-package}}\nIn `{PACKAGE}`: {links}\n"


def edit_module(
    app: Sphinx, page: str, _template: str, context: dict[str, Any], _tree: Any
) -> None:
    """Have the button that suggests a change lead to the module: that is the source."""
    folder, _, name = page.rpartition("/")
    if folder != FOLDER:
        return
    module = pages_of(Path(app.srcdir))[name][0]
    path = module.name.replace(".", "/") + ("/__init__.py" if module.package else ".py")
    for group in context.get("header_buttons", []):
        for button in group.get("buttons", []):
            if button.get("label") == "source-edit-button":
                button["url"] = button["url"].replace(f"{page}.md", path)


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


def source_address(tree: str, _domain: str, info: dict[str, str]) -> str | None:
    """For linkcode: the address of the lines that define something, in a repository."""
    found: Any = sys.modules.get(info["module"])
    try:
        for name in info["fullname"].split("."):
            found = inspect.unwrap(getattr(found, name))
        lines, first = inspect.getsourcelines(found)
        path = Path(inspect.getsourcefile(found) or "").relative_to(ROOT)
    except (AttributeError, TypeError, OSError, ValueError):
        return None  # a constant, or what another library defines
    return f"{tree}/{path.as_posix()}#L{first}-L{first + len(lines) - 1}"


def import_first(_app: Sphinx, _env: Any, docnames: list[str]) -> None:
    """Before pages are read, by several processes: import once what they describe."""
    if any(name.startswith(f"{FOLDER}/") for name in docnames):
        for wing in WINGS:
            import_module(f"{PACKAGE}.{wing}")


def let_go(_app: Sphinx, document: nodes.document) -> None:
    """Have all nodes of a page know the page alone.

    Those that `{eval-rst}` made know its own small document, and by its settings the
    whole environment, which Sphinx would store and load with each page.
    """
    for node in document.findall():
        node.document = document


def link_sources(_app: Sphinx, config: Config) -> None:
    """Tell linkcode where the repository has its files."""
    options = config.html_theme_options
    tree = f"{options.get('repository_url', '').rstrip('/')}/blob"
    tree = f"{tree}/{options.get('repository_branch', 'main')}"
    config.linkcode_resolve = partial(source_address, tree)


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


def twin_docstring(obj: Any) -> str:
    """Read what PyTorch's piece of the same name says; nothing of any other object."""
    obj = getattr(obj, "fget", obj)
    here, name = getattr(obj, "__module__", ""), getattr(obj, "__qualname__", "")
    here = obj.__name__ if inspect.ismodule(obj) else here
    if not str(here).startswith(f"{PACKAGE}.nnx."):
        return ""
    found: Any = import_module(here.replace(".nnx.", ".torch.", 1))
    for part in name.replace("__call__", "forward").split(".") if name else ():
        found = getattr(found, part, None)
    return inspect.getdoc(found) or ""


def process_docstring(
    _app: Sphinx, what: str, _name: str, obj: Any, _options: Any, lines: list[str]
) -> None:
    """For autodoc: equations as written, sentences as meant, arXiv numbers as links."""
    written, shared = "\n".join(lines).strip(), twin_docstring(obj).splitlines()
    title, *rest = shared or [""]
    if written and FRAMEWORK.sub("", title) == FRAMEWORK.sub("", written):
        lines[:] = [written, *rest, ""]
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
    app.setup_extension("sphinx.ext.linkcode")
    app.connect("config-inited", link_sources)
    app.connect("env-before-read-docs", import_first)
    app.connect("doctree-read", let_go)
    app.add_config_value("api_lessons", {}, "")
    # After the table of contents is read, and what it lacks is left out.
    app.connect("config-inited", write_pages, priority=950)
    app.connect("source-read", insert_reference)
    # After the theme has made its buttons.
    app.connect("html-page-context", edit_module, priority=900)
    app.connect("autodoc-process-signature", process_signature)
    # Before napoleon turns the sections into something else.
    app.connect("autodoc-process-docstring", process_docstring, priority=400)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
