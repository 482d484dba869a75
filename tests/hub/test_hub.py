"""The hub: GPT-2's checkpoints loaded into ours, and what is refused."""

import json
import re
import subprocess
import sys
from dataclasses import asdict

import numpy as np
import pytest
from published import (
    MAX,
    V,
    assert_logits,
    assert_read_alike,
    assert_same_logits,
    edit,
    greedy,
    logits,
    randomize,
    refuse,
    rewrite,
    save,
    torch,
    transformers,
)
from wings import each

from course_lib.config import GPTConfig
from course_lib.hub import FAMILIES, load
from course_lib.hub.fields import Fields

# GPT-2


def gpt2(seed=0, **options):
    sizes = {"vocab_size": V, "n_positions": MAX, "n_embd": 12, "n_layer": 2}
    sizes |= {"n_head": 3, "bos_token_id": None, "eos_token_id": None}
    config = transformers.GPT2Config(**(sizes | options))
    return randomize(transformers.GPT2LMHeadModel(config), seed)


@pytest.fixture
def saved_gpt2(tmp_path):
    return save(gpt2(), tmp_path)


FORMS = [
    {},
    {"activation_function": "silu", "tie_word_embeddings": False},
    {"n_head": 5, "n_embd": 35, "n_layer": 3, "n_inner": 17},
    {"activation_function": "relu", "n_head": 1, "n_layer": 1},
    {"activation_function": "gelu", "layer_norm_epsilon": 0.1},
    {"activation_function": "gelu_pytorch_tanh", "n_inner": 5},
]


@each("options", FORMS, nnx=FORMS[:2])
def test_gpt2_gives_the_same_logits_and_text(wing, rng, tmp_path, options):
    theirs = gpt2(**options)
    ids = rng.integers(0, V, (2, 7))
    ours = assert_same_logits(wing, save(theirs, tmp_path), theirs, ids)
    prompts = [ids[0, :3], ids[1, :5]]
    expected = greedy(theirs, prompts, 5)
    text = wing.lib.generate(ours, prompts, max_new_tokens=5, temperature=0.0)
    assert text == expected
    assert len(set(text[0] + text[1])) > 1


def test_gpt2_reads_over_padding_inside_a_batch(wing, rng, tmp_path):
    theirs = gpt2()
    ours = load(save(theirs, tmp_path), wing.name)
    ids, keep = rng.integers(0, V, (2, 7)), np.ones((2, 7), bool)
    keep[1, 4:] = keep[0, 2] = False
    expected = theirs(
        torch.from_numpy(ids), attention_mask=torch.from_numpy(keep).long()
    ).logits
    assert_logits(logits(wing, ours, ids, mask=keep[:, None, None]), expected)


def test_the_model_is_ours_in_evaluation_and_has_its_config(wing, saved_gpt2):
    edit(saved_gpt2, resid_pdrop=0.3)
    model = load(str(saved_gpt2), wing.name)
    assert type(model) is wing.lib.GPT
    assert model.config == GPTConfig(
        vocab_size=V,
        max_len=MAX,
        d_model=12,
        activation="gelu_tanh",
        n_layers=2,
        n_heads=3,
        d_ff=48,
        dropout=0.3,
    )
    ids = np.ones((2, 7), int)
    np.testing.assert_array_equal(logits(wing, model, ids), logits(wing, model, ids))


@pytest.mark.parametrize("options", FORMS)
def test_both_wings_read_the_same(both, tmp_path, options):
    assert_read_alike(both, save(gpt2(**options), tmp_path))


def test_loading_draws_nothing_from_the_callers_random_numbers(saved_gpt2):
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    load(saved_gpt2, "torch")
    assert torch.equal(torch.rand(3), expected)


def test_gpt2s_first_files_are_read_too(wing, rng, tmp_path):
    """No prefix, the causal mask among the weights, fewer fields."""
    theirs = gpt2()
    save(theirs, tmp_path)

    def age(arrays):
        arrays = {k.removeprefix("transformer."): a for k, a in arrays.items()}
        mask = np.tril(np.ones((1, 1, MAX, MAX), np.float32))
        floor = np.float32(-1e4)
        for i in range(2):
            arrays |= {f"h.{i}.attn.bias": mask, f"h.{i}.attn.masked_bias": floor}
        return arrays

    rewrite(tmp_path, age)
    edit(tmp_path, n_ctx=MAX, scale_attn_weights=..., tie_word_embeddings=...)
    assert_same_logits(wing, tmp_path, theirs, rng.integers(0, V, (2, 7)))


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float64"])
def test_checkpoints_of_other_widths_are_read_into_32_bits(wing, rng, tmp_path, dtype):
    theirs = gpt2().to(getattr(torch, dtype))
    save(theirs, tmp_path)
    assert json.loads((tmp_path / "config.json").read_text())["dtype"] == dtype
    theirs = theirs.float()  # exact from 16 bits, and computed as wide as ours
    assert_same_logits(wing, tmp_path, theirs, rng.integers(0, V, (2, 7)))


def test_a_checkpoint_in_parts_is_read_whole(wing, rng, tmp_path):
    theirs = gpt2()
    save(theirs, tmp_path, max_shard_size="4KB")
    assert len(list(tmp_path.glob("model-*-of-*.safetensors"))) > 2
    assert_same_logits(wing, tmp_path, theirs, rng.integers(0, V, (2, 7)))


# Refusals


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"scale_attn_weights": False}, "scale_attn_weights=False"),
        ({"scale_attn_by_inverse_layer_idx": True}, "scale_attn_by_inverse_layer_idx"),
        ({"add_cross_attention": True}, "add_cross_attention=True"),
        ({"activation_function": "tanh"}, "activation_function='tanh'.*'gelu_new'"),
        ({"pruned_heads": {"0": [1]}}, "pruned_heads"),
        ({"is_encoder_decoder": True}, "is_encoder_decoder=True"),
        ({"model_type": "gpt_neo"}, "model_type='gpt_neo'"),
        ({"architectures": ["MambaForCausalLM"]}, "GPT2LMHeadModel.*MambaForCausalLM"),
        ({"architectures": ...}, "architectures .* got none"),
        ({"quantization_config": {"bits": 4}}, "quantization_config="),
        ({"rope_theta": 10000.0, "alibi": True}, "alibi=True, rope_theta=10000.0"),
        ({"n_layer": ...}, "must say what n_layer is"),
        ({"n_head": 5}, "n_heads must divide d_model"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_what_our_model_cannot_be_is_refused_by_its_field(saved_gpt2, changes, match):
    refuse(edit(saved_gpt2, **changes), match)


def test_a_field_without_a_value_and_a_librarys_note_ask_for_nothing(saved_gpt2):
    load(edit(saved_gpt2, rope_theta=None, _commit_hash="abc", use_cache=False))


def test_missing_and_unexpected_weights_are_both_listed(wing, saved_gpt2):
    def spoil(arrays):
        del arrays["transformer.h.1.attn.c_attn.bias"]
        del arrays["transformer.ln_f.weight"]
        extra = np.zeros(3, np.float32)
        return arrays | {"transformer.h.0.gate.weight": extra, "score.bias": extra}

    rewrite(saved_gpt2, spoil)
    with pytest.raises(ValueError, match="do not fit") as caught:
        load(saved_gpt2, wing.name)
    message = str(caught.value)
    missing, extra = message.split("Not expected: ")
    for part in "qkv":
        bias = f"blocks.1.attention.{part}_proj.bias"
        assert f"{bias} (there transformer.h.1.attn.c_attn.bias)" in missing
    assert "norm.weight" in missing
    assert "transformer.h.0.gate.weight" in extra
    assert "score.bias" in extra


def test_our_own_names_are_none_of_theirs(saved_gpt2):
    def rename(arrays):
        arrays["norm.weight"] = arrays.pop("transformer.ln_f.weight")
        return arrays

    rewrite(saved_gpt2, rename)
    refuse(
        saved_gpt2, r"Missing: norm.weight \(there .*\). Not expected: 'norm.weight'"
    )


def test_a_layer_too_many_or_too_few_is_refused(saved_gpt2):
    refuse(edit(saved_gpt2, n_layer=1), "Not expected: blocks.1")
    refuse(edit(saved_gpt2, n_layer=3), "Missing: blocks.2")


def test_weights_of_another_shape_are_refused(saved_gpt2):
    refuse(
        edit(saved_gpt2, n_positions=7),
        r"positions.table.weight \(there \S+\) .model .7, 12.",
    )
    refuse(edit(saved_gpt2, n_positions=MAX, n_inner=17), "up_proj.weight")


def test_a_head_that_is_called_tied_must_be_it(wing, rng, tmp_path):
    theirs = gpt2()
    save(theirs, tmp_path)
    head = "lm_head.weight"
    rewrite(tmp_path, lambda a: a | {head: a["transformer.wte.weight"].copy()})
    assert_same_logits(wing, tmp_path, theirs, rng.integers(0, V, (2, 7)))
    rewrite(tmp_path, lambda a: a | {head: a[head] + 1})
    refuse(tmp_path, "lm_head.weight.*must be equal|wte.weight.*must be equal")


def test_pickle_is_never_read(saved_gpt2):
    (saved_gpt2 / "model.safetensors").unlink()
    (saved_gpt2 / "pytorch_model.bin").write_bytes(b"\x80\x04.")
    refuse(saved_gpt2, "pytorch_model.bin.*never read, since they can run code")


def test_a_pickle_under_a_safe_name_is_refused(saved_gpt2):
    torch.save({"a": torch.ones(3)}, saved_gpt2 / "model.safetensors")
    refuse(saved_gpt2, "must be a safetensors file")


def test_a_broken_file_is_refused(saved_gpt2):
    path = saved_gpt2 / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-7])
    refuse(saved_gpt2, "must be a safetensors file, and whole")


def test_numbers_that_mean_something_else_are_refused(saved_gpt2):
    from safetensors.torch import save_file as save_tensors

    eighth = torch.ones(3, dtype=torch.float8_e4m3fn)
    save_tensors({"transformer.ln_f.bias": eighth}, saved_gpt2 / "model.safetensors")
    refuse(saved_gpt2, "transformer.ln_f.bias .* plain numbers .*F8_E4M3")


def test_no_folder_and_no_configuration_are_said(tmp_path):
    refuse(tmp_path / "nowhere", "nowhere is no folder")
    refuse("./nowhere", "is no folder")
    refuse(tmp_path, "needs config.json")
    (tmp_path / "config.json").write_text("{")
    refuse(tmp_path, "must be JSON")
    (tmp_path / "config.json").write_text("[]")
    refuse(tmp_path, "must hold a JSON object")
    (tmp_path / "config.json").write_text("{}")
    refuse(tmp_path, "must hold model.safetensors")


def test_a_name_that_is_neither_folder_nor_model_is_said(monkeypatch):
    hub = pytest.importorskip("huggingface_hub")

    def fail(*_, **__):
        raise OSError("no network")

    monkeypatch.setattr(hub, "snapshot_download", fail)
    refuse("checkpoint/gpt2", "checkpoint/gpt2 is no folder in .*no network")


def test_a_file_of_another_name_is_shown(saved_gpt2):
    other = "model.fp16.safetensors"
    (saved_gpt2 / "model.safetensors").rename(saved_gpt2 / other)
    refuse(saved_gpt2, f"neither, only {other}. Give .* the name model.safetensors")


def test_parts_without_their_index_are_not_read(tmp_path):
    save(gpt2(), tmp_path, max_shard_size="4KB")
    (tmp_path / "model.safetensors.index.json").unlink()
    refuse(tmp_path, r"only model-00001-of-.* Parts need model.safetensors.index.json")


def test_no_start_is_drawn_that_is_thrown_away(saved_gpt2):
    """On "meta" a normal start would import torch's compiler: seven seconds."""
    code = (
        "import sys; from course_lib.hub import load; "
        f"load({str(saved_gpt2)!r}); print('torch._dynamo' in sys.modules)"
    )
    told = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert told.stdout == "False\n"


def test_another_wing_is_refused(saved_gpt2):
    with pytest.raises(ValueError, match="torch"):
        load(saved_gpt2, "tensorflow")


def test_parts_that_do_not_belong_together_are_refused(tmp_path):
    save(gpt2(), tmp_path, max_shard_size="4KB")
    path = tmp_path / "model.safetensors.index.json"
    whole = json.loads(path.read_text())["weight_map"]

    def index(**changes):
        weights = {k: v for k, v in (whole | changes).items() if v is not ...}
        path.write_text(json.dumps({"weight_map": weights}))

    name, file = next(iter(whole.items()))
    index(**{name: "../" + file})
    refuse(tmp_path, "must name safetensors files beside it")
    index(**{name: "pytorch_model.bin"})
    refuse(tmp_path, "must name safetensors files beside it")
    index(**{name: ...})
    refuse(tmp_path, f"Not expected in them: {name}")
    index(more=file)
    refuse(tmp_path, "Missing in the files: more")
    path.write_text("{}")
    refuse(tmp_path, "must have a weight_map")
    index()
    (tmp_path / file).unlink()
    refuse(tmp_path, f"lacks {file}")


# Of every family


@pytest.mark.parametrize("family", FAMILIES)
def test_what_a_file_leaves_out_is_as_in_the_library(family):
    made = transformers.AutoConfig.for_model(family)
    whole = json.loads(made.to_json_string(use_diff=False))
    architecture = whole["architectures"] = FAMILIES[family].ARCHITECTURES[0]

    def read(fields):
        fields = Fields(fields, "it")
        config = FAMILIES[family].conversion(fields, architecture, set()).config
        return said_in_full(config)

    shortest = {}
    while True:
        try:
            assert read(shortest) == read(whole)
            break
        except ValueError as error:
            (name,) = re.findall(r"must say what (\w+) is", str(error))
            shortest[name] = whole[name]
    assert len(shortest) < 9  # its sizes, and little else


def said_in_full(config):
    """The fields of a configuration, with what None stands for in some."""
    fields = asdict(config)
    if "n_kv_heads" in fields:
        fields |= {"n_kv_heads": config.n_kv_heads or config.n_heads}
        fields |= {"head_dim": config.d_head}
    if "target_vocab_size" in fields:
        fields |= {"target_vocab_size": config.target_vocab_size or config.vocab_size}
    return fields


# By name


@pytest.fixture
def hub_cache(tmp_path, monkeypatch):
    """A checkpoint where huggingface_hub keeps what it has fetched."""
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    repository = tmp_path / "models--somebody--tiny"
    commit = "0123456789abcdef0123456789abcdef01234567"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text(commit)
    return save(gpt2(), repository / "snapshots" / commit)


def test_a_name_finds_what_was_fetched_before(wing, rng, hub_cache):
    ids = rng.integers(0, V, (2, 7))
    by_name, by_folder = (load(p, wing.name) for p in ("somebody/tiny", hub_cache))
    np.testing.assert_array_equal(
        logits(wing, by_name, ids), logits(wing, by_folder, ids)
    )


def test_of_a_name_only_safe_files_are_fetched(saved_gpt2, monkeypatch):
    from fnmatch import fnmatch

    import huggingface_hub

    asked = {}

    def snapshot_download(name, **options):
        asked.update(options, name=name)
        return str(saved_gpt2)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot_download)
    load("somebody/tiny")
    assert asked["name"] == "somebody/tiny"
    patterns = asked["allow_patterns"]
    wanted = ["config.json", "model.safetensors", "model.safetensors.index.json"]
    for file in [*wanted, "model-00001-of-00002.safetensors"]:
        assert any(fnmatch(file, p) for p in patterns), file
    for file in ["pytorch_model.bin", "tf_model.h5", "onnx/model.onnx", "model.py"]:
        assert not any(fnmatch(file, p) for p in patterns), file


def test_importing_the_hub_loads_no_framework_and_nothing_that_fetches():
    heavy = {"torch", "jax", "flax", "huggingface_hub", "transformers", "safetensors"}
    code = "import course_lib.hub, sys; print(*sys.modules)"
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert not {name.split(".")[0] for name in run.stdout.split()} & heavy


@pytest.mark.parametrize("package", ["safetensors", "huggingface_hub"])
def test_a_package_that_is_missing_is_named(saved_gpt2, monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=rf"need {package}.*\[hub\]"):
        load("somebody/tiny" if package == "huggingface_hub" else saved_gpt2)
