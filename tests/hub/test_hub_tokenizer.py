"""The hub: a checkpoint's tokenizer, and the tokens that end its texts."""

import json
import sys

import pytest
from published import edit, transformers

from course_lib.hub import end_tokens, load, load_tokenizer

tokenizers = pytest.importorskip("tokenizers")
TEXT = "to be, or not to be, that is the question"


@pytest.fixture
def folder(tmp_path):
    """A tiny GPT-2 with a tokenizer of its own beside it."""
    made = tokenizers.Tokenizer(tokenizers.models.BPE())
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=300,
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=["<|endoftext|>"],
    )
    made.train_from_iterator([TEXT], trainer)
    made.save(str(tmp_path / "tokenizer.json"))
    config = transformers.GPT2Config(
        vocab_size=made.get_vocab_size(),
        n_positions=31,
        n_embd=12,
        n_layer=1,
        n_head=2,
        bos_token_id=0,
        eos_token_id=0,
    )
    transformers.GPT2LMHeadModel(config).save_pretrained(tmp_path)
    return tmp_path


def test_text_goes_in_and_comes_out_and_ends_where_the_checkpoint_says(wing, folder):
    model, tokenizer = load(folder, wing.name), load_tokenizer(folder)
    prompt = tokenizer.encode(TEXT).ids
    assert tokenizer.decode(prompt) == TEXT
    how = {"max_new_tokens": 9, "seed": 1}
    (free,) = wing.lib.generate(model, [prompt], **how)
    other = next(t for t in free if t != free[0])  # another end than the first token
    (folder / "generation_config.json").write_text(json.dumps({"eos_token_id": other}))
    assert end_tokens(folder) == [[other]]
    (text,) = wing.lib.generate(model, [prompt], **how, stop=end_tokens(folder))
    assert text == free[: free.index(other)]
    assert isinstance(tokenizer.decode(text), str)


def test_a_text_is_neither_cut_nor_padded_as_the_file_says(folder):
    tokenizer = load_tokenizer(folder)
    ids = tokenizer.encode(TEXT).ids
    tokenizer.enable_truncation(len(ids) // 2)
    tokenizer.enable_padding(length=2 * len(ids))
    tokenizer.save(str(folder / "tokenizer.json"))
    assert load_tokenizer(folder).encode(TEXT).ids == ids


def test_the_end_is_the_generation_configs_or_else_the_configs(folder):
    generation = folder / "generation_config.json"
    generation.write_text(json.dumps({"eos_token_id": [3, 5]}))
    assert end_tokens(folder) == [[3], [5]]
    generation.write_text("{}")
    assert end_tokens(folder) == [[0]]
    generation.unlink()
    assert end_tokens(folder) == [[0]]
    edit(folder, eos_token_id=None)
    assert end_tokens(folder) == []


def test_what_is_no_tokenizer_is_refused(folder, monkeypatch):
    path = folder / "tokenizer.json"
    path.write_text("{}")
    with pytest.raises(ValueError, match=r"tokenizer.json must be a file of the libr"):
        load_tokenizer(folder)
    path.unlink()
    with pytest.raises(ValueError, match=r"must be in tokenizer.json: .* has none"):
        load_tokenizer(folder)
    path.write_text("{}")
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(ImportError, match=r"need tokenizers.*\[hub\]"):
        load_tokenizer(folder)


@pytest.mark.parametrize("read", [load_tokenizer, end_tokens])
def test_of_a_name_no_weights_are_fetched_for_it(folder, monkeypatch, read):
    import huggingface_hub

    asked = []

    def snapshot_download(name, **options):
        asked.extend(options["allow_patterns"])
        return str(folder)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot_download)
    read("somebody/tiny")
    assert asked
    assert all(name.endswith("json") for name in asked)
