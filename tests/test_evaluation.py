"""Evaluation mode: a visit, after which each part has the mode it had before."""

import numpy as np
import pytest

from course_lib.config import GPTConfig, Seq2SeqConfig

SIZES = {"vocab_size": 11, "d_model": 6, "n_layers": 2, "n_heads": 3, "dropout": 0.5}
BEGIN = {"start_token": 1, "stop_token": 2, "max_new_tokens": 3}


def gpt(wing):
    return wing.make(wing.lib.GPT, GPTConfig(max_len=7, **SIZES))


def seq2seq(wing):
    return wing.make(wing.lib.Seq2Seq, Seq2SeqConfig(max_len=7, **SIZES))


def source(wing):
    return wing.array(np.array([[3, 4, 5, 6, 7]]))


def loss(model, ids):
    return model(ids).sum()


# The model, and what uses it.
CALLERS = {
    "generate": (gpt, lambda w, m: w.lib.generate(m, [[1, 2]], max_new_tokens=3)),
    "beam_search": (
        gpt,
        lambda w, m: w.lib.beam_search(m, [1, 2], n_beams=2, max_new_tokens=3),
    ),
    "speculate": (
        gpt,
        lambda w, m: w.lib.speculate(m, m, [[1, 2]], max_new_tokens=3),
    ),
    "translate": (seq2seq, lambda w, m: w.lib.translate(m, source(w), **BEGIN)),
    "mean_loss": (gpt, lambda w, m: w.lib.mean_loss(m, [np.array([[1, 2]])], loss)),
}


def modes(wing, model):
    """Whether each part is in training, by the attribute that its framework reads."""
    if wing.name == "torch":
        return [part.training for part in model.modules()]
    from flax import nnx

    return [
        not getattr(part, name)
        for _, part in nnx.iter_graph(model)
        if isinstance(part, nnx.Module)
        for name in ("deterministic", "use_running_average")
        if hasattr(part, name)
    ]


def half_frozen(wing, model):
    """In training, apart from one block that its user has put in evaluation mode."""
    model.train()
    (model.blocks if hasattr(model, "blocks") else model.encoder)[0].eval()
    own = modes(wing, model)
    assert len(set(own)) == 2
    return own


def broken(*_, **__):
    raise RuntimeError("in the middle")


@pytest.mark.parametrize("caller", CALLERS)
def test_each_part_keeps_its_own_mode(wing, caller, monkeypatch):
    make, use = CALLERS[caller]
    model = make(wing)
    own = half_frozen(wing, model)
    forward = {"torch": "forward", "nnx": "__call__"}[wing.name]
    with monkeypatch.context() as patch:
        patch.setattr(type(model), "encode" if make is seq2seq else forward, broken)
        with pytest.raises(RuntimeError, match="in the middle"):
            use(wing, model)
    assert modes(wing, model) == own, "after an exception"
    use(wing, model)
    assert modes(wing, model) == own, "after success"


def test_inside_every_part_is_in_evaluation_mode(wing):
    model = gpt(wing)
    own = half_frozen(wing, model)
    with wing.lib.evaluating(model) as same:
        assert same is model
        assert not any(modes(wing, model))
        with wing.lib.evaluating(model):
            pass
        assert not any(modes(wing, model)), "an inner visit must not end the outer"
    assert modes(wing, model) == own


def test_batch_norm_and_dropout_alone_have_modes_too(wing):
    if wing.name == "torch":
        from torch import nn

        parts = [nn.BatchNorm1d(3), nn.Dropout(0.5)]
    else:
        from flax import nnx

        parts = [nnx.BatchNorm(3, rngs=nnx.Rngs(0)), nnx.Dropout(0.5)]
    for part in parts:
        part.train()
        with wing.lib.evaluating(part):
            assert modes(wing, part) == [False]
        assert modes(wing, part) == [True]


def test_past_moves_where_the_future_is_seen_and_nowhere_else(wing, rng):
    inputs, other = (wing.array(rng.standard_normal((3, 5))) for _ in range(2))
    assert wing.lib.past_moves(lambda x: x.cumsum(1), inputs, other) == 0
    first = (
        wing.numpy(inputs)[:, 1:] - wing.numpy(other)[:, 1:]
    )  # at each place in turn
    # Only the next value is seen: what moves is the place before the exchange.
    found = wing.lib.past_moves(lambda x: x[:, [1, 2, 3, 4, 0]], inputs, other)
    np.testing.assert_allclose(found, np.abs(first).max())


def test_past_moves_needs_inputs_of_one_shape(wing, no_hook):
    with pytest.raises(ValueError, match=r"other must have shape \(3, 5\), that of"):
        wing.lib.past_moves(
            lambda x: x, wing.array(np.ones((3, 5))), wing.array(np.ones((3, 4)))
        )
