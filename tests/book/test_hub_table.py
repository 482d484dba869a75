"""The table of published checkpoints says what the code reads, and all of it."""

import json
import re

import pytest
from small_books import ROOT, Book

import course_lib.torch as ct
from course_lib import hub
from course_lib.hub.rope import SETTINGS


@pytest.fixture(scope="module")
def rows():
    import hub_table

    return [[re.findall(r"`(\w+)`", cell) for cell in row] for row in hub_table.rows()]


def test_the_table_has_what_load_says_that_it_reads(rows, tmp_path):
    (tmp_path / "config.json").write_text(json.dumps({"architectures": ["Mamba"]}))
    (tmp_path / "model.safetensors").write_bytes(b"\2\0\0\0\0\0\0\0{}")
    with pytest.raises(ValueError, match="must be one of") as refused:
        hub.load(tmp_path)
    said = re.findall(r"\w+", str(refused.value).split("one of ")[1].split(":")[0])
    assert sorted(name for row in rows for name in row[0][::2]) == sorted(said)
    assert all(hasattr(ct, name) for row in rows for name in row[0][1::2])


def test_options_are_those_of_the_family(rows):
    options = {name: row[1] for row in rows for name in row[0]}
    assert options["Olmo2ForCausalLM"] == ["attention_bias", "head_dim", "hidden_act"]
    assert "no_rope_layers" in options["SmolLM3ForCausalLM"]
    assert "type_vocab_size" not in options["DistilBertModel"]
    assert "n_embd" not in options["GPT2LMHeadModel"]  # a size
    assert "scale_attn_weights" not in options["GPT2LMHeadModel"]  # one value alone
    (shared,) = (row[1] for row in rows if not row[0])
    assert {"rope_scaling", "tie_word_embeddings"} <= set(shared)


def test_the_page_names_the_rules_of_stretching():
    page = (ROOT / "book/appendices/using.md").read_text("utf-8")
    rules = re.search(r"stretched by the rules (.*?)\.", page, re.DOTALL)
    assert {*re.findall(r"`(\w+)`", rules[1])} == SETTINGS.keys() - {"default"}


def test_the_directive_becomes_a_table(rows, tmp_path):
    book = Book(tmp_path)
    book.write("\n```{hub-table}\n```\n")
    status, page, said = book.build("hub_table")
    assert status == 0, said
    assert page.count("<tr") == len(rows) + 1
    assert "Phi3ForCausalLM" in page
