"""The directive `{hub-table}`: which checkpoints `hub.load` reads, asked of its code.

Each family's conversion is run on a configuration that notes what it is asked for. What
has no default is a size; what has one is listed, unless only one value is read.
"""

from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from course_lib import hub
from course_lib.hub.decoders import Decoder
from course_lib.hub.fields import SILENT, Fields

HEAD = ("`architectures`, and our class", "fields that may differ, besides sizes")


class Asked(Fields):
    """A configuration with every size, which notes what it is asked for besides."""

    def __init__(self) -> None:
        super().__init__({}, "config.json")
        self.sizes: set[str] = set()
        self.options: set[str] = set()

    def take(self, name: str, default: Any = ...) -> Any:
        """Note the name of a field, and give its default, or a size that fits."""
        if name in self.sizes or default is ...:
            self.sizes.add(name)
            return 64 if "head" in name else 128  # heads divide widths
        self.options.add(name)
        return default

    def must(self, name: str, *supported: Any, default: Any = None) -> None:
        """Note nothing: there is one value for it."""


def ask(family: Any) -> tuple[list[str], set[str]]:
    """Say what a family's checkpoints become, and which fields of them are options."""
    fields = Asked()
    becomes = [
        family.conversion(fields, architecture, set()).model
        for architecture in family.ARCHITECTURES
    ]
    options = fields.options - fields.sizes - SILENT
    return becomes, {name for name in options if not name.startswith("_")}


def rows() -> list[tuple[str, str]]:
    """Make the table: a row a family, what the decoders of today share in one row."""
    families = sorted(hub.FAMILIES.values(), key=lambda f: type(f) is Decoder)
    asked = [(family, *ask(family)) for family in families]
    shared = set.intersection(*(opts for f, _, opts in asked if type(f) is Decoder))
    found = []
    for family, becomes, options in asked:
        if type(family) is Decoder:
            options -= shared
        pairs = zip(family.ARCHITECTURES, becomes, strict=True)
        named = ", ".join(f"`{theirs}` → `{ours}`" for theirs, ours in pairs)
        found.append((named, listed(options)))
    first = sum(type(family) is not Decoder for family in families)
    found.insert(first, ("all below", listed(shared)))
    return found


def listed(names: set[str]) -> str:
    """Write names as code, in the order of the alphabet."""
    return ", ".join(f"`{name}`" for name in sorted(names))


class HubTable(SphinxDirective):
    """The table, as Markdown."""

    def run(self) -> list[nodes.Node]:
        """Draw it anew whenever the code changes that it is made from."""
        for path in Path(hub.__file__).parent.glob("*.py"):
            self.env.note_dependency(str(path))
        lines = (f"| {' | '.join(row)} |" for row in (HEAD, ("---", "---"), *rows()))
        return self.parse_text_to_nodes("\n".join(lines))


def setup(app: Sphinx) -> dict[str, Any]:
    """Add the directive."""
    app.add_directive("hub-table", HubTable)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
