"""The shakes find what another machine would print otherwise, and leave the rest."""

import shutil

import nbformat
import numpy as np
import pytest
import shake
from notebooks import read_cells
from shake import signs
from small_books import cell

pytestmark = pytest.mark.filterwarnings("default")

# Both begin one unit in the last place away. The squares forget it; the map with chaos
# has nearly doubled it two hundred times.
TORCH = """\
import torch

w = torch.nn.Parameter(torch.tensor([0.3, 0.7]))
optimizer = torch.optim.SGD([w], lr=0.1)
start = w.detach().clone()
for _ in range(100):
    optimizer.zero_grad()
    w.square().sum().backward()
    optimizer.step()
print(f"{w.norm().item() + 1:.3f}")"""
NNX = """\
import jax.numpy as jnp
import optax
from flax import nnx

jmodel = nnx.Linear(2, 2, rngs=nnx.Rngs(0))
optimizer = nnx.Optimizer(jmodel, optax.sgd(0.1), wrt=nnx.Param)
jstart = abs(jmodel.kernel[...].ravel())
adam = optax.adam(0.0)
arrays = {"w": jnp.array([0.3, 0.7])}
state = adam.init(arrays)
updates, state = adam.update(arrays, state, arrays)
arrays = optax.apply_updates(arrays, updates)
updates, state = adam.update(arrays, state, arrays)  # only the first one nudges
print(jnp.abs(updates["w"]).max())"""
CHAOS = """\
def after_chaos(x):
    for _ in range(200):
        x = 3.9 * x * (1 - x)
    return x

print([round(float(x), 3) for x in after_chaos(START)])"""
WIDTH = """\
import os
import numpy as np
print(torch.backends.cpu.get_cpu_capability(), os.environ.get("XLA_FLAGS"))
print(np.show_config(mode="dicts")["SIMD Extensions"].get("found", []))"""
TRAINING = """\
import numpy as np
import course_lib.nnx as cn
import course_lib.torch as ct
from course_lib.config import TrainConfig
from flax import nnx
from torch import nn

def loss(model, x):
    return (model(x) ** 2).mean()

def loop(steps=6):
    return len([None for _ in range(steps)])

batches = 10 * [np.ones((2, 3), np.float32)]
history = ct.fit(nn.Linear(3, 1), batches, loss, learning_rate=0.1)
config = TrainConfig(steps=8, warmup=2)
jhistory = cn.fit(nnx.Linear(3, 1, rngs=nnx.Rngs(0)), batches, loss, config=config)"""
CLAIMS = """\
assert history.steps == 10
assert jhistory.steps == 8
assert 2 < loop() < 20
assert history.losses[-1] < 1e3"""


def shake_it(book, capsys, *arguments):
    """Run the command line; return its exit status and what it printed."""
    status = shake.main([*arguments, "--root", str(book.root)])
    return status, capsys.readouterr().out


def test_another_processor_reaches_both_frameworks_and_a_nudge_shows_in_chaos_alone(
    book, capsys
):
    pytest.importorskip("torch")
    pytest.importorskip("flax")
    starts = ("start", "jstart % 1", "arrays['w']")
    chaos = (CHAOS.replace("START", start) for start in starts)
    book.write(*map(cell, (TORCH, NNX, *chaos, WIDTH)))
    nbformat.write(read_cells(book.text.read_text("utf-8")), book.notebook)
    shake_it(book, capsys, "--shake", "sse", "nudge", "--jobs", "1")

    def said_by(name, cell):  # in more than one piece, on a busy machine
        cells = shake.code_cells(book.root / shake.FOLDER / name / "chapter.ipynb")
        return "".join(out["text"] for out in cells[cell].outputs)

    assert said_by("sse", -1) == "DEFAULT --xla_cpu_max_isa=SSE4_2\n[]\n"
    assert len(said_by("here", 0)) == len("1.000000\n")  # of .3f, to see what moved
    shutil.copy(book.root / shake.FOLDER / "here" / "chapter.ipynb", book.notebook)
    status, said = shake_it(book, capsys, "--table")
    moved = [line.split()[1] for line in said.splitlines() if " nudge " in line]
    assert status == 1
    assert moved == ["2", "3", "4"], said
    assert " sse " in next(line for line in said.splitlines() if "words differ" in line)
    assert "not run: avx2, threads" in said


def test_a_page_that_moves_little_passes_and_other_code_is_not_compared(book, capsys):
    stored = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("print(1)")])
    book.write(cell("print(1)"))

    def write(path, text):
        path.parent.mkdir(parents=True, exist_ok=True)
        stored.cells[0].outputs = [nbformat.v4.new_output("stream", text=text)]
        stored.cells[0].metadata["nbval"] = {"rtol": 0.05}
        nbformat.write(stored, path)

    write(book.notebook, "0.500\n")
    write(book.root / shake.FOLDER / "here" / "chapter.ipynb", "0.500\n")
    for name in shake.SHAKES:
        write(book.root / shake.FOLDER / name / "chapter.ipynb", "0.510\n")
    status, said = shake_it(book, capsys, "--table")
    assert status == 0, said
    assert "No output moves by more than 0.5 of its allowance." in said
    status, said = shake_it(book, capsys, "--table", "--limit", "0.3")
    assert status == 1
    assert "0.40  avx2      stdout: the float 0.500 became 0.510" in said
    stored.cells[0].source = "print('other code')"
    write(book.root / shake.FOLDER / "sse" / "chapter.ipynb", "0.900\n")
    status, said = shake_it(book, capsys, "--table")
    assert status == 0
    assert "not run: sse" in said


def test_a_field_gets_decimals_and_the_room_for_them():
    fields = "{x:9.3f}{x:<5,.0f} {x:.1%} {n:3d}"
    assert shake.FIELD.sub(shake.finer, fields) == (
        "{x:13.6f}{x:<9,.3f} {x:.4%} {n:3d}"
    )


def test_each_number_has_a_direction_of_its_own():
    assert set(signs((5, 7), 0).ravel()) == {-np.inf, np.inf}
    np.testing.assert_array_equal(signs((5, 7), 0), signs((5, 7), 0))
    assert (signs((5, 7), 0) != signs((5, 7), 1)).any()


def test_at_another_length_claims_fall_one_by_one_where_the_page_says_they_would_not(
    book, capsys
):
    pytest.importorskip("torch")
    pytest.importorskip("flax")
    once = cell("assert loop() == 6", "claims")
    book.write(cell(TRAINING), cell(CLAIMS, "claims", "any-length"), once)
    nbformat.write(read_cells(book.text.read_text("utf-8")), book.notebook)
    status, said = shake_it(book, capsys, "--shake", "half", "four", "--jobs", "1")
    fell = [line.split(maxsplit=3)[2:] for line in said.splitlines()]
    half = ["half", "history.steps == 10"], ["half", "jhistory.steps == 8"]
    four = ["four", "history.steps == 10"], ["four", "jhistory.steps == 8"]
    assert status == 1
    assert fell == [*half, *four, ["four", "2 < loop() < 20"]]
    assert (
        shake_it(book, capsys, "--table", "--limit", "0")[1].count("loop() == 6") == 2
    )
