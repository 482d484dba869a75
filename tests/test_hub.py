"""Checkpoints of `transformers`, saved here with random weights, loaded into ours."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

os.environ["HF_HUB_OFFLINE"] = "1"  # read once, when the libraries are imported

pytest.importorskip("safetensors")
transformers = pytest.importorskip("transformers")
torch = pytest.importorskip("torch")

from safetensors.numpy import load_file, save_file  # noqa: E402

from course_lib.config import GPTConfig  # noqa: E402
from course_lib.hub import load  # noqa: E402

V, MAX = 13, 11


def randomize(model, seed=0):
    """Every number drawn anew: no zero biases, no unit scales, no small logits.

    Some tables are loud, so that a greedy text depends on what it goes on from.
    """
    draw = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, p in [*model.named_parameters(), *model.named_buffers()]:
            if "embed_positions" in name or not p.is_floating_point():
                continue  # fixed sines, counters
            norm = name.endswith("weight") and p.ndim == 1
            loud = any(table in name for table in ("wpe", "shared", "embed_tokens"))
            size = 1.5 if loud else 0.1 if p.ndim == 1 else 0.3
            p.copy_(size * torch.randn(p.shape, generator=draw) + norm)
    return model.eval()


def save(model, folder, **options):
    model.save_pretrained(folder, **options)
    return folder


def edit(folder, **changes):
    """Change fields of config.json; a field that becomes `...` is taken out."""
    path = folder / "config.json"
    fields = json.loads(path.read_text()) | changes
    path.write_text(json.dumps({k: v for k, v in fields.items() if v is not ...}))
    return folder


def rewrite(folder, change):
    """Change the arrays of a checkpoint."""
    path = folder / "model.safetensors"
    arrays = change(load_file(path))
    # The format holds bytes as they lie.
    save_file({k: np.ascontiguousarray(a) for k, a in arrays.items()}, path)
    return folder


def assert_logits(got, expected):
    got, expected = np.asarray(got), expected.detach().float().numpy()
    assert got.shape == expected.shape
    assert got.dtype == np.float32
    assert np.abs(expected).max() > 0.2  # else 1e-4 would say little
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-4)


def logits(wing, model, *arrays, **masks):
    """What our model says, as NumPy."""
    given = [wing.array(a) for a in arrays]
    named = {name: wing.array(a) for name, a in masks.items() if a is not None}
    return wing.numpy(model(*given, **named))


# GPT-2


def gpt2(seed=0, **options):
    sizes = {"vocab_size": V, "n_positions": MAX, "n_embd": 12, "n_layer": 2}
    sizes |= {"n_head": 3, "bos_token_id": None, "eos_token_id": None}
    config = transformers.GPT2Config(**(sizes | options))
    return randomize(transformers.GPT2LMHeadModel(config), seed)


@pytest.fixture
def saved_gpt2(tmp_path):
    return save(gpt2(), tmp_path)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"n_head": 5, "n_embd": 35, "n_layer": 3, "n_inner": 17},
        {"activation_function": "relu", "n_head": 1, "n_layer": 1},
        {"activation_function": "gelu", "layer_norm_epsilon": 0.1},
        {"activation_function": "silu", "tie_word_embeddings": False},
        {"activation_function": "gelu_pytorch_tanh", "n_inner": 5},
    ],
    ids=lambda options: "-".join(map(str, options.values())) or "plain",
)
def test_gpt2_gives_the_same_logits_and_text(wing, rng, tmp_path, options):
    theirs = gpt2(**options)
    ours = load(save(theirs, tmp_path), wing.name)
    ids = rng.integers(0, V, (2, 7))
    assert_logits(logits(wing, ours, ids), theirs(torch.from_numpy(ids)).logits)
    prompts = [ids[0, :3], ids[1, :5]]
    expected = [
        theirs.generate(
            torch.from_numpy(p[None]),
            attention_mask=torch.ones(1, len(p), dtype=torch.long),
            max_new_tokens=5,
            do_sample=False,
            pad_token_id=0,
        )[0, len(p) :].tolist()
        for p in prompts
    ]
    text = wing.lib.generate(ours, prompts, max_new_tokens=5, temperature=0)
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
        n_layers=2,
        n_heads=3,
        d_ff=48,
        dropout=0.3,
    )
    ids = np.array([[1, 2, 3]])
    np.testing.assert_array_equal(logits(wing, model, ids), logits(wing, model, ids))


def test_both_wings_get_the_same_weights(both, saved_gpt2):
    first, second = (w.lib.get_weights(load(saved_gpt2, w.name)) for w in both)
    assert first.keys() == second.keys()
    for name in first:
        np.testing.assert_array_equal(first[name], second[name])


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
    ids = rng.integers(0, V, (2, 7))
    ours = load(tmp_path, wing.name)
    assert_logits(logits(wing, ours, ids), theirs(torch.from_numpy(ids)).logits)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float64"])
def test_checkpoints_of_other_widths_are_read_into_32_bits(wing, rng, tmp_path, dtype):
    theirs = gpt2().to(getattr(torch, dtype))
    ours = load(save(theirs, tmp_path), wing.name)
    assert json.loads((tmp_path / "config.json").read_text())["dtype"] == dtype
    ids = rng.integers(0, V, (2, 7))
    theirs = theirs.float()  # exact from 16 bits, and computed as wide as ours
    assert_logits(logits(wing, ours, ids), theirs(torch.from_numpy(ids)).logits)


def test_a_checkpoint_in_parts_is_read_whole(wing, rng, tmp_path):
    theirs = gpt2()
    save(theirs, tmp_path, max_shard_size="4KB")
    assert len(list(tmp_path.glob("model-*-of-*.safetensors"))) > 2
    ids = rng.integers(0, V, (2, 7))
    ours = load(tmp_path, wing.name)
    assert_logits(logits(wing, ours, ids), theirs(torch.from_numpy(ids)).logits)


# BERT


def bert(model, seed=0, **options):
    sizes = {"vocab_size": V, "max_position_embeddings": MAX, "hidden_size": 12}
    sizes |= {"num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 17}
    config = transformers.BertConfig(**(sizes | options))
    return randomize(getattr(transformers, model)(config), seed)


def pairs(rng, n=7):
    """Two sequences of two segments, padded at the end; ours and their arguments."""
    ids, keep = rng.integers(1, V, (2, n)), np.ones((2, n), bool)
    keep[1, 4:] = False
    types = (np.arange(n) > 2).astype(np.int64)[None].repeat(2, axis=0)
    theirs = {"input_ids": ids, "attention_mask": keep * 1, "token_type_ids": types}
    theirs = {name: torch.from_numpy(a) for name, a in theirs.items()}
    return ids, {"token_types": types, "mask": keep[:, None, None]}, theirs


BERTS = pytest.mark.parametrize(
    "options",
    [
        {},
        {"num_attention_heads": 5, "hidden_size": 35, "num_hidden_layers": 3},
        {"hidden_act": "relu", "num_attention_heads": 1, "type_vocab_size": 3},
        {"hidden_act": "gelu_new", "layer_norm_eps": 0.1, "num_hidden_layers": 1},
        {"hidden_act": "silu", "hidden_dropout_prob": 0.3},
    ],
    ids=lambda options: "-".join(map(str, options.values())) or "plain",
)


@BERTS
def test_bert_guesses_the_same_words(wing, rng, tmp_path, options):
    theirs = bert("BertForMaskedLM", **options)
    ours = load(save(theirs, tmp_path), wing.name)
    assert type(ours) is wing.lib.BERTForMaskedLM
    assert ours.config.d_model == theirs.config.hidden_size
    ids, named, given = pairs(rng)
    assert_logits(logits(wing, ours, ids, **named), theirs(**given).logits)
    expected = theirs(torch.from_numpy(ids)).logits
    assert_logits(logits(wing, ours, ids), expected)


@BERTS
def test_bert_tells_the_same_classes(wing, rng, tmp_path, options):
    theirs = bert("BertForSequenceClassification", num_labels=5, **options)
    ours = load(save(theirs, tmp_path), wing.name)
    assert type(ours) is wing.lib.BERTForClassification
    assert ours.config.n_layers == theirs.config.num_hidden_layers
    ids, named, given = pairs(rng)
    assert_logits(logits(wing, ours, ids, **named), theirs(**given).logits)


def test_two_classes_need_not_be_named(wing, rng, tmp_path):
    theirs = bert("BertForSequenceClassification")
    edit(save(theirs, tmp_path), id2label=..., label2id=...)
    ids, named, given = pairs(rng)
    ours = load(tmp_path, wing.name)
    assert_logits(logits(wing, ours, ids, **named), theirs(**given).logits)


def test_bert_without_a_head_gives_the_same_vectors(wing, rng, tmp_path):
    theirs = bert("BertModel")
    ours = load(save(theirs, tmp_path), wing.name)
    assert type(ours) is wing.lib.BERT
    ids, named, given = pairs(rng)
    expected = theirs(**given)
    hidden = ours(wing.array(ids), **{k: wing.array(a) for k, a in named.items()})
    assert_logits(wing.numpy(hidden), expected.last_hidden_state)
    assert_logits(wing.numpy(ours.pool(hidden)), expected.pooler_output)


def test_bert_may_have_no_pooler(wing, rng, tmp_path):
    config = bert("BertModel").config
    theirs = transformers.BertModel(config, add_pooling_layer=False)
    ours = load(save(randomize(theirs), tmp_path), wing.name)
    assert ours.pooler is None
    ids, named, given = pairs(rng)
    assert_logits(logits(wing, ours, ids, **named), theirs(**given).last_hidden_state)
    # A classifier stands on the pooler, so there it is missed.
    edit(tmp_path, architectures=["BertForSequenceClassification"])
    refuse(tmp_path, "Missing: bert.pooler.bias, bert.pooler.weight, head")


def test_berts_first_files_are_read_too(wing, rng, tmp_path):
    """Gamma and beta, positions' numbers, and what was trained beside the head."""
    theirs = bert("BertForMaskedLM")
    save(theirs, tmp_path)

    def age(arrays):
        arrays = {
            name.replace("LayerNorm.weight", "LayerNorm.gamma").replace(
                "LayerNorm.bias", "LayerNorm.beta"
            ): a
            for name, a in arrays.items()
        }
        square, pair = np.ones((12, 12), np.float32), np.ones((2, 12), np.float32)
        return arrays | {
            "bert.embeddings.position_ids": np.arange(MAX)[None],
            "bert.pooler.dense.weight": square,
            "bert.pooler.dense.bias": square[0],
            "cls.seq_relationship.weight": pair,
            "cls.seq_relationship.bias": pair[:, 0],
            "cls.predictions.decoder.bias": arrays["cls.predictions.bias"].copy(),
        }

    rewrite(tmp_path, age)
    edit(tmp_path, position_embedding_type="absolute", gradient_checkpointing=False)
    ids, named, given = pairs(rng)
    ours = load(tmp_path, wing.name)
    assert_logits(logits(wing, ours, ids, **named), theirs(**given).logits)


def test_fields_of_berts_first_files_are_known(tmp_path):
    load(
        edit(
            save(bert("BertForMaskedLM"), tmp_path),
            directionality="bidi",
            pooler_fc_size=768,
            pooler_num_attention_heads=12,
            pooler_num_fc_layers=3,
            pooler_size_per_head=128,
            pooler_type="first_token_transform",
            output_past=True,
            finetuning_task="sentiment-analysis",
        )
    )


def test_bert_in_16_bits_and_in_parts(wing, rng, tmp_path):
    theirs = bert("BertForMaskedLM").to(torch.bfloat16)
    save(theirs, tmp_path, max_shard_size="2KB")
    assert not (tmp_path / "model.safetensors").exists()
    ids, named, given = pairs(rng)
    ours, theirs = load(tmp_path, wing.name), theirs.float()
    assert_logits(logits(wing, ours, ids, **named), theirs(**given).logits)


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"position_embedding_type": "relative_key"}, "position_embedding_type="),
        ({"is_decoder": True}, "is_decoder=True"),
        ({"directionality": "left"}, "directionality='left'"),
        ({"add_cross_attention": True}, "add_cross_attention=True"),
        ({"tie_word_embeddings": False}, "tie_word_embeddings=False"),
        ({"hidden_act": "quick_gelu"}, "hidden_act='quick_gelu'"),
        ({"embedding_size": 5}, "embedding_size=5"),
        ({"hidden_size": ...}, "must say what hidden_size is"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_a_bert_that_is_none_of_ours_is_refused(tmp_path, changes, match):
    refuse(edit(save(bert("BertForMaskedLM"), tmp_path), **changes), match)


# ViT


def vit(seed=0, **options):
    sizes = {"hidden_size": 12, "num_hidden_layers": 2, "num_attention_heads": 3}
    sizes |= {"intermediate_size": 17, "image_size": 14, "patch_size": 7}
    config = transformers.ViTConfig(**({"num_labels": 5} | sizes | options))
    return randomize(transformers.ViTForImageClassification(config), seed)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"image_size": [6, 15], "patch_size": [3, 3], "num_channels": 1},
        {"num_attention_heads": 5, "hidden_size": 35, "num_hidden_layers": 3},
        {"hidden_act": "gelu_pytorch_tanh", "layer_norm_eps": 0.1, "num_labels": 2},
        {"hidden_act": "relu", "num_hidden_layers": 1, "patch_size": 2},
    ],
    ids=lambda options: "-".join(map(str, options.values())) or "plain",
)
def test_vit_sees_the_same_classes(wing, rng, tmp_path, options):
    theirs = vit(**options)
    ours = load(save(theirs, tmp_path), wing.name)
    assert type(ours) is wing.lib.ViT
    shape = 2, ours.config.n_channels, *ours.config.image_shape
    images = rng.standard_normal(shape, np.float32)
    assert_logits(logits(wing, ours, images), theirs(torch.from_numpy(images)).logits)


def test_vit_is_read_under_its_newer_names_too(wing, rng, tmp_path):
    theirs = vit()
    save(theirs, tmp_path)
    new = {name: p.detach().numpy() for name, p in theirs.named_parameters()}
    assert "vit.layers.0.attention.q_proj.weight" in new
    rewrite(tmp_path, lambda arrays: new)
    images = rng.standard_normal((2, 3, 14, 14), np.float32)
    ours = load(tmp_path, wing.name)
    assert_logits(logits(wing, ours, images), theirs(torch.from_numpy(images)).logits)


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"qkv_bias": False}, "qkv_bias=False"),
        ({"patch_size": [7, 2]}, "patch_size=.7, 2.*squares"),
        ({"hidden_act": "quick_gelu"}, "hidden_act='quick_gelu'"),
        ({"head_dim": 5}, "head_dim=5"),
        ({"image_size": 15}, "patch"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_a_vit_that_is_none_of_ours_is_refused(tmp_path, changes, match):
    refuse(edit(save(vit(), tmp_path), **changes), match)


# Marian


def marian(seed=0, **options):
    sizes = {"vocab_size": V, "d_model": 12, "max_position_embeddings": MAX}
    sizes |= {"pad_token_id": 0, "eos_token_id": 1, "forced_eos_token_id": None}
    sizes |= {"decoder_start_token_id": 0}
    for side in ("encoder", "decoder"):
        sizes |= {f"{side}_layers": 2, f"{side}_attention_heads": 3}
        sizes |= {f"{side}_ffn_dim": 17}
    config = transformers.MarianConfig(**(sizes | options))
    return randomize(transformers.MarianMTModel(config), seed)


def decode_greedily(wing, model, source, mask, start, n):
    """The likeliest token after the likeliest token, whatever it is."""
    memory = model.encode(source, source_mask=mask)
    target = np.full((len(source), 1), start)
    for _ in range(n):
        scores = model.decode(wing.array(target), memory, source_mask=mask)
        best = wing.numpy(scores)[:, -1].argmax(axis=-1)
        target = np.concatenate([target, best[:, None]], axis=1)
    return target[:, 1:]


HEADS = {"encoder_attention_heads": 5, "decoder_attention_heads": 5}
APART = {"share_encoder_decoder_embeddings": False, "decoder_vocab_size": 17}


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"d_model": 30, "encoder_layers": 1, "decoder_layers": 3} | HEADS,
        {"activation_function": "swish", "scale_embedding": True},
        {"activation_function": "relu", "encoder_layers": 3} | APART,
        APART,
        APART | {"tie_word_embeddings": False, "dropout": 0.3},
    ],
    ids=lambda options: "-".join(map(str, options.values())) or "plain",
)
def test_marian_translates_alike(wing, rng, tmp_path, options):
    theirs = marian(**options)
    ours = load(save(theirs, tmp_path), wing.name)
    assert type(ours) is wing.lib.Seq2Seq
    source, keep = rng.integers(2, V, (3, 7)), np.ones((3, 7), bool)
    keep[1, 4:] = False
    source[~keep] = 0
    target = rng.integers(2, V, (3, 5))
    given = {"attention_mask": torch.from_numpy(keep * 1)}
    mask = keep[:, None, None]
    expected = theirs(
        torch.from_numpy(source), decoder_input_ids=torch.from_numpy(target), **given
    ).logits
    assert_logits(logits(wing, ours, source, target, source_mask=mask), expected)
    # No token ends a text here, so that all lengths are one.
    written = theirs.generate(
        torch.from_numpy(source),
        **given,
        max_new_tokens=6,
        do_sample=False,
        num_beams=1,
        eos_token_id=None,
    )[:, 1:].numpy()
    read = wing.array(source), wing.array(mask)
    np.testing.assert_array_equal(decode_greedily(wing, ours, *read, 0, 6), written)
    assert len(np.unique(written)) > 1


def test_marians_stored_positions_are_checked(wing, rng, tmp_path):
    theirs = marian()
    save(theirs, tmp_path)
    waves = theirs.model.encoder.embed_positions.weight.bfloat16().float().numpy()
    names = [f"model.{side}.embed_positions.weight" for side in ("encoder", "decoder")]
    rewrite(tmp_path, lambda arrays: arrays | dict.fromkeys(names, waves))
    source, target = rng.integers(2, V, (2, 3, 7))
    expected = theirs(
        torch.from_numpy(source), decoder_input_ids=torch.from_numpy(target)
    ).logits
    ours = load(tmp_path, wing.name)
    assert_logits(logits(wing, ours, source, target), expected)
    rewrite(tmp_path, lambda arrays: arrays | {names[1]: waves + np.float32(0.01)})
    refuse(tmp_path, "model.decoder.embed_positions.weight .* must hold sines")


def test_marian_may_have_no_bias_of_the_logits(wing, rng, tmp_path):
    theirs = marian()
    theirs.final_logits_bias.zero_()
    save(theirs, tmp_path)
    rewrite(
        tmp_path,
        lambda arrays: {k: a for k, a in arrays.items() if k != "final_logits_bias"},
    )
    ours = load(tmp_path, wing.name)
    assert not ours.config.head_bias
    source, target = rng.integers(2, V, (2, 3, 7))
    expected = theirs(
        torch.from_numpy(source), decoder_input_ids=torch.from_numpy(target)
    ).logits
    assert_logits(logits(wing, ours, source, target), expected)


def test_marian_knows_the_fields_of_published_files(tmp_path):
    load(
        edit(
            save(marian(), tmp_path),
            decoder_vocab_size=...,
            static_position_embeddings=True,
            normalize_before=False,
            normalize_embedding=False,
            add_final_layer_norm=False,
            add_bias_logits=False,
            num_hidden_layers=2,
            classif_dropout=0.0,
            classifier_dropout=0.0,
            extra_pos_embeddings=13,
            force_bos_token_to_be_generated=False,
            total_flos=0.0,
            max_length=512,
            num_beams=6,
            bad_words_ids=[[0]],
            _num_labels=3,
            id2label={"0": "LABEL_0"},
        )
    )


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"decoder_attention_heads": 4}, "decoder_attention_heads=4.*must be 3"),
        ({"decoder_ffn_dim": 19}, "decoder_ffn_dim=19.*must be 17"),
        ({"decoder_vocab_size": 17}, "decoder_vocab_size=17.*must be 13"),
        ({"tie_word_embeddings": False}, "tie_word_embeddings=False"),
        ({"normalize_before": True}, "normalize_before=True"),
        ({"normalize_embedding": True}, "normalize_embedding=True"),
        ({"add_final_layer_norm": True}, "add_final_layer_norm=True"),
        ({"static_position_embeddings": False}, "static_position_embeddings=False"),
        ({"activation_function": "tanh"}, "activation_function='tanh'"),
        ({"is_encoder_decoder": False}, "is_encoder_decoder=False"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_a_marian_that_is_none_of_ours_is_refused(tmp_path, changes, match):
    refuse(edit(save(marian(), tmp_path), **changes), match)


# Refusals


def refuse(folder, match):
    with pytest.raises(ValueError, match=match):
        load(folder)


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
        ({"architectures": ["LlamaForCausalLM"]}, "GPT2LMHeadModel.*LlamaForCausalLM"),
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
        assert f"blocks.1.attention.{part}_proj.bias" in missing
    assert "norm.weight" in missing
    assert "transformer.h.0.gate.weight" in extra
    assert "score.bias" in extra


def test_a_layer_too_many_or_too_few_is_refused(saved_gpt2):
    refuse(edit(saved_gpt2, n_layer=1), "Not expected: blocks.1")
    refuse(edit(saved_gpt2, n_layer=3), "Missing: blocks.2")


def test_weights_of_another_shape_are_refused(saved_gpt2):
    refuse(edit(saved_gpt2, n_positions=7), "positions.table.weight .model .7, 12.")
    refuse(edit(saved_gpt2, n_positions=MAX, n_inner=17), "up_proj.weight")


def test_a_head_that_is_called_tied_must_be_it(wing, rng, tmp_path):
    theirs = gpt2()
    save(theirs, tmp_path)
    head = "lm_head.weight"
    rewrite(tmp_path, lambda a: a | {head: a["transformer.wte.weight"].copy()})
    ids = rng.integers(0, V, (2, 7))
    ours = load(tmp_path, wing.name)
    assert_logits(logits(wing, ours, ids), theirs(torch.from_numpy(ids)).logits)
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
