"""Marian's checkpoints, as `transformers` writes them, loaded into ours."""

import numpy as np
import pytest
from published import (
    BEFORE_5,
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
    # What is to come holds the start's id, which the past can't see: one shape for JAX.
    target = np.full((len(source), n + 1), start)
    for t in range(n):
        scores = model.decode(wing.array(target), memory, source_mask=mask)
        target[:, t + 1] = wing.numpy(scores)[:, t].argmax(axis=-1)
    return target[:, 1:]


HEADS = {"encoder_attention_heads": 5, "decoder_attention_heads": 5}
APART = {"share_encoder_decoder_embeddings": False, "decoder_vocab_size": 17}


FORMS = [
    {},
    {"d_model": 30, "encoder_layers": 1, "decoder_layers": 3} | HEADS,
    {"activation_function": "swish", "scale_embedding": True},
]
if not BEFORE_5:  # before, it makes the target's table as the source's
    FORMS += [
        {"activation_function": "relu", "encoder_layers": 3} | APART,
        APART,
        APART | {"tie_word_embeddings": False, "dropout": 0.3},
    ]


@pytest.mark.parametrize("options", FORMS)
def test_both_wings_read_the_same(both, tmp_path, options):
    assert_read_alike(both, save(marian(**options), tmp_path))


@each("options", FORMS, nnx=[FORMS[0], FORMS[-1]])
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
