"""Small books in a temporary folder, for the tests of the book's machinery."""

import io
import sys
import warnings
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "book" / name) for name in ("_ext", "tools")]

CONFIG = (
    "repository:\n  url: https://example.org/owner/course\nexecute:\n  timeout: 60\n"
)
HEADER = """\
---
jupytext:
  text_representation:
    extension: .md
    format_name: myst
kernelspec:
  display_name: Python 3
  language: python
  name: python3
---

# A title

Some words.
"""


def cell(source, *tags):
    """Write a code cell as an author would."""
    options = f":tags: [{', '.join(tags)}]\n\n" if tags else ""
    return f"\n```{{code-cell}} ipython3\n{options}{source}\n```\n"


def contents():
    """List our own pages in order, and whether each stands under a chapter."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text("utf-8"))
    listed = [(toc["root"], False)]
    for part in toc["parts"]:
        for chapter in part["chapters"]:
            listed.append((chapter["file"], False))
            listed += [(page["file"], True) for page in chapter.get("sections", [])]
    return listed


class Book:
    """A book of one chapter in a temporary folder."""

    def __init__(self, root):
        self.root = root
        self.folder = root / "book"
        self.folder.mkdir(exist_ok=True)
        self.text = self.folder / "chapter.md"
        self.notebook = self.folder / "chapter.ipynb"
        (root / "_config.yml").write_text(CONFIG)

    def write(self, *parts):
        """Write the chapter: the header and these parts."""
        self.text.write_text(HEADER + "".join(parts), "utf-8")

    def tool(self, *arguments):
        """Run the tool; return its exit status and what it said."""
        import notebooks

        said = io.StringIO()
        with redirect_stdout(said), redirect_stderr(said), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            status = notebooks.main([*arguments, "--root", str(self.root)])
        return status, said.getvalue()

    def build(self, *extensions, builder="html", **config):
        """Build with plain Sphinx, -W; return exit status, page and messages."""
        from sphinx.cmd.build import build_main

        config = {
            "root_doc": "chapter",
            "extensions": ["myst_nb", "sphinx_design", *extensions],
            "exclude_patterns": ["*.ipynb"],
            "myst_enable_extensions": ["colon_fence"],
            "nb_execution_mode": "off",
            **config,
        }
        settings = [f"{name} = {value!r}" for name, value in config.items()]
        (self.root / "conf.py").write_text("\n".join(settings))
        out = self.root / "_build" / builder
        said = io.StringIO()
        with redirect_stdout(said), redirect_stderr(said), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            arguments = ["-b", builder, "-c", str(self.root), "-W", "--keep-going"]
            status = build_main([*arguments, str(self.folder), str(out)])
        suffix = {"html": ".html", "text": ".txt"}.get(builder)
        page = out / f"chapter{suffix}"
        return status, page.read_text("utf-8") if page.exists() else "", said.getvalue()
