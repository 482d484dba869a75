"""Encoder and decoder: what is its own beside `test_models`: what sees what, tables."""

import dataclasses

import numpy as np
import pytest
from models import MODELS, S, V, count

from course_lib.config import Seq2SeqConfig

W = 19
CASE = MODELS["Seq2Seq"]
CONFIG = CASE.config
APART = {"share_embeddings": False, "target_vocab_size": W}


def test_every_target_position_sees_every_source_position(wing, rng):
    model = CASE.random(wing)
    source, target = CASE.draw(rng)
    before = wing.numpy(model(wing.array(source), wing.array(target)))
    for s in (0, S - 1):
        changed = source.copy()
        changed[:, s] = (changed[:, s] + 1) % V
        after = wing.numpy(model(wing.array(changed), wing.array(target)))
        assert (np.abs(after - before).max(axis=(0, 2)) > 1e-6).all()


def test_rotary_positions_tell_orders_apart_on_either_side(wing):
    """Without them one layer would give the last place the same for any order."""
    model = CASE.random(wing, position="rotary", n_layers=1, n_decoder_layers=1)
    source, target = np.array([[2, 3, 5]]), np.array([[7, 2, 11]])
    last = wing.numpy(model(wing.array(source), wing.array(target)))[0, -1]
    for one, other in ((source[:, [1, 0, 2]], target), (source, target[:, [1, 0, 2]])):
        turned = wing.numpy(model(wing.array(one), wing.array(other)))[0, -1]
        assert np.abs(turned - last).max() > 1e-4


def test_tables_are_shared_or_apart(wing):
    def tables(**options):
        model = CASE.build(wing, **options)
        weights = wing.lib.get_weights(model)
        d = CONFIG.d_model
        return sorted(
            name for name, w in weights.items() if w.shape in ((V, d), (W, d))
        )

    assert tables() == ["source_tokens.weight"]
    assert tables(tie_head=False) == ["head.weight", "source_tokens.weight"]
    assert tables(**APART) == ["source_tokens.weight", "target_tokens.weight"]
    everything = ["head.weight", "source_tokens.weight", "target_tokens.weight"]
    assert tables(**APART, tie_head=False) == everything


def test_scaled_vectors_start_with_entries_of_size_one(wing):
    model = CASE.build(wing, vocab_size=1009, d_model=90)
    table = wing.lib.get_weights(model)["source_tokens.weight"]
    assert np.isclose(table.std() * np.sqrt(90), 1, rtol=0.02)


def test_without_tokens_it_counts_as_the_frameworks_own(both):
    torch = pytest.importorskip("torch")
    with torch.device("meta"):
        own = torch.nn.Transformer(batch_first=True)  # the paper's base sizes
    config = dataclasses.replace(Seq2SeqConfig.base(), norm="pre")
    ours = count(both[0], "Seq2Seq", config)
    table = config.vocab_size * config.d_model
    assert ours - table == sum(p.numel() for p in own.parameters())
