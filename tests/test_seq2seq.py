"""Encoder and decoder: against the oracle, what sees what."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from models import count, randomize
from wings import assert_close

from course_lib import oracle
from course_lib.config import ACTIVATIONS, NORM_KINDS, NORMS, POSITIONS, Seq2SeqConfig

B, S, T, V, W, MAX = 2, 7, 5, 13, 17, 11
CONFIG = Seq2SeqConfig(
    vocab_size=V, max_len=MAX, d_model=12, n_layers=2, n_heads=3, d_ff=19
)
APART = {"share_embeddings": False, "target_vocab_size": W}
MARIAN = {"activation": "silu", "head_bias": True, "interleaved": False}


def vary(**options):
    return dataclasses.replace(CONFIG, **options)


def draw(rng, b=B, s=S, t=T):
    return rng.integers(0, V, (b, s)), rng.integers(0, V, (b, t))


@settings(max_examples=12)
@given(
    st.integers(0, 2**32 - 1),
    st.fixed_dictionaries(
        {
            "position": st.sampled_from(POSITIONS),
            "norm": st.sampled_from(NORMS),
            "norm_kind": st.sampled_from(NORM_KINDS),
            "activation": st.sampled_from(ACTIVATIONS),
            "n_kv_heads": st.sampled_from([None, 1]),
            "tie_head": st.booleans(),
            "head_bias": st.booleans(),
            "scale_embeddings": st.booleans(),
            "interleaved": st.booleans(),
            "n_decoder_layers": st.sampled_from([None, 1]),
        }
    ),
    st.sampled_from([{}, APART]),
    st.sampled_from([(B, S, T), (1, 1, 1)]),
    st.booleans(),
)
def test_equals_the_oracle(wing, seed, options, tables, sizes, padded):
    config = vary(**options, **tables)
    rng = np.random.default_rng(seed)
    source, target = draw(rng, *sizes)
    mask = rng.random((sizes[0], 1, 1, sizes[1])) < 0.7 if padded else None
    model, weights = randomize(wing, wing.make(wing.lib.Seq2Seq, config))
    got = model(
        wing.array(source),
        wing.array(target),
        source_mask=None if mask is None else wing.array(mask),
    )
    expected = oracle.seq2seq(source, target, weights, config, mask)
    assert_close(wing.numpy(got), expected)


@pytest.mark.parametrize("position", POSITIONS)
def test_the_target_cannot_see_its_future(wing, rng, position):
    model, _ = randomize(wing, wing.make(wing.lib.Seq2Seq, vary(position=position)))
    source, target = draw(rng)
    before = wing.numpy(model(wing.array(source), wing.array(target)))
    target[:, 2] = (target[:, 2] + 1) % V
    after = wing.numpy(model(wing.array(source), wing.array(target)))
    np.testing.assert_array_equal(after[:, :2], before[:, :2])
    assert (np.abs(after[:, 2:] - before[:, 2:]).max(axis=(0, 2)) > 1e-6).all()


def test_no_gradient_comes_from_the_future(wing):
    config = vary(tie_head=False, **APART)
    model, _ = randomize(wing, wing.make(wing.lib.Seq2Seq, config))
    source, target, t = np.array([[2, 3, 5]]), np.array([[7, 2, 11, 5]]), 1
    grads = wing.parameter_grads(
        model,
        lambda m: (m(wing.array(source), wing.array(target))[:, t] ** 2).sum(),
    )
    reached = np.abs(grads["target_tokens.weight"][target[0]]).max(axis=1) > 0
    np.testing.assert_array_equal(reached, [True, True, False, False])
    reached = np.abs(grads["source_tokens.weight"][source[0]]).max(axis=1) > 0
    assert reached.all()  # of the source it may see everything


def test_every_target_position_sees_every_source_position(wing, rng):
    model, _ = randomize(wing, wing.make(wing.lib.Seq2Seq, CONFIG))
    source, target = draw(rng)
    before = wing.numpy(model(wing.array(source), wing.array(target)))
    for s in (0, S - 1):
        changed = source.copy()
        changed[:, s] = (changed[:, s] + 1) % V
        after = wing.numpy(model(wing.array(changed), wing.array(target)))
        assert (np.abs(after - before).max(axis=(0, 2)) > 1e-6).all()


@pytest.mark.parametrize("position", POSITIONS)
def test_padding_changes_nothing(wing, rng, position):
    model, _ = randomize(wing, wing.make(wing.lib.Seq2Seq, vary(position=position)))
    source, target = draw(rng)
    alone = wing.numpy(model(wing.array(source[:, :3]), wing.array(target[:, :2])))
    padded = model(
        wing.array(source),
        wing.array(target),
        source_mask=wing.lib.padding_mask([3, 3], S),
    )
    assert_close(wing.numpy(padded)[:, :2], alone)


def test_a_source_of_nothing_but_padding_is_finite(wing, rng):
    model, _ = randomize(wing, wing.make(wing.lib.Seq2Seq, CONFIG))
    source, target = draw(rng)
    mask = wing.lib.padding_mask([0, S], S)

    def run(m):
        return m(wing.array(source), wing.array(target), source_mask=mask)

    assert np.isfinite(wing.numpy(run(model))).all()
    grads = wing.parameter_grads(model, lambda m: (run(m) ** 2).sum())
    assert all(np.isfinite(g).all() for g in grads.values())


def test_the_encoder_runs_once(wing, rng):
    model, _ = randomize(wing, wing.make(wing.lib.Seq2Seq, CONFIG))
    source, target = draw(rng)
    memory = model.encode(wing.array(source))
    apart = model.decode(wing.array(target), memory)
    together = model(wing.array(source), wing.array(target))
    np.testing.assert_array_equal(wing.numpy(apart), wing.numpy(together))


@pytest.mark.parametrize("position", POSITIONS)
def test_a_cache_changes_nothing(wing, rng, position):
    config = vary(position=position, n_decoder_layers=3)
    model, _ = randomize(wing, wing.make(wing.lib.Seq2Seq, config))
    source, target = draw(rng)
    memory = model.encode(wing.array(source))
    whole = wing.numpy(model.decode(wing.array(target), memory))
    cache = model.begin(memory, MAX)
    parts = [
        wing.numpy(model.read(wing.array(target[:, i:j]), cache))
        for i, j in ((0, 2), (2, 3), (3, 5))
    ]
    assert_close(np.concatenate(parts, axis=1), whole)


def test_maps_come_as_encoder_then_decoder_own_and_cross(wing, rng):
    model, _ = randomize(wing, wing.make(wing.lib.Seq2Seq, CONFIG))
    source, target = draw(rng)
    maps = wing.lib.attention_maps(model, wing.array(source), wing.array(target))
    shapes = [wing.numpy(m).shape[2:] for m in maps]
    assert shapes == [(S, S), (S, S), (T, T), (T, S), (T, T), (T, S)]
    assert (np.triu(wing.numpy(maps[2]), 1) == 0).all()
    assert (wing.numpy(maps[3]) > 0).all()


def test_tables_are_shared_or_apart(wing):
    def tables(**options):
        model = wing.make(wing.lib.Seq2Seq, vary(**options))
        weights = wing.lib.get_weights(model)
        d = CONFIG.d_model
        return sorted(
            name for name, w in weights.items() if w.shape in ((V, d), (W, d))
        )

    assert tables() == ["source_tokens.weight"]
    assert tables(tie_head=False) == ["head.weight", "source_tokens.weight"]
    assert tables(**APART) == ["source_tokens.weight", "target_tokens.weight"]
    everything = tables(**APART, tie_head=False)
    assert everything == [
        "head.weight",
        "source_tokens.weight",
        "target_tokens.weight",
    ]


def test_scaled_vectors_start_with_entries_of_size_one(wing):
    model = wing.make(wing.lib.Seq2Seq, vary(vocab_size=1009, d_model=90))
    table = wing.lib.get_weights(model)["source_tokens.weight"]
    assert np.isclose(table.std() * np.sqrt(90), 1, rtol=0.02)


def test_the_base_model_has_the_parameters_of_its_paper(wing):
    config = Seq2SeqConfig.base()
    number = count(wing, "Seq2Seq", config)
    table = config.vocab_size * config.d_model
    # PyTorch's own nn.Transformer has two norms more than the paper's figure 1.
    assert number == 44_140_544 - 2 * 2 * 512 + table
    assert abs(number / 65e6 - 1) < 0.03  # table 3 says 65 million


def test_without_tokens_it_counts_as_the_frameworks_own(both):
    torch = pytest.importorskip("torch")
    with torch.device("meta"):
        own = torch.nn.Transformer(batch_first=True)  # the paper's base sizes
    config = dataclasses.replace(Seq2SeqConfig.base(), norm="pre")
    ours = count(both[0], "Seq2Seq", config)
    table = config.vocab_size * config.d_model
    assert ours - table == sum(p.numel() for p in own.parameters())


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda w: w.make(w.lib.Seq2Seq, CONFIG).encode(
                w.array(np.ones((2, 12), int))
            ),
            ["max_len=11", "0 to 11"],
        ),
        (
            lambda w: w.make(w.lib.Seq2Seq, CONFIG)(
                w.array(np.ones((2, 5), int)), w.array(np.ones(5, int))
            ),
            ["target must be a batch", "target[None]"],
        ),
    ],
)
def test_nonsense_is_refused(wing, no_hook, call, words):
    with pytest.raises(ValueError) as error:  # noqa: PT011 the words are checked below
        call(wing)
    for word in words:
        assert word in str(error.value), str(error.value)
