"""What came before: held against loops, the frameworks' own, and its own promises."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from wings import assert_close

from course_lib import oracle

B, T, S, D_IN, D = 2, 3, 5, 7, 11
V_SOURCE, V_TARGET, D_MODEL = 13, 17, 6
PIECES = {"RNN": oracle.rnn, "LSTM": oracle.lstm}


def layer(wing, name, dtype="float64"):
    return wing.cast(wing.make(getattr(wing.lib, name), D_IN, D), dtype)


def translator(wing, **options):
    model = wing.make(wing.lib.RecurrentSeq2Seq, V_SOURCE, V_TARGET, D_MODEL, **options)
    return wing.cast(model, "float64")


def ids(rng, length, vocab_size, batch=B):
    return rng.integers(0, vocab_size, (batch, length))


@pytest.mark.parametrize("name", PIECES)
@settings(max_examples=8)  # each new length is compiled anew in JAX
@given(
    seed=st.integers(0, 2**32 - 1),
    length=st.integers(1, 7),
    dtype=st.sampled_from(["float32", "float64"]),
)
def test_equals_the_oracle(wing, name, seed, length, dtype):
    x = np.random.default_rng(seed).standard_normal((B, length, D_IN)).astype(dtype)
    model = layer(wing, name, dtype)
    outputs, state = model(wing.array(x))
    weights = wing.lib.get_weights(model)
    assert_close(wing.numpy(outputs), [PIECES[name](one, weights) for one in x], dtype)
    assert_close(wing.numpy(state[0]), wing.numpy(outputs)[:, -1], dtype)


@pytest.mark.parametrize("name", PIECES)
def test_equals_the_frameworks_own(rng, name):
    torch = pytest.importorskip("torch")
    lib = pytest.importorskip("course_lib.torch")
    ours = getattr(lib, name)(D_IN, D).eval()
    theirs = getattr(torch.nn, name)(D_IN, D, batch_first=True)
    weights = lib.get_weights(ours)
    lib.set_weights(
        theirs,
        {
            "weight_ih_l0": weights["x_proj.weight"],
            "weight_hh_l0": weights["h_proj.weight"],
            "bias_ih_l0": weights["x_proj.bias"],
            "bias_hh_l0": 0 * weights["x_proj.bias"],
        },
    )
    x = torch.from_numpy(rng.standard_normal((B, T, D_IN)).astype("float32"))
    expected, _ = theirs(x)
    assert_close(ours(x)[0].detach(), expected.detach(), "float32")


@pytest.mark.parametrize("name", PIECES)
def test_reading_on_from_a_state_is_reading_at_once(wing, rng, name):
    x = rng.standard_normal((B, 5, D_IN))
    model = layer(wing, name)
    whole, _ = model(wing.array(x))
    _, state = model(wing.array(x[:, :2]))
    rest, _ = model(wing.array(x[:, 2:]), state)
    assert_close(wing.numpy(rest), wing.numpy(whole)[:, 2:])


@pytest.mark.parametrize("name", PIECES)
def test_reading_backward_is_reading_the_mirror_image(wing, rng, name):
    x = rng.standard_normal((B, T, D_IN))
    model = layer(wing, name)
    backward, _ = model(wing.array(x), reverse=True)
    mirrored, _ = model(wing.array(x[:, ::-1].copy()))
    assert_close(wing.numpy(backward), wing.numpy(mirrored)[:, ::-1])


@pytest.mark.parametrize("name", PIECES)
@pytest.mark.parametrize("reverse", [False, True])
def test_padding_leaves_the_state_as_it_is(wing, rng, name, reverse):
    x = rng.standard_normal((B, 5, D_IN))
    model = layer(wing, name)
    mask = np.tile(np.arange(5) < 3, (B, 1))
    padded, state = model(wing.array(x), mask=wing.array(mask), reverse=reverse)
    short, expected = model(wing.array(x[:, :3]), reverse=reverse)
    assert_close(wing.numpy(padded)[:, :3], wing.numpy(short))
    for got, wanted in zip(state, expected, strict=True):
        assert_close(wing.numpy(got), wing.numpy(wanted))


def test_the_start_is_orthogonal_and_forgets_little(wing):
    weights = wing.lib.get_weights(wing.make(wing.lib.LSTM, D_IN, D))
    for gate in np.split(weights["h_proj.weight"], 4):
        np.testing.assert_allclose(gate @ gate.T, np.eye(D), atol=1e-5)
    i, f, g, o = np.split(weights["x_proj.bias"], 4)
    assert (f == 1).all()
    assert not np.concatenate([i, g, o]).any()


@pytest.mark.parametrize("kernel_size", [1, 2, 3])
def test_convolution_equals_the_oracle(wing, rng, kernel_size):
    x = rng.standard_normal((B, 13, D_IN))
    model = wing.make(wing.lib.DilatedCNN, D_IN, 3, kernel_size=kernel_size)
    wing.cast(model, "float64")
    weights = wing.lib.get_weights(model)
    expected = [oracle.dilated_cnn(one, weights, 3) for one in x]
    assert_close(wing.numpy(model(wing.array(x))), expected)


def test_convolution_sees_its_receptive_field_and_no_further(wing, rng):
    model = wing.make(wing.lib.DilatedCNN, D_IN, 3)
    wing.cast(model, "float64")
    assert model.receptive_field == 8
    (grad,) = wing.grad(
        lambda x: (model(x)[:, 10] ** 2).sum(), rng.standard_normal((1, 13, D_IN))
    )
    seen = np.abs(grad[0]).max(axis=-1) > 0
    np.testing.assert_array_equal(seen, (np.arange(13) > 2) & (np.arange(13) <= 10))


@pytest.mark.parametrize("attend", [True, False])
def test_translators_agree_forward_and_in_every_gradient(both, rng, attend):
    source, target = ids(rng, S, V_SOURCE), ids(rng, T, V_TARGET)
    models = [translator(w, attend=attend) for w in both]
    both[1].lib.set_weights(models[1], both[0].lib.get_weights(models[0]))
    outputs = [
        w.numpy(m(w.array(source), w.array(target)))
        for w, m in zip(both, models, strict=True)
    ]
    assert outputs[0].shape == (B, T, V_TARGET)
    assert_close(outputs[1], outputs[0])
    grads = [
        w.parameter_grads(
            m, lambda m, w=w: (m(w.array(source), w.array(target)) ** 2).sum()
        )
        for w, m in zip(both, models, strict=True)
    ]
    assert grads[0].keys() == grads[1].keys()
    for name, grad in grads[0].items():
        assert_close(grads[1][name], grad)
        assert np.abs(grad).max() > 0, f"{name} does nothing"


@pytest.mark.parametrize("attend", [True, False])
def test_a_translators_past_cannot_see_the_future(wing, rng, attend):
    source, target = ids(rng, S, V_SOURCE), ids(rng, T, V_TARGET)
    model = translator(wing, attend=attend)
    before = wing.numpy(model(wing.array(source), wing.array(target)))
    target[:, 2:] = (target[:, 2:] + 1) % V_TARGET
    after = wing.numpy(model(wing.array(source), wing.array(target)))
    np.testing.assert_array_equal(after[:, :2], before[:, :2])
    assert np.abs(after[:, 2:] - before[:, 2:]).max() > 1e-6


@pytest.mark.parametrize("attend", [True, False])
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


def test_dropout_is_off_in_evaluation_and_on_in_training(wing, rng):
    source, target = (wing.array(ids(rng, n, V_SOURCE)) for n in (S, T))
    model = translator(wing, dropout=0.5)
    once, again = (wing.numpy(model(source, target)) for _ in range(2))
    np.testing.assert_array_equal(once, again)
    model.train()
    assert np.abs(wing.numpy(model(source, target)) - once).max() > 1e-3


BAD = {
    "a width that is not the layer's": (
        lambda w: layer(w, "RNN")(w.array(np.ones((B, T, D)))),
        r"\(\.\.\., steps, 7\)",
    ),
    "no steps": (
        lambda w: layer(w, "LSTM")(w.array(np.ones((B, 0, D_IN)))),
        "at least one step",
    ),
    "a mask of another length": (
        lambda w: layer(w, "LSTM")(
            w.array(np.ones((B, T, D_IN))), mask=w.array(np.ones((B, S), bool))
        ),
        "for each step",
    ),
    "no width": (lambda w: w.make(w.lib.RNN, 0, D), "d_in must be a whole number"),
    "half a layer": (
        lambda w: w.make(w.lib.DilatedCNN, D, 1.5),
        "n_layers must be a whole number",
    ),
    "an odd width": (
        lambda w: w.make(w.lib.RecurrentSeq2Seq, 3, 5, 7),
        "d_model must be even, because each reading direction",
    ),
    "maps of what does not attend": (
        lambda w: translator(w, attend=False).maps(
            w.array(np.ones((1, S), "int64")), w.array(np.ones((1, T), "int64"))
        ),
        "attend=True",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused(wing, request, case):
    if request.config.getoption("jaxtyping_packages"):
        pytest.skip("the shape hook speaks first")
    call, message = BAD[case]
    with pytest.raises(ValueError, match=message):
        call(wing)
