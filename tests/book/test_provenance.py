"""A notebook says what machine its outputs come from, and a failure says it, too."""

import json

import pytest
from provenance import KEY, compare_machines, describe_machine, instruction_set
from small_books import Book, cell

pytestmark = pytest.mark.filterwarnings("default")


def test_a_machine_is_its_instructions_and_its_versions():
    here = describe_machine()
    assert set(here) == {
        "processor",
        "instructions",
        "python",
        *("torch", "jax", "flax", "numpy"),
    }
    assert all(here.values())


def test_a_limit_for_jax_is_part_of_it():
    limited = instruction_set({"XLA_FLAGS": "--a=b --xla_cpu_max_isa=AVX2"})
    assert limited.endswith(" and AVX2 in XLA")


def test_what_differs_is_said_and_nothing_else():
    stored = {"instructions": "AVX512", "torch": "2.13.0", "jax": "0.10.2"}
    here = stored | {"instructions": "AVX2", "torch": "2.15.0"}
    assert compare_machines(stored, here) == (
        "It was stored with AVX512, torch 2.13.0; this is AVX2, torch 2.15.0."
    )
    assert "such a machine as this" in compare_machines(stored, dict(stored))
    assert "is not noted" in compare_machines(None, here)


def test_executing_notes_the_machine_and_a_prose_edit_keeps_the_note(tmp_path):
    book = Book(tmp_path)
    book.write(cell("print(6 * 7)"))
    assert book.tool()[0] == 0
    notebook = json.loads(book.notebook.read_text("utf-8"))
    assert notebook["metadata"][KEY] == describe_machine()
    notebook["metadata"][KEY]["instructions"] = "another"
    book.notebook.write_text(json.dumps(notebook), "utf-8")
    book.text.write_text(book.text.read_text("utf-8") + "\nMore words.\n", "utf-8")
    assert book.tool()[0] == 0
    kept = json.loads(book.notebook.read_text("utf-8"))
    assert kept["metadata"][KEY]["instructions"] == "another"
