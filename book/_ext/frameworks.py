"""PyTorch and Flax NNX side by side, in tabs that switch together.

A chapter shows each idea twice. Code cells cannot be nested in a directive, so an
author tags neighboring cells `torch` and `nnx` and this extension puts each such run,
outputs included, into one tab set of sphinx-design. All sets of the book share one
sync group: sphinx-design itself remembers the reader's choice from page to page and
from visit to visit, and takes it from an address that ends in `?framework=nnx`.
Without JavaScript the tabs still switch (they are radio buttons); where there are no
tabs at all, on paper, each version stands under its own heading.

For prose that differs between the two there are directives, side by side like cells:

    :::{torch}
    `nn.Linear` stores its matrix as (out, in).
    :::
    :::{nnx}
    `nnx.Linear` stores its kernel as (in, out).
    :::

Text or a cell that exists for one framework only is a warning, and so an error under
`-W`: the book promises both.
"""

from typing import Any, ClassVar

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx.util.docutils import SphinxDirective
from sphinx.util.logging import getLogger
from sphinx_design.shared import create_component

LOGGER = getLogger(__name__)

FRAMEWORKS = {"torch": "PyTorch", "nnx": "Flax NNX"}
SYNC_GROUP = "framework"

Run = list[tuple[str, nodes.Element]]


def framework_of(node: nodes.Node) -> str | None:
    """Say which framework a code cell or a piece of prose is tagged for, if any."""
    if not isinstance(node, nodes.container):
        return None
    if "framework_part" in node:
        return node["framework_part"]
    if node.get("nb_element") != "cell_code":
        return None
    tags = node.get("cell_metadata", {}).get("tags", [])
    return next((name for name in FRAMEWORKS if name in tags), None)


def tab_set(parts: Run) -> nodes.container:
    """Build the tab set of one run, PyTorch first, each tab with all its parts."""
    tabs = create_component("tab-set", classes=["sd-tab-set", "framework-tabs"])
    tabs.source, tabs.line = parts[0][1].source, parts[0][1].line
    for name, label in FRAMEWORKS.items():
        children = [node for framework, node in parts if framework == name]
        if not children:
            continue
        title = nodes.rubric(label, "", nodes.Text(label), classes=["sd-tab-label"])
        title["sync_group"], title["sync_id"] = SYNC_GROUP, name
        content = create_component(
            "tab-content", classes=["sd-tab-content"], children=children
        )
        item = create_component(
            "tab-item", classes=["sd-tab-item"], children=[title, content]
        )
        item.source, item.line = tabs.source, tabs.line
        tabs += item
    return tabs


def warn_if_single(parts: Run, docname: str | None) -> None:
    """Warn when one of the two frameworks is missing from a tab set."""
    present = {name for name, _ in parts}
    for name, label in FRAMEWORKS.items():
        if name not in present:
            first = parts[0][1]
            LOGGER.warning(
                "a part for %s has no counterpart for %s: put a cell tagged `%s`, "
                "or a directive of that name, beside it, with nothing between the two",
                FRAMEWORKS[parts[0][0]],
                label,
                name,
                location=(docname, first.line) if docname else first,
                type="framework_tabs",
                subtype="missing",
            )


class FrameworkTabs(SphinxTransform):
    """Turn runs of tagged neighbors into tab sets, once a page has been read.

    After sphinx-exercise has moved the cells of an exercise into its box (its
    priorities end at 10), so that tabs work inside exercises and solutions.
    """

    default_priority: ClassVar[int] = 15  # pyright: ignore[reportIncompatibleVariableOverride]

    def apply(self, **kwargs: Any) -> None:  # pyright: ignore[reportUnusedParameter]
        parents = {
            id(node.parent): node.parent
            for node in self.document.findall(nodes.container)
            if framework_of(node) is not None
        }
        for parent in parents.values():
            self.group(parent)

    def group(self, parent: nodes.Element) -> None:
        """Replace the tagged children of one node by tab sets."""
        children: list[nodes.Node] = []
        run: Run = []

        def close() -> None:
            if run:
                warn_if_single(run, self.env.docname)
                children.append(tab_set(run))
                run.clear()

        for child in list(parent.children):
            framework = framework_of(child)
            if framework is None:
                if not (run and isinstance(child, nodes.comment)):
                    close()
                    children.append(child)
                continue
            seen = [name for name, _ in run]
            if framework in seen and framework != seen[-1]:
                close()  # it comes back after the other one
            run.append((framework, child))  # pyright: ignore[reportArgumentType]
        close()
        parent.children = []
        parent.extend(children)


class FrameworkPart(SphinxDirective):
    """`{torch}` or `{nnx}`: prose for one of the two frameworks."""

    has_content: ClassVar[bool] = True  # pyright: ignore[reportIncompatibleVariableOverride]

    def run(self) -> list[nodes.Node]:
        self.assert_has_content()
        part = nodes.container(framework_part=self.name)
        self.set_source_info(part)
        self.state.nested_parse(self.content, self.content_offset, part)
        return [part]


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the transform and the two directives."""
    app.setup_extension("sphinx_design")
    app.add_transform(FrameworkTabs)
    for name in FRAMEWORKS:
        app.add_directive(name, FrameworkPart)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
