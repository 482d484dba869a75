"""The file to take home, `gpt.py`: the pieces of the weekend's pages, line for line.

A piece is a function or a class that a page writes once. In the file the names of the
package (`ct.Block`) are its own (`Block`), those of NNX's tab lose their J, and
docstrings are left out, and so is a method that only pages call; the last layer norm
is the file's own. Every other character but white space is the page's.
"""

import ast
import os
import re
import runpy
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from book_scripts import BOOK, load
from notebooks import read_cells

from course_lib import data
from course_lib.config import GPTConfig

RECAP = BOOK / "architectures/recap.md"
FILES = {name: BOOK / f"architectures/recap/{name}/gpt.py" for name in ("torch", "nnx")}
PIECES = {
    "similarity/tokens": ["Embedding", "cross_entropy"],
    "similarity/attention": ["attention"],
    "similarity/positions": ["Rotary"],
    "similarity/multi-head": ["split", "join", "MultiHeadAttention"],
    "transformer/block": ["FeedForward", "LayerNorm", "Block"],
    "transformer/masking": ["causal_mask"],
    "architectures/gpt": ["GPT", "next_token_loss"],
}
WHERE = {name: slug for slug, names in PIECES.items() for name in names}
ALLOWED = {
    "torch": {"torch", "numpy"},
    "nnx": {"jax", "flax", "optax", "numpy"},
}
OTHERWISE = {
    "defmaps(self,x,mask=None):returnself.heads(x,mask)[1]": "",
    "=nn.LayerNorm(d_model)": "=LayerNorm(d_model)",
    "=nnx.LayerNorm(d_model,epsilon=1e-5,rngs=rngs)": "=LayerNorm(d_model)",
}
KEPT = {"torch": "pt", "nnx": "npz"}
SIZES = {"vocab_size": 11, "d_model": 8, "n_heads": 2, "n_layers": 2}
SMALL = "--steps=100 --T=32 --d_model=32 --n_layers=1 --rate=0.01 --prompt=The"


def in_tab(name: str, tab: str) -> str:
    """A piece's name in one of the tabs: those of NNX begin with J or j."""
    if tab == "torch":
        return name
    return ("J" if name[0].isupper() else "j") + name


def pieces(source: str) -> dict[str, str]:
    """What a source defines, as it writes it, without docstrings."""
    found: dict[str, str] = {}
    lines = source.split("\n")
    for node in ast.parse(source).body:
        if not isinstance(node, ast.FunctionDef | ast.ClassDef):
            continue
        first = min([node.lineno, *(d.lineno for d in node.decorator_list)]) - 1
        kept = lines[first : node.end_lineno]
        if ast.get_docstring(node) is not None:
            said = node.body[0]
            kept[said.lineno - 1 - first : said.end_lineno - first] = []
        found[node.name] = "\n".join(kept)
    return found


def of_page(slug: str, tab: str) -> dict[str, str]:
    """What the cells of one tab of a page define, before its exercises."""
    text = (BOOK / f"{slug}.md").read_text("utf-8").partition("\n## Exercises")[0]
    found: dict[str, str] = {}
    for cell in read_cells(text).cells:
        tags = cell.metadata.get("tags", [])
        if cell.cell_type == "code" and tab in tags and "claims" not in tags:
            found |= pieces(cell.source)
    return found


def bare(source: str, tab: str) -> str:
    """A piece without white space, with the file's names."""
    package = {"torch": "ct", "nnx": "cn"}[tab]
    for name in WHERE:
        for other in (rf"{package}\.{name}", in_tab(name, tab)):
            source = re.sub(rf"\b{other}\b", name, source)
    # Where a line is longer or shorter, so that it breaks, a comma comes or goes.
    return re.sub(r",(?=[)\]])", "", re.sub(r"\s+", "", source))


def run(tab, *arguments, folder):
    """What the file prints as a program, or its error."""
    command = [sys.executable, str(FILES[tab]), *arguments]
    quick = {key: value for key, value in os.environ.items() if key != "XLA_FLAGS"}
    done = subprocess.run(
        command, cwd=folder, env=quick, capture_output=True, text=True, check=False
    )
    return done.stdout if done.returncode == 0 else done.stderr


def held_out(printed: str) -> list[float]:
    return [float(x) for x in re.findall(r"held out (\d+\.\d+)", printed)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the English that comes with the package."""
    place = tmp_path_factory.mktemp("home")
    text = data.english().train
    (place / "english.txt").write_text(text, "utf-8")
    (place / "short.txt").write_text(text[:999], "utf-8")
    return place


@pytest.mark.parametrize("tab", FILES)
@pytest.mark.parametrize("name", WHERE)
def test_a_piece_of_the_file_is_the_one_of_its_page(name, tab):
    own = pieces(FILES[tab].read_text("utf-8"))[name]
    page = bare(of_page(WHERE[name], tab)[in_tab(name, tab)], tab)
    for there, here in OTHERWISE.items():
        page = page.replace(there, here)
    assert bare(own, tab) == page


@pytest.mark.parametrize("tab", FILES)
def test_the_file_imports_its_framework_alone(tab):
    tree = ast.parse(FILES[tab].read_text("utf-8"))
    named = {
        a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names
    }
    named |= {n.module for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
    named = {name.partition(".")[0] for name in named}
    assert named - ALLOWED[tab] <= set(sys.stdlib_module_names)


def test_the_file_s_gpt_is_the_package_s(wing):
    program = runpy.run_path(str(FILES[wing.name]))
    theirs = wing.make(program["GPT"], SimpleNamespace(**SIZES))
    config = GPTConfig(**SIZES, max_len=16, position="rotary")
    ours = wing.make(wing.lib.GPT, config)
    wing.lib.set_weights(ours, wing.lib.get_weights(theirs))
    ids = np.random.default_rng(0).integers(0, SIZES["vocab_size"], (3, 7))
    logits = [wing.numpy(model(wing.array(ids))) for model in (theirs, ours)]
    np.testing.assert_allclose(*logits, atol=2e-6)


@pytest.fixture(scope="module", params=FILES)
def trained(request, folder):
    """A tab, what its program printed, and the file with the model beside the text."""
    return request.param, run(
        request.param, "english.txt", *SMALL.split(), folder=folder
    )


def test_it_learns_more_than_how_frequent_letters_are(trained, folder):
    _, printed = trained
    text = (folder / "english.txt").read_text("utf-8")
    counts = np.unique(list(text), return_counts=True)[1] / len(text)
    losses = held_out(printed)
    assert len(losses) == 11, printed
    assert abs(losses[0] - np.log(len(counts))) < 0.5  # of chance, after one step
    assert 2.0 < losses[-1] < -(counts * np.log(counts)).sum() - 0.3
    written = printed.partition("The")[2]
    assert len(written) == 501  # and the end of the line
    assert set(written) <= set(text)


def test_a_kept_model_writes_the_same_again_and_another_seed_something_else(
    trained, folder
):
    tab, printed = trained
    again, other = (
        run(tab, "--prompt=The", *seed, folder=folder) for seed in ([], ["--seed=1"])
    )
    assert again == printed[-504:]
    assert other[:3] == "The"
    assert other != again


def test_the_command_judges_a_kept_model_as_the_program_does(trained, folder):
    tab, printed = trained
    text = (folder / "english.txt").read_text("utf-8")
    ids = np.unique([*text], return_inverse=True)[1]
    losses = load("recap", "checkpoints").WINGS[tab](folder / f"gpt.{KEPT[tab]}")
    starts = np.arange(len(ids) * 9 // 10, len(ids) - 32, 32)
    found = losses(ids[starts[:, None] + np.arange(33)])
    assert found.shape == (len(starts), 32)
    assert abs(found.mean() - held_out(printed)[-1]) < 0.1


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["short.txt"], "a text needs over 1280 letters: got 999"),
        (["english.txt", "--prompt=Zürich"], "the prompt's ['ü'] never occur"),
        (["--prompt=Zürich"], "the prompt's ['ü'] never occur"),
        (["--n_heads=2"], "'n_layers': 1}: leave out ['n_heads']"),
        (["--model=none"], "none holds no model of this program: name a text"),
        (["--model=english.txt"], "english.txt holds no model of this program"),
        (["--model=other.pt"], "other.pt holds no model of this program"),
        (["--model=other.npz"], "other.npz holds no model of this program"),
    ],
)
def test_a_text_a_prompt_or_a_model_that_will_not_do_is_refused(
    arguments, error, trained, folder, monkeypatch, capsys
):
    tab, _ = trained
    torch.save({"weight": torch.zeros(2)}, folder / "other.pt")
    np.savez(folder / "other.npz", weight=np.zeros(2))
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "argv", ["gpt.py", *arguments])
    with pytest.raises(SystemExit):
        runpy.run_path(str(FILES[tab]), run_name="__main__")
    assert error in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("tab", FILES)
def test_the_page_s_output_is_the_file_s(tab, folder):
    stored = (FILES[tab].parent / "english.txt").read_text("utf-8")
    printed = run(tab, "english.txt", "--prompt=The", folder=folder)
    assert stored.splitlines()[0] == printed.splitlines()[0]
    np.testing.assert_allclose(held_out(printed), held_out(stored), atol=0.05)


def test_each_piece_stands_beside_its_page_and_its_file():
    text = RECAP.read_text("utf-8")
    rows = [row.split("|")[1:-1] for row in re.findall(r"^\| `.*\|$", text, re.M)]
    files = {}
    for named, link, where in (row for row in rows if "`" in row[2]):
        slug = re.search(r"\((?:\.\./)?([\w/-]+)\.md\)", link)[1]
        slug = slug if "/" in slug else f"architectures/{slug}"
        for name in re.findall(r"`(\w+)`", named):
            assert slug == WHERE[name]
            files[name] = re.findall(r"`([\w/.]+)`", where)
    assert sorted(files) == sorted(WHERE)
    for name in set(WHERE) - {"split", "join"}:  # split_heads, merge_heads there
        for wing in ("torch", "nnx"):
            sources = [
                (BOOK.parent / "course_lib" / wing / file).read_text("utf-8")
                for file in files[name]
            ]
            assert any(re.search(rf"\b{name}\b", source) for source in sources), name
