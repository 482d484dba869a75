"""Recurrent translation: gradients, teacher forcing, padding, alignment, decoding."""

import numpy as np
import pytest
from models import assert_wings_agree
from wings import assert_close, each

from course_lib.checks import checking_values

B, T, S = 2, 3, 5
V_SOURCE, V_TARGET, D = 13, 17, 6


def translator(wing, **options):
    model = wing.make(wing.lib.RecurrentSeq2Seq, V_SOURCE, V_TARGET, D, **options)
    return wing.cast(model, "float64")


def ids(rng, length, vocab_size):
    return rng.integers(0, vocab_size, (B, length))


@pytest.mark.parametrize("attend", [True, False])
def test_wings_agree_forward_and_in_every_gradient(both, rng, attend):
    source, target = ids(rng, S, V_SOURCE), ids(rng, T, V_TARGET)
    grads = assert_wings_agree(
        both,
        lambda w: translator(w, attend=attend),
        lambda w, model: model(w.array(source), w.array(target)),
    )
    for name, grad in grads.items():
        assert np.abs(grad).max() > 0, f"{name} does nothing"


def test_a_tokens_vector_starts_with_length_one(wing):
    model = wing.make(wing.lib.RecurrentSeq2Seq, 503, 509, 10)
    weights = wing.lib.get_weights(model)
    for name in ("source_embedding.weight", "target_embedding.weight"):
        assert np.isclose(weights[name].std() * np.sqrt(10), 1, rtol=0.05), name


@each("attend", [True, False], nnx=[True])
def test_the_past_cannot_see_the_future(wing, rng, attend):
    source, target = ids(rng, S, V_SOURCE), ids(rng, T, V_TARGET)
    model = translator(wing, attend=attend)
    before = wing.numpy(model(wing.array(source), wing.array(target)))
    target[:, 2:] = (target[:, 2:] + 1) % V_TARGET
    after = wing.numpy(model(wing.array(source), wing.array(target)))
    np.testing.assert_array_equal(after[:, :2], before[:, :2])
    assert np.abs(after[:, 2:] - before[:, 2:]).max() > 1e-6


@each("attend", [True, False], nnx=[True])
def test_padding_the_source_changes_nothing(wing, rng, attend):
    source, target = ids(rng, S, V_SOURCE), ids(rng, T, V_TARGET)
    model = translator(wing, attend=attend)
    before = wing.numpy(model(wing.array(source), wing.array(target)))
    padded = np.concatenate([source, ids(rng, 2, V_SOURCE)], axis=1)
    mask = np.tile(np.arange(S + 2) < S, (B, 1, 1, 1))
    after = model(wing.array(padded), wing.array(target), source_mask=wing.array(mask))
    assert_close(wing.numpy(after), before)


def test_the_alignment_is_a_distribution_over_the_source(wing, rng):
    source, target = ids(rng, S, V_SOURCE), ids(rng, T, V_TARGET)
    mask = np.tile(np.arange(S) < 3, (B, 1, 1, 1))
    maps = wing.numpy(
        translator(wing).maps(
            wing.array(source), wing.array(target), source_mask=wing.array(mask)
        )
    )
    assert maps.shape == (B, T, S)
    np.testing.assert_allclose(maps.sum(-1), 1)
    assert not maps[..., 3:].any()


def test_dropout_is_off_in_evaluation(wing, rng):
    source, target = (wing.array(ids(rng, n, V_SOURCE)) for n in (S, T))
    model = translator(wing, dropout=0.5)
    once, again = (wing.numpy(model(source, target)) for _ in range(2))
    np.testing.assert_array_equal(once, again)


def test_dropout_has_the_rate_that_was_asked_for(wing):
    parts = wing.dropouts(translator(wing, dropout=0.3))
    assert {name: wing.rate(part) for name, part in parts.items()} == {"dropout": 0.3}


def test_dropout_acts_on_the_source_embedding(wing, rng):
    source = wing.array(ids(rng, S, V_SOURCE))
    model = translator(wing, dropout=0.5)
    model.train()
    once, again = (wing.numpy(model.encode(source)) for _ in range(2))
    assert np.abs(once - again).max() > 1e-3


def test_dropout_acts_on_the_target_embedding(wing, rng):
    """Seen in the alignment, which the dropout before the head does not reach."""
    source, target = (wing.array(ids(rng, n, V_SOURCE)) for n in (S, T))
    model = translator(wing, dropout=0.5)
    memory = model.encode(source)  # in evaluation, without dropout
    model.train()
    once, again = (
        wing.numpy(model._decode(target, model.begin(memory))[1]) for _ in "12"
    )
    np.testing.assert_array_equal(once[:, 0], again[:, 0])  # before the first token
    assert np.abs(once[:, 1:] - again[:, 1:]).max() > 1e-4


def test_dropout_acts_before_the_head(wing, rng):
    """Seen through a head that passes its inputs on: about half of them are 0."""
    source, target = (wing.array(ids(rng, n, V_SOURCE)) for n in (S, 11))
    model = translator(wing, dropout=0.5)
    weights = wing.lib.get_weights(model)
    weights |= {"head.weight": np.eye(V_TARGET, D), "head.bias": np.zeros(V_TARGET)}
    wing.lib.set_weights(model, weights)
    model.train()
    dropped = wing.numpy(model(source, target))[..., :D] == 0
    assert 0.3 < dropped.mean() < 0.7


@each("attend", [True, False], nnx=[True])
def test_a_cache_changes_nothing(wing, rng, attend):
    source, target = ids(rng, S, V_SOURCE), ids(rng, T, V_TARGET)
    model = translator(wing, attend=attend)
    whole = wing.numpy(model(wing.array(source), wing.array(target)))
    memory = model.encode(wing.array(source))
    cache = model.begin(memory)
    for t in range(T):
        logits = model.read(wing.array(target[:, t : t + 1]), cache)
        assert_close(wing.numpy(logits)[:, 0], whole[:, t])


BAD = {
    "an odd width": (
        lambda w: w.make(w.lib.RecurrentSeq2Seq, 3, 5, 7),
        "d_model must be even, because each reading direction",
    ),
    "all is dropped": (
        lambda w: translator(w, dropout=1.0),
        "dropout must be at least 0 and less than 1",
    ),
    "a source in floats": (
        lambda w: translator(w).encode(w.array(np.ones((B, S)))),
        "source must hold whole numbers",
    ),
    "a source beyond the source's table": (
        lambda w: translator(w)(
            w.array(np.full((B, S), V_SOURCE)), w.array(np.zeros((B, T), int))
        ),
        f"source must .*vocab_size={V_SOURCE}.* got .*{V_SOURCE}",
    ),
    "a target beyond the target's table": (
        lambda w: translator(w)(
            w.array(np.zeros((B, S), int)), w.array(np.full((B, T), V_TARGET))
        ),
        f"target must .*vocab_size={V_TARGET}.* got .*{V_TARGET}",
    ),
    "one target, not a batch": (
        lambda w: translator(w)(
            w.array(np.ones((B, S), int)), w.array(np.ones(T, int))
        ),
        r"target must be a batch of token ids .* got \(3,\)",
    ),
    "maps without attention": (
        lambda w: translator(w, attend=False).maps(
            w.array(np.ones((1, S), int)), w.array(np.ones((1, T), int))
        ),
        "attend=True",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused(wing, no_hook, case):
    call, message = BAD[case]
    with checking_values(), pytest.raises(ValueError, match=message):
        call(wing)
