"""BERT's checkpoints, as `transformers` writes them, loaded into ours."""

import re

import numpy as np
import pytest
from published import (
    MAX,
    V,
    assert_logits,
    assert_read_alike,
    edit,
    logits,
    randomize,
    refuse,
    rewrite,
    save,
    torch,
    transformers,
)
from wings import each

from course_lib.hub import load

# What DistilBERT calls the same things.
DISTIL = {
    **{"hidden_size": "dim", "num_hidden_layers": "n_layers"},
    **{"num_attention_heads": "n_heads", "intermediate_size": "hidden_dim"},
    **{"hidden_act": "activation", "hidden_dropout_prob": "dropout"},
}
OWN = {
    "Bert": {},
    "DistilBert": {},
    "Roberta": {"pad_token_id": 2, "type_vocab_size": 1},
}


def bert(model, seed=0, **options):
    sizes = {"vocab_size": V, "max_position_embeddings": MAX, "hidden_size": 12}
    sizes |= {"num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 17}
    family = re.split("For|Model", model)[0]
    options = sizes | OWN[family] | options
    if family == "DistilBert":
        options = {DISTIL.get(name, name): value for name, value in options.items()}
    config = getattr(transformers, f"{family}Config")(**options)
    return randomize(getattr(transformers, model)(config), seed)


def pairs(rng, theirs, n=7):
    """Two sequences of two segments, padded at the end; ours and their arguments.

    Of what stands at the padding, nobody makes use.
    """
    ids, keep = rng.integers(3, V, (2, n)), np.ones((2, n), bool)
    keep[1, 4:] = False
    ids[~keep] = theirs.config.pad_token_id
    named, given = {"mask": keep[:, None, None]}, {"attention_mask": keep * 1}
    if getattr(theirs.config, "type_vocab_size", 1) > 1:
        types = (np.arange(n) > 2).astype(np.int64)[None].repeat(2, axis=0)
        named["token_types"] = given["token_type_ids"] = types
    given = {name: torch.from_numpy(a) for name, a in given.items()}
    return ids, named, given | {"input_ids": torch.from_numpy(ids)}, keep


FORMS = [
    ("Bert", {}),
    ("Roberta", {}),
    ("DistilBert", {}),
    ("Bert", {"hidden_act": "silu", "hidden_dropout_prob": 0.3}),
    ("Bert", {"num_attention_heads": 5, "hidden_size": 35, "num_hidden_layers": 3}),
    ("Bert", {"hidden_act": "relu", "num_attention_heads": 1, "type_vocab_size": 3}),
    ("Bert", {"hidden_act": "gelu_new", "layer_norm_eps": 0.1, "num_hidden_layers": 1}),
    ("Roberta", {"layer_norm_eps": 0.1, "pad_token_id": 0, "type_vocab_size": 2}),
    ("DistilBert", {"hidden_act": "relu", "sinusoidal_pos_embds": True}),
]


@pytest.mark.parametrize(("family", "options"), FORMS)
@pytest.mark.parametrize("head", ["MaskedLM", "SequenceClassification"])
def test_both_wings_read_the_same(both, tmp_path, family, head, options):
    assert_read_alike(both, save(bert(f"{family}For{head}", **options), tmp_path))


@each(("family", "options"), FORMS, nnx=FORMS[:3])
def test_bert_guesses_the_same_words(wing, rng, tmp_path, family, options):
    theirs = bert(f"{family}ForMaskedLM", **options)
    ours = load(save(theirs, tmp_path), wing.name)
    assert type(ours) is wing.lib.BERTForMaskedLM
    assert ours.config.d_model == theirs.config.hidden_size
    ids, named, given, keep = pairs(rng, theirs)
    got, expected = logits(wing, ours, ids, **named), theirs(**given).logits
    assert_logits(got[keep], expected[torch.from_numpy(keep)])
    ids = rng.integers(3, V, (2, 7))
    expected = theirs(torch.from_numpy(ids)).logits
    assert_logits(logits(wing, ours, ids), expected)


@each(("family", "options"), FORMS, nnx=FORMS[:3])
def test_bert_tells_the_same_classes(wing, rng, tmp_path, family, options):
    theirs = bert(f"{family}ForSequenceClassification", num_labels=5, **options)
    ours = load(save(theirs, tmp_path), wing.name)
    assert type(ours) is wing.lib.BERTForClassification
    assert ours.config.n_layers == theirs.config.num_hidden_layers
    ids, named, given, _ = pairs(rng, theirs)
    assert_logits(logits(wing, ours, ids, **named), theirs(**given).logits)


def test_two_classes_need_not_be_named(wing, rng, tmp_path):
    theirs = bert("BertForSequenceClassification")
    edit(save(theirs, tmp_path), id2label=..., label2id=...)
    ids, named, given, _ = pairs(rng, theirs)
    ours = load(tmp_path, wing.name)
    assert_logits(logits(wing, ours, ids, **named), theirs(**given).logits)


@each("family", OWN, nnx=["Roberta"])
def test_bert_without_a_head_gives_the_same_vectors(wing, rng, tmp_path, family):
    theirs = bert(f"{family}Model")
    ours = load(save(theirs, tmp_path), wing.name)
    assert type(ours) is wing.lib.BERT
    ids, named, given, keep = pairs(rng, theirs)
    expected = theirs(**given)
    hidden = ours(wing.array(ids), **{k: wing.array(a) for k, a in named.items()})
    wanted = expected.last_hidden_state[torch.from_numpy(keep)]
    assert_logits(wing.numpy(hidden)[keep], wanted)
    if family == "DistilBert":
        assert ours.pooler is None
    else:
        assert_logits(wing.numpy(ours.pool(hidden)), expected.pooler_output)


def test_bert_may_have_no_pooler(wing, rng, tmp_path):
    config = bert("BertModel").config
    theirs = transformers.BertModel(config, add_pooling_layer=False)
    ours = load(save(randomize(theirs), tmp_path), wing.name)
    assert ours.pooler is None
    ids, named, given, _ = pairs(rng, theirs)
    assert_logits(logits(wing, ours, ids, **named), theirs(**given).last_hidden_state)
    # A classifier stands on the pooler, so there it is missed.
    edit(tmp_path, architectures=["BertForSequenceClassification"])
    refuse(tmp_path, r"Missing: bert.pooler.bias \(there pooler.dense.bias\)")


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
    ids, named, given, _ = pairs(rng, theirs)
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
    ids, named, given, _ = pairs(rng, theirs)
    ours, theirs = load(tmp_path, wing.name), theirs.float()
    assert_logits(logits(wing, ours, ids, **named), theirs(**given).logits)


GONE = {
    "Roberta": ("lm_head.dense.weight", "transform.weight"),
    "DistilBert": (
        "distilbert.transformer.layer.1.ffn.lin2.bias",
        "bert.blocks.1.feed_forward.down_proj.bias",
    ),
}


@pytest.mark.parametrize("family", GONE)
def test_a_missing_weight_is_named_as_the_file_would(tmp_path, family):
    theirs, ours = GONE[family]
    save(bert(f"{family}ForMaskedLM"), tmp_path)
    rewrite(tmp_path, lambda arrays: {k: a for k, a in arrays.items() if k != theirs})
    refuse(tmp_path, rf"Missing: {ours} \(there {theirs}\). Not")


@pytest.mark.parametrize(
    ("family", "changes", "match"),
    [
        ("Bert", {"position_embedding_type": "relative_key"}, "position_embedding_ty"),
        ("Bert", {"is_decoder": True}, "is_decoder=True"),
        ("Bert", {"directionality": "left"}, "directionality='left'"),
        ("Bert", {"add_cross_attention": True}, "add_cross_attention=True"),
        ("Bert", {"tie_word_embeddings": False}, "tie_word_embeddings=False"),
        ("Bert", {"hidden_act": "quick_gelu"}, "hidden_act='quick_gelu'"),
        ("Bert", {"embedding_size": 5}, "embedding_size=5"),
        ("Bert", {"hidden_size": ...}, "must say what hidden_size is"),
        ("Roberta", {"hidden_act": "relu"}, "hidden_act='relu'.* must be 'gelu'"),
        ("Roberta", {"pad_token_id": None}, "pad_token_id in .* whole number of at"),
        ("Roberta", {"qa_dropout": 0.1}, "qa_dropout=0.1"),
        ("DistilBert", {"tie_weights_": False}, "tie_weights_=False"),
        ("DistilBert", {"dim": ...}, "must say what dim is"),
        ("DistilBert", {"type_vocab_size": 2}, "type_vocab_size=2"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_a_bert_that_is_none_of_ours_is_refused(tmp_path, family, changes, match):
    refuse(edit(save(bert(f"{family}ForMaskedLM"), tmp_path), **changes), match)
